package summarise

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const harbour = `The harbour of Visby was founded by Gotlandic traders in the tenth century. It grew into the largest port of the Baltic trade.

Merchants from Lübeck settled there around 1160, and the harbour was walled. In 1361 King Valdemar of Denmark took the town.
The trade moved to Danzig, and the harbour of Visby lost its importance. Today ferries to Nynäshamn and Oskarshamn leave from a new harbour south of it.

- one item
- another item

| a | table |
| --- | --- |

` + "```\ncode that is no sentence.\n```\n"

func summariseText(title, text string) (string, string) {
	s := New(title)
	s.Add(title, text)
	return s.Result()
}

func TestSummaryKeepsOrder(t *testing.T) {
	description, summary := summariseText("Visby", harbour)
	if want := "The harbour of Visby was founded by Gotlandic traders in the tenth century."; description != want {
		t.Errorf("description = %q, want %q", description, want)
	}
	flat := oneLine(harbour)
	at, n := -1, 0
	sentences(summary, func(sentence string) {
		i := strings.Index(flat, sentence)
		if i <= at {
			t.Errorf("%q is at offset %d of the document, the sentence before at %d", sentence, i, at)
		}
		at = i
		n++
	})
	if n < 2 || n > 4 || strings.Contains(summary, "item") || strings.Contains(summary, "code") || strings.Contains(summary, "|") {
		t.Errorf("summary has %d sentences: %q", n, summary)
	}
}

func TestMarkupIsRemoved(t *testing.T) {
	description, _ := summariseText("", "The [`Arc<T>`](https://doc.example/arc_t.html) type is *always* **safe** to share[^1] &mdash; see <b>below</b> ![picture](x.png) and snake_case.\n")
	if want := "The Arc<T> type is always safe to share — see below and snake_case."; description != want {
		t.Errorf("description = %q, want %q", description, want)
	}
}

func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"Dr. Smith met J. R. Tolkien, e.g. in Oxford. They talked.": {"Dr. Smith met J. R. Tolkien, e.g. in Oxford.", "They talked."},
		"Version 1.2.3 is out! Is it good? \"Yes.\" It is.":         {"Version 1.2.3 is out!", "Is it good?", "\"Yes.\"", "It is."},
		"これは文です。次の文です！終わり":                                          {"これは文です。", "次の文です！", "終わり"},
		"Das gilt z.B. für Bremen. Es gilt auch sonst.":             {"Das gilt z.B. für Bremen.", "Es gilt auch sonst."},
		"no end": {"no end"},
		"It rose by 3.5 percent. and then fell... But not for long.": {"It rose by 3.5 percent. and then fell...", "But not for long."},
	} {
		var got []string
		sentences(text, func(s string) { got = append(got, s) })
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("sentences(%q)\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestDescriptionWithoutSentences(t *testing.T) {
	for _, c := range []struct{ title, text, want string }{
		{"", "", ""},
		{"", "| a | b |\n| --- | --- |\n", "a , b"},
		{"Parts list", "- bolt\n- nut\n", "bolt"},
		{"dir", "> List files.\n> More information: <https://example.org>.\n\n- Show all:\n\n`dir /a`\n", "List files."},
		{"", strings.Repeat("word ", 100), "word word"},
	} {
		got, _ := summariseText(c.title, c.text)
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || len(got) > maxDescription {
			t.Errorf("description of %q = %q, want %q", c.text, got, c.want)
		}
	}
	s := New("Report")
	s.Add("Income", "")
	s.Add("Costs", "")
	if got, _ := s.Result(); got != "Income; Costs" {
		t.Errorf("description of empty sections = %q, want their titles", got)
	}
}

func TestLongDocumentsAreSampled(t *testing.T) {
	s := New("long")
	for i := range 5_000 {
		s.Add(fmt.Sprint("Section ", i), strings.Repeat("A sentence that fills the section up is this one. ", 100))
	}
	if len(s.sentences) > maxSentences || len(s.titles) > maxTitles || s.sample == sampleBytes {
		t.Errorf("%d sentences and %d titles; %d bytes of the head and %d of the sample are left", len(s.sentences), len(s.titles), s.head, s.sample)
	}
	if _, summary := s.Result(); summary != "A sentence that fills the section up is this one." {
		t.Errorf("summary repeats itself: %q", summary)
	}
}

func FuzzSummariser(f *testing.F) {
	f.Add("Visby", harbour, "")
	f.Add("", "a\\", "[x](")
	f.Add("日本", "これは文です。次", "<!--![")
	f.Fuzz(func(t *testing.T, title, a, b string) {
		if !utf8.ValidString(title) || !utf8.ValidString(a) || !utf8.ValidString(b) {
			return
		}
		s := New(title)
		s.Add(title, a)
		s.Add(b, b)
		s.Add(b, a)
		description, summary := s.Result()
		if len(description) > maxDescription || len(summary) > maxSummary || strings.ContainsAny(description+summary, "\n\r") {
			t.Errorf("%d and %d bytes: %q, %q", len(description), len(summary), description, summary)
		}
		if !utf8.ValidString(description) || !utf8.ValidString(summary) {
			t.Errorf("invalid UTF-8: %q, %q", description, summary)
		}
	})
}

func BenchmarkSmallFile(b *testing.B) {
	text := "> List files.\n> More information: <https://example.org>.\n\n- Show all:\n\n`dir /a`\n\n- Sort by size:\n\n`dir /os`\n"
	b.ReportAllocs()
	for b.Loop() {
		summariseText("dir", text)
	}
}

func BenchmarkPage(b *testing.B) {
	text := strings.Repeat(harbour, 4)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		summariseText("Visby", text)
	}
}

