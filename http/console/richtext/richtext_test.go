package richtext

import (
	"strings"
	"testing"
)

func TestHTMLIsSafe(t *testing.T) {
	for source, want := range map[string]string{
		"<script>alert(1)</script>":                 "&lt;script&gt;",
		"a <img src=x onerror=alert(1)> b":          "&lt;img",
		"![a *picture*](http://evil.example/p.png)": "<p>a <em>picture</em></p>",
		"[x](javascript:alert(1))":                  "<p>x</p>",
		"[x](data:text/html,hi)":                    "<p>x</p>",
		"[x](/console/logout)":                      "<p>x</p>",
		"[x](//evil.example/)":                      "<p>x</p>",
		"[x](https://user:pw@evil.example/)":        "<p>x</p>",
		"<javascript:alert(1)>":                     "<p>javascript:alert(1)</p>",
		"[x](https://go.dev \"t\")":                 `<p><a href="https://go.dev" rel="noreferrer noopener nofollow" target="_blank">x</a></p>`,
		"# Top":                                     "<h3>Top</h3>",
		"| a | b |\n|---|---|\n| 1 | 2 |":           "<table>",
		"<!-- <b> -->":                              "&lt;!--",
		"<div>\n*x*\n</div>":                        "&lt;div&gt;",
		"[x](https://a.example)[![y](z)](http://b)": "y",
		"&lt;script&gt;":                            "&lt;script&gt;",
	} {
		got := string(HTML(source, nil))
		if !strings.Contains(got, want) || strings.Contains(got, "<script") || strings.Contains(got, "<img") {
			t.Errorf("HTML(%q) = %q, want %q in it", source, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	for _, c := range []struct{ source, mark, want string }{
		{"The mill was **founded in** 1693 by Erik.", "founded in 1693", "<p>The mill was <strong><mark>founded in</mark></strong> <mark>1693</mark> by Erik.</p>\n"},
		{"AT&T pays. At T", "at&t", "<p><mark>AT&amp;T</mark> pays. <mark>At T</mark></p>\n"},
		{"Müller — MÜLLER", "müller", "<p><mark>Müller — MÜLLER</mark></p>\n"},
		{"mark p strong", "p", "<p>mark <mark>p</mark> strong</p>\n"},
		{"nothing", "", "<p>nothing</p>\n"},
		{"a & b", "amp", "<p>a &amp; b</p>\n"},
	} {
		if got := string(HTML(c.source, []string{c.mark})); got != c.want {
			t.Errorf("HTML(%q) marking %q = %q, want %q", c.source, c.mark, got, c.want)
		}
	}
}

func TestMarked(t *testing.T) {
	got := Marked("The *mill* was <b>founded</b> in 1693.", func(words []string) []Mark {
		out := make([]Mark, len(words))
		for i, w := range words {
			switch w {
			case "mill", "was":
				out[i] = Passage
			case "1693":
				out[i] = Answers
			}
		}
		return out
	})
	const want = `<p>The <em><mark id="hit" class="passage-mark">mill</mark></em> <mark class="passage-mark">was</mark> &lt;b&gt;founded&lt;/b&gt; in <mark>1693</mark>.</p>` + "\n"
	if string(got) != want {
		t.Errorf("Marked = %s, want %s", got, want)
	}
}

func FuzzHTML(f *testing.F) {
	f.Add("# a <b> [c](javascript:d) ![e](f) &lt;", "a b")
	f.Fuzz(func(t *testing.T, source, marked string) {
		got := strings.ToLower(string(HTML(source, []string{marked})))
		for _, bad := range []string{"<script", "<img", "<iframe", "<svg", "href=\"javascript", "href=\"data", "href=\"/", " onerror=\""} {
			if strings.Contains(got, bad) {
				t.Errorf("HTML(%q) = %q", source, got)
			}
		}
	})
}

// An answer may be joined of sentences that stand in different places.
func TestSentences(t *testing.T) {
	got := strings.Join(Sentences("The mill was founded in 1693. It makes paper of rags! Yes.\nor: 1742"), "|")
	want := "The mill was founded in 1693. It makes paper of rags! Yes.|The mill was founded in 1693.|It makes paper of rags!|1742"
	if got != want {
		t.Errorf("Sentences = %q, want %q", got, want)
	}
}
