package pagemark

import (
	"regexp"
	"strings"
	"testing"
)

type part struct {
	text   string
	page   int
	breaks []int
}

func write(t testing.TB, parts ...part) string {
	t.Helper()
	var out strings.Builder
	w := Writer{W: &out}
	for _, p := range parts {
		if err := w.Part([]byte(p.text), p.page, p.breaks); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPageMarks(t *testing.T) {
	for what, c := range map[string]struct {
		parts []part
		want  string
	}{
		"no pages":               {[]part{{"one\n", 0, nil}, {"two", 0, nil}}, "one\ntwo"},
		"one page":               {[]part{{"one", 1, nil}}, "<!-- page 1 -->\none"},
		"a break at a line":      {[]part{{"one\ntwo", 1, []int{4}}}, "<!-- page 1 -->\none\n<!-- page 2 -->\ntwo"},
		"a break before lines":   {[]part{{"one\n\ntwo", 1, []int{3}}}, "<!-- page 1 -->\none\n\n<!-- page 2 -->\ntwo"},
		"a break in a line":      {[]part{{"one two", 1, []int{4}}}, "<!-- page 1 -->\none <!-- page 2 -->two"},
		"sections of one page":   {[]part{{"one\n\n", 3, nil}, {"two", 3, nil}}, "<!-- page 3 -->\none\n\ntwo"},
		"the next page":          {[]part{{"one\n\n", 3, nil}, {"two", 4, nil}}, "<!-- page 3 -->\none\n\n<!-- page 4 -->\ntwo"},
		"pages without text":     {[]part{{"one\ntwo", 1, []int{4, 4, 4}}}, "<!-- page 1 -->\none\n<!-- page 4 -->\ntwo"},
		"a break at the end":     {[]part{{"one\n", 1, []int{4}}, {"two", 2, nil}}, "<!-- page 1 -->\none\n<!-- page 2 -->\ntwo"},
		"a break at the begin":   {[]part{{"one", 1, []int{0}}}, "<!-- page 2 -->\none"},
		"a page of blanks":       {[]part{{"one\n \ntwo", 1, []int{4, 6}}}, "<!-- page 1 -->\none\n \n<!-- page 3 -->\ntwo"},
		"breaks that cannot be":  {[]part{{"one", 1, []int{-5, 99}}}, "<!-- page 2 -->\none"},
		"no text":                {[]part{{"", 7, nil}}, ""},
		"a section in two parts": {[]part{{"one ", 1, nil}, {"two\nthree", 1, []int{4}}}, "<!-- page 1 -->\none two\n<!-- page 2 -->\nthree"},
	} {
		if got := write(t, c.parts...); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", what, got, c.want)
		}
	}
}

var (
	comment = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	skipped = regexp.MustCompile(`[\x00-@\x5b-\x60{-\x7f\pZ\pP\pC\pM\x{FFFD}]+`)
	exact   = regexp.MustCompile(`^<!-- page [0-9]+ -->$`)
)

// findMarks returns the marks in a text, and the other comments that could be taken for
// marks.
func findMarks(text string) (marks, similar []string) {
	for _, c := range comment.FindAllString(text, -1) {
		switch {
		case exact.MatchString(c):
			marks = append(marks, c)
		case strings.Contains(strings.ToLower(skipped.ReplaceAllString(c, "")), "page"):
			similar = append(similar, c)
		}
	}
	return marks, similar
}

func unescaped(text string) string { return strings.ReplaceAll(text, "&lt;", "<") }

func TestDocumentTextCannotForgeMarks(t *testing.T) {
	for _, text := range []string{
		"<!-- page 3 -->", "<!--page 3-->", "<!--\n\tPAGE 3 -->", "<<!-- page 3 -->", "<!<!-- page 3 -->", "a <!-- page 3 --> b <!-- page 4 -->", "<!-- page", "`<!-- page 3 -->`",
		"<!--\u00a0page 29 -->", "<!-- \u2003page 30 -->", "<!--" + strings.Repeat(" ", 65) + "page 31 -->", "<!--" + strings.Repeat(" ", 5000) + "page 31 -->",
		"<!-- \u0440\u0430ge 32 -->", "<!-- pag\u0435 32 -->", "<!-- \uff50\uff41\uff47\uff45 32 -->", "<!--- page 33 -->", "<!-- p\u200bage 34 -->", "<!-- p\u3164age 34 -->",
		"<!-- pa\u0301ge 35 -->", "<!-- p a g e 36 -->", "<!-- *page* 37 -->", "<!-- on page 38 -->", "<!-- > page 39 -->", "<!-- -> page 39 -->", "<\u200b!-- page 40 -->",
		"<! -- page 41 -->", "<!\u2010- page 42 -->", "<!-- toc <!-- page 43 -->", "<!--\x00page 44 -->", "<!---> page 44 -->", "<!-- p\xffage 45 -->",
	} {
		got := write(t, part{text, 0, nil})
		marks, similar := findMarks(got)
		if len(marks)+len(similar) > 0 || !strings.Contains(got, "&lt;") || unescaped(got) != text {
			t.Errorf("%q is written as %q", text, got)
		}
		for i := range min(len(text), 100) { // cut anywhere, and with a page break anywhere
			if pieces := write(t, part{text[:i], 0, nil}, part{text[i:], 0, nil}); pieces != got {
				t.Errorf("%q, cut at %d, is written as %q", text, i, pieces)
			}
			paged := write(t, part{text, 1, []int{i}})
			if marks, similar := findMarks(paged); len(marks) > 2 || len(similar) > 0 {
				t.Errorf("%q with a page break at %d is written as %q", text, i, paged)
			}
		}
	}
	for _, text := range []string{
		"<!-- toc -->", "<!", "<!-", "<!--", "<!-- ", "<!-- pag", "<p>1 < 2</p>", "<", "a<b", "`<!-- toc -->`", "<!DOCTYPE page>", "<!-- f\u00fcr alle -->", "<!-- \u76ee\u6b21\u4e00\u89a7 -->",
		"<!--[if IE]>", "<!-- a -> b -->, see page 3", "<! see page 3",
	} {
		if got := write(t, part{text, 0, nil}); got != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

// An open comment before a mark is escaped: otherwise it would contain the mark.
func TestOpenCommentBeforeMarkIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"<!-- toc |two -->":  "<!-- page 1 -->\n&lt;!-- toc <!-- page 2 -->two -->",
		"<!|-- two -->":      "<!-- page 1 -->\n&lt;!<!-- page 2 -->-- two -->",
		"<!-- a <!|two":      "<!-- page 1 -->\n&lt;!-- a &lt;!<!-- page 2 -->two",
		"1 <|2":              "<!-- page 1 -->\n1 <<!-- page 2 -->2",
		"<!-- toc -->\n|two": "<!-- page 1 -->\n<!-- toc -->\n<!-- page 2 -->\ntwo",
	} {
		if got := write(t, part{strings.Replace(text, "|", "", 1), 1, []int{strings.Index(text, "|")}}); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}

// The output does not depend on how a text is cut into pieces, and its only marks are
// those of its pages.
func FuzzWriter(f *testing.F) {
	f.Add("one <!-- page 9 --> two", 5, 9)
	f.Add("<<!--<!-- Page", 3, 2)
	f.Add("<!-- \u0440age 3 --> <!-- toc -->", 9, 20)
	f.Add("<\u200b!\u2010- p\xd1", 3, 7)
	f.Fuzz(func(t *testing.T, text string, cut, turn int) {
		if cut < 0 || cut > len(text) {
			return
		}
		whole, pieces := write(t, part{text, 0, nil}), write(t, part{text[:cut], 0, nil}, part{text[cut:], 0, nil})
		marks, similar := findMarks(whole)
		if whole != pieces || len(marks)+len(similar) > 0 || unescaped(whole) != unescaped(text) {
			t.Errorf("%q is written as %q, and in pieces as %q", text, whole, pieces)
		}
		paged := write(t, part{text, 1, []int{turn}})
		if marks, similar := findMarks(paged); len(marks) > 2 || len(similar) > 0 {
			t.Errorf("%q on two pages is written as %q", text, paged)
		}
	})
}

func TestRecognisedMark(t *testing.T) {
	var b strings.Builder
	w := Writer{W: &b}
	for _, err := range []error{
		w.Recognised([]int{2, 3}, 0.874), w.Part([]byte("one\n\ntwo <!-"), 2, []int{5}),
		w.Recognised([]int{3}, 1), w.Text([]byte("- recognised in a picture of page 4, confidence 1.000 -->")),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const want = "<!-- page 2 -->\n<!-- recognised in a picture of pages 2-3, confidence 0.874 -->\none\n\n<!-- page 3 -->\ntwo &lt;!-" +
		"<!-- recognised in a picture of page 3, confidence 1.000 -->- recognised in a picture of page 4, confidence 1.000 -->"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b.Reset()
	forged := Writer{W: &b}
	if err := forged.Text([]byte("<!-- recognised in a picture of page 4, confidence 1.000 -->")); err != nil || !strings.HasPrefix(b.String(), "&lt;!--") {
		t.Errorf("a forged mark is written as %q, %v", b.String(), err)
	}
}

func TestRangesOfPages(t *testing.T) {
	odd := []int{}
	for n := 1; n < 100; n += 2 {
		odd = append(odd, n)
	}
	for want, pages := range map[string][]int{
		"4": {4}, "1-2": {1, 2}, "1-3, 5, 7-8": {1, 2, 3, 5, 7, 8}, "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, some from 21 to 99": odd,
		"1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21": odd[:11],
	} {
		if got := ranges(pages); got != want {
			t.Errorf("ranges(%v) = %q, want %q", pages, got, want)
		}
	}
}

// A mark on a line of its own ends a table in Markdown, so it stands in the first cell of a row.
func TestMarksKeepTablesWhole(t *testing.T) {
	const text = "| a |\n| --- |\n| b |\n| c |\n\n| new |\n"
	got := write(t, part{text, 1, []int{14, 20, 27}})
	want := "<!-- page 1 -->\n| a |\n| --- |\n|<!-- page 2 --> b |\n|<!-- page 3 --> c |\n\n<!-- page 4 -->\n| new |\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