func BenchmarkBook(b *testing.B) {
	var text strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&text, "Sentence %d says something about ships, harbours, number %x and the sea. ", i, i*7919)
	}
	b.ReportAllocs()
	for b.Loop() {
		summariseText("book", text.String())
	}
}

func TestFieldsAreUsedLast(t *testing.T) {
	for text, want := range map[string]string{
		"- author: Ann Smith\n- keywords: ships, trade\n\nThe harbour was founded by traders.": "The harbour was founded by traders.",
		"- author: Ann Smith\n": "author: Ann Smith",
	} {
		s := New("Visby")
		s.Add("", text)
		if description, summary := s.Result(); description != want || summary != want {
			t.Errorf("%q: description %q, summary %q, want %q", text, description, summary, want)
		}
	}
}

func TestHostileTextIsSummarisedInTime(t *testing.T) {
	for name, piece := range map[string]string{
		"one sentence": strings.Repeat("word ", 13_000), "tiny sentences": strings.Repeat("A. ", 20_000), "brackets": strings.Repeat("[", 64<<10),
		"backticks": strings.Repeat("` ", 32<<10), "links": strings.Repeat("](", 32<<10), "tags": strings.Repeat("<a ", 20_000), "words": distinctWords(10_000),
		"ideographs": strings.Repeat("漢字", 10_000), "lines": strings.Repeat("a\n\n", 20_000), "entities": strings.Repeat("&amp", 16_000), "quotes": strings.Repeat(">", 64<<10),
		"dots": strings.Repeat(".", 64<<10), "closing": strings.Repeat(".\"", 32<<10), "stops": strings.Repeat("e.g. ", 13_000),
	} {
		begun := time.Now()
		s := New("hostile")
		for n := range 200 {
			s.Add(strconv.Itoa(n/4), piece)
		}
		description, summary := s.Result()
		if took := time.Since(begun); took > 30*time.Second || len(description) > maxDescription || len(summary) > maxSummary {
			t.Errorf("%s: %d bytes of description and %d of summary after %v", name, len(description), len(summary), took)
		} else {
			t.Log(name, took)
		}
	}
}

func distinctWords(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("w" + strconv.Itoa(i) + " ")
	}
	return b.String()
}
