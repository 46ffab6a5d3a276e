package prose_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"annals/events/prose"
)

func sentences(text string) (all []string) {
	for start := 0; start < len(text); {
		end := prose.SentenceEnd(text, start, len(text))
		all = append(all, strings.TrimSpace(text[start:end]))
		start = end
	}
	return all
}

func TestSentenceEnd(t *testing.T) {
	for _, want := range [][]string{
		{"One thing.", "Another\nthing!", "A third?", "And so on…"},
		{"Dr. A. B. Smith met Mr. Jones at 3.5 p.m. in the U.S. capital.", "He left."},
		{`He said "Go."`, "Then he went.[2]", "Nobody[who?] saw.:12–14", "End."},
		{`"Why?" he asked.`, `"No!"`, `(She left.)`, "*So be it.*", "_All of it._"},
		{"Das ist z.B. so, d.h. nicht anders.", "Vgl. Abb. 3."},
		{"港の橋。", "設計者は「田中！」", "次｡"},
		{"The pool is 12 m.", "It fills in 40 sec.", "Sec. 4 and Eq. 2 say so since Dec. 1984.", "It closed in Dec.", "Divers left."},
		{"without an end"},
	} {
		if got := sentences(strings.Join(want, " ")); !slices.Equal(got, want) {
			t.Errorf("sentences:\n got %q\nwant %q", got, want)
		}
	}
}

func FuzzSentenceEnd(f *testing.F) {
	f.Add("A. b! C?[1] “D.” 。")
	f.Fuzz(func(t *testing.T, text string) {
		for start := 0; start < len(text); {
			end := prose.SentenceEnd(text, start, len(text))
			if end <= start || end > len(text) || utf8.ValidString(text) && end < len(text) && !utf8.RuneStart(text[end]) {
				t.Fatalf("SentenceEnd at %d of %d bytes: got %d", start, len(text), end)
			}
			start = end
		}
	})
}

func TestIsComplete(t *testing.T) {
	for text, want := range map[string]bool{"It is.": true, "“Is it?”": true, "*So!*": true, "終わり。」": true, "Such as:": false, "A title": false, "": false} {
		if got := prose.IsComplete(text); got != want {
			t.Errorf("IsComplete(%q): got %v, want %v", text, got, want)
		}
	}
}

// The ranking of search was measured with these stop words.
func TestStopWords(t *testing.T) {
	want := strings.Fields("a about all an and any are as at be been being between but by can could did do does during for from had has have he her his how i if in into me our out over up us we what who why you your")
	got := prose.StopWords()
	for _, word := range want {
		if !slices.Contains(got, word) {
			t.Errorf("StopWords lacks %q", word)
		}
	}
	for _, word := range []string{"d", "t", "lighthouse", ""} {
		if slices.Contains(got, word) {
			t.Errorf("StopWords has %q", word)
		}
	}
	if len(got) != 172 || !slices.IsSorted(got) || len(slices.Compact(got)) != len(got) {
		t.Errorf("StopWords has %d words, want 172, sorted and each once: a change of them changes the ranking, so measure it", len(got))
	}
	for _, word := range want {
		if prose.ClassOf(word) == prose.Content {
			t.Errorf("ClassOf(%q): got Content, want another class for a stop word", word)
		}
	}
	if prose.ClassOf("lighthouse") != prose.Content {
		t.Error("ClassOf(\"lighthouse\"): want Content")
	}
}

func BenchmarkSentenceEnd(b *testing.B) {
	text := strings.Repeat("Dr. Smith of the U.S. asked why. Nobody knew, cf. [2]. ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for start := 0; start < len(text); {
			start = prose.SentenceEnd(text, start, len(text))
		}
	}
}
