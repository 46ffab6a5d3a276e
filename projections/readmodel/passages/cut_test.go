package passages

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// checkSpans fails unless spans are valid passages of text.
func checkSpans(t interface{ Fatalf(string, ...any) }, text string, spans []span) {
	end := 0
	for i, s := range spans {
		if s.start < end || s.end <= s.start || s.end > len(text) {
			t.Fatalf("span %d is %v, want it in order after offset %d and within %d bytes", i, s, end, len(text))
		}
		if gap := strings.TrimSpace(text[end:s.start]); gap != "" {
			t.Fatalf("the text before span %d is left out: %q", i, gap)
		}
		if piece := text[s.start:s.end]; strings.TrimSpace(piece) != piece {
			t.Fatalf("span %d begins or ends with white space: %q", i, piece)
		}
		if s.end < len(text) && utf8.ValidString(text) && !utf8.RuneStart(text[s.end]) {
			t.Fatalf("span %d ends inside a character", i)
		}
		end = s.end
	}
	if gap := strings.TrimSpace(text[end:]); gap != "" {
		t.Fatalf("the end of the text is left out: %q", gap)
	}
}

func TestCutCoversAnyText(t *testing.T) {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`([A-Za-z]{1,12} ){0,80}[.!?]`),
		rapid.StringMatching(`(\| [a-z]{1,5} \| [0-9]{1,4} \|\n){0,30}`),
		rapid.StringMatching(`[一-龥。]{0,200}`),
		rapid.StringMatching(`[a-z]{0,400}`),
		rapid.SampledFrom([]string{"\n\n", "\n", " ", "\r\n\r\n", "\u00a0", "\u2028", "```\n", "- item\n"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
		checkSpans(t, text, cutPassages(text))
	})
}

func FuzzCut(f *testing.F) {
	for _, seed := range []string{"", " ", "One. Two.\n\nThree", "| a | b |\n", strings.Repeat("字", 600), strings.Repeat("x", 9000), "\xff\xfe. "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSpans(t, text, cutPassages(text)) })
}

func TestCutLengths(t *testing.T) {
	sentence := "The keeper of the lighthouse counted nineteen ships before the fog came in. "
	tests := []struct {
		name, text string
		spans      int
		shortest   int // in bytes
		longest    int
	}{
		{"nothing", " \n\t ", 0, 0, 0},
		{"a short section stays whole", strings.Repeat(sentence, 18), 1, 1300, 1400},
		{"a long one is cut evenly", strings.Repeat(sentence, 40), 3, 900, 1200},
		{"a line without end", strings.Repeat("word ", 1000), 5, 500, 1300},
		{"a word without end", strings.Repeat("x", 65536), 14, 2000, 7000},
		{"Chinese", strings.Repeat("春天来了，花开了。", 200), 5, 900, 1300},
		{"a table", strings.Repeat("| one | two | three |\n", 200), 7, 400, 800},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spans := cutPassages(test.text)
			checkSpans(t, test.text, spans)
			if len(spans) != test.spans {
				t.Errorf("cutPassages returns %d spans, want %d", len(spans), test.spans)
			}
			for _, s := range spans {
				if n := s.end - s.start; n < test.shortest || n > test.longest {
					t.Errorf("a span has %d bytes, want %d to %d", n, test.shortest, test.longest)
				}
			}
		})
	}
}

func TestCutAtSeams(t *testing.T) {
	sentence := "The keeper of the lighthouse counted nineteen ships before the fog came in."
	prose := strings.Repeat(sentence+" ", 60)
	for _, s := range cutPassages(prose) {
		if got := prose[s.start:s.end]; !strings.HasPrefix(got, "The") || !strings.HasSuffix(got, "in.") {
			t.Errorf("a passage of prose does not consist of whole sentences: %q", got)
		}
	}
	code := "```go\n" + strings.Repeat("func keep(ships int) error { return nil }\n", 90) + "```\n"
	for _, s := range cutPassages(code) {
		if s.start > 0 && code[s.start-1] != '\n' {
			t.Errorf("a passage of code begins inside a line: %q", code[s.start:s.start+20])
		}
	}
	paragraph := strings.Repeat(sentence+" ", 7) + "\n\n"
	text := strings.Repeat(paragraph, 6)
	for _, s := range cutPassages(text) {
		if s.start > 0 && text[s.start-1] != '\n' {
			t.Errorf("a passage begins inside a paragraph, at %d", s.start)
		}
	}
}

func BenchmarkCut(b *testing.B) {
	text := strings.Repeat("The keeper of the lighthouse counted nineteen ships, and \"no more\", before the fog came in. ", 700)
	text = text[:len(text)/2] + "\n\n" + text[len(text)/2:]
	if strings.IndexFunc(text, unicode.IsSpace) < 0 {
		b.Fatal("no text")
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		cutPassages(text)
	}
}
