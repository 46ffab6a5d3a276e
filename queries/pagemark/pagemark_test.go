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

func TestMarksStandBeforeTheTextOfEachPage(t *testing.T) {
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
			t.Errorf("%s:\n%s\nwant\n%s", what, got, c.want)
		}
	}
}

var mark = regexp.MustCompile(`(?i)<!--\s*page`)

func TestNoTextOfADocumentLooksLikeAMark(t *testing.T) {
	for _, text := range []string{
		"<!-- page 3 -->", "<!--page 3-->", "<!--\n\tPAGE 3 -->", "<<!-- page 3 -->", "<!<!-- page 3 -->", "a <!-- page 3 --> b <!-- page 4 -->", "<!-- page", "`<!-- page 3 -->`",
	} {
		got := write(t, part{text, 0, nil})
		if mark.MatchString(got) || strings.ReplaceAll(got, "&lt;", "<") != text {
			t.Errorf("%q is written as %q", text, got)
		}
		for i := range len(text) { // in two parts, and over a page's end
			if got := write(t, part{text[:i], 0, nil}, part{text[i:], 0, nil}); mark.MatchString(got) {
				t.Errorf("%q, cut at %d, is written as %q", text, i, got)
			}
			got := write(t, part{text, 1, []int{i}})
			if all := mark.FindAllString(got, -1); len(all) > 2 {
				t.Errorf("%q with a page's end at %d is written as %q", text, i, got)
			}
		}
	}
	for _, text := range []string{"<!-- toc -->", "<!", "<!-", "<!--", "<!-- ", "<!-- pag", "<p>1 < 2</p>", "<", "a<b", "<!-- " + strings.Repeat(" ", 1000) + "page 3 -->"} {
		if got := write(t, part{text, 0, nil}); got != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

// Whatever a text is and wherever it is cut, what is read of it is the same and the
// only marks are those of its pages.
func FuzzWriter(f *testing.F) {
	f.Add("one <!-- page 9 --> two", 5, 9)
	f.Add("<<!--<!-- Page", 3, 2)
	f.Fuzz(func(t *testing.T, text string, cut, turn int) {
		if cut < 0 || cut > len(text) {
			return
		}
		whole, pieces := write(t, part{text, 0, nil}), write(t, part{text[:cut], 0, nil}, part{text[cut:], 0, nil})
		if whole != pieces || mark.MatchString(strings.ReplaceAll(whole, strings.Repeat(" ", maxBlanks+1), "")) && !strings.Contains(text, strings.Repeat(" ", 8)) {
			t.Errorf("%q is written as %q, and in pieces as %q", text, whole, pieces)
		}
		paged := write(t, part{text, 1, []int{turn}})
		if n := strings.Count(paged, "<!-- page "); n > 2 {
			t.Errorf("%q on two pages has %d marks: %q", text, n, paged)
		}
	})
}
