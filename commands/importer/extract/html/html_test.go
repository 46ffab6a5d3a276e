package html_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/html"
	"annals/events/fault"
)

func TestMarkdown(t *testing.T) {
	for source, want := range map[string]string{
		"<p>One <b>bold</b>ly\n  <i>two</i></p><p>three": "One boldly two\n\nthree",
		"a<br>b<hr>c": "a\nb\n\nc",
		"AT&amp;T &copy; 5&nbsp;&lt; 6, Vec&lt;T&gt;":                             "AT&T © 5 < 6, Vec\\<T>",
		"<h2>A <code>b</code></h2>c":                                              "## A b\n\nc",
		"<ul><li>one<li><p>two</p><p>more</p><ol start=3><li>a<li>b</ol></ul>end": "- one\n- two\n\n  more\n  3. a\n  4. b\n\nend",
		"<blockquote><p>a</p><p>b</blockquote>c":                                  "> a\n\n> b\n\nc",
		"<p>use <code>a &lt;b&gt;</code> or <code></code>.</p>":                   "use `a <b>` or .",
		"<pre class=language-go><code>\nfunc f() {\n\treturn\n}\n</code></pre>x":  "```go\nfunc f() {\n\treturn\n}\n```\n\nx",
		"<pre>```\na</pre>":                          "````\n```\na\n````",
		"<img src=x alt='A duck'> swims <img src=y>": "A duck swims",
		"a<script>x()</script><style>y</style><nav><ul><li>menu</ul></nav><svg><text>z</text></svg> b": "a b",
		"<nav><a>menu</a><h1>Title</h1>text":                                                                      "# Title\n\ntext",
		"<div hidden>no</div><div role=navigation><div>no</div>no</div>yes":                                       "yes",
		"<!-- no -->yes<!DOCTYPE x><?php no ?>":                                                                   "yes",
		"<p># no heading</p><p>- no item</p><p>1 &gt; 0</p>":                                                      "\\# no heading\n\n\\- no item\n\n1 > 0",
		"<details><summary>More</summary>hidden text</details>":                                                   "More\n\nhidden text",
		"<label><input type=checkbox checked>done</label>":                                                        "[x] done",
		"<dl><dt>term<dd>meaning</dl>":                                                                            "term\n\nmeaning",
		"<ruby>漢<rp>(</rp><rt>かん</rt></ruby>字":                                                                    "漢(かん)字",
		"<ruby>漢<rt>かん</rt>字<rp>(</rp><rt>じ</rt></ruby>を<ruby>x<rt></rt></ruby>":                                  "漢字(かんじ)をx",
		"<noscript><p>Turn it on &amp; off</p><img alt=A></noscript> <img alt=B><noscript><img alt=B></noscript>": "Turn it on & off\n\nA B",
		"a<noscript>b</noscript><i>c</i>":                                                                         "a b c",
		"<ol><li>a<li value=9>b<li>c</ol>":                                                                        "1. a\n9. b\n10. c",
		"<div style='color: red; DISPLAY : none'><div>no</div></div><p style=display:none>no<p>yes<img style=display:none alt=no><i style=display:inline>!</i>": "yes!",
		"<body style='display: none'>yes": "yes",
		"<figure><img alt='A  duck &lt;a>'><figcaption aria-hidden=true>A duck\n&lt;a></figcaption></figure><figure><img alt=A><figcaption><p>B</p><p>A</p></figcaption></figure>A": "A duck \\<a>\n\nA\n\nB\n\nA\n\nA",
		"<table><caption>T</caption><tr><th>a<th>b|c<tr><td>1<td><p>2</p><p>3</p></table>x":                                                                                         "T\n\n| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n\nx",
		"<table><tr><td rowspan=2>a<td>b<td>c<tr><td colspan=2>d<tr><td>e</table>":                                                                                                  "| a | b | c |\n| --- | --- | --- |\n| a | d |\n| e |",
		"<table><tr><td><table><tr><td>a<td>b</table></td><td>side</td></tr></table>":                                                                                               "| a | b |\n| --- | --- |\n\nside",
		"<table><tr><td>intro<h1>T</h1>text<td>x</table>":                                                                                                                           "intro\n\n# T\n\ntext\n\nx",
		"<table><tr><td>only<tr><td>one</table>":                                                                                                                                    "only\n\none",
		"<table><tr><td><pre>1\n2</pre></td><td><pre>a\nb</pre></td></tr></table>":                                                                                                  "```\na\nb\n```",
		"<tr><td>a</td><td>b</td></tr>":                                                                                                                                             "| a | b |\n| --- | --- |",
		"</table></td></ul></p></blockquote></nav>x":                                                                                                                                "x",
		"<q>a</q><my-tag x=1>b</my-tag>":                                                                                                                                            "“a”b",
	} {
		if got := html.Markdown(source); got != want {
			t.Errorf("%s\n got %q\nwant %q", source, got, want)
		}
	}
}

func TestSectionsAndTitle(t *testing.T) {
	got, info, err := extracttest.Read(t, "a.html", []byte("<html><head><title>The &quot;page&quot;</title><style>p{}</style></head><body>before<h1>One</h1><p>a</p><h3>Three</h3><p>b</p><h2>Two</h2>"))
	var all []string
	for _, s := range got {
		all = append(all, fmt.Sprintf("%d %s: %s", s.Level, strings.Join(s.Path, "/"), s.Text))
	}
	if want := "0 : before; 1 One: a; 3 One/Three: b; 2 One/Two: "; err != nil || strings.Join(all, "; ") != want || info.Title != `The "page"` || info.MediaType != extract.HTML {
		t.Errorf("%q, %+v, %v, want %q", all, info, err, want)
	}
	if _, info, err = extracttest.Read(t, "a.htm", []byte("<h2>First</h2>x")); err != nil || info.Title != "First" {
		t.Errorf("without title: %+v, %v", info, err)
	}
}

func TestEncodingOfPages(t *testing.T) {
	for name, source := range map[string]string{
		"meta":          "<meta charset=iso-8859-2><p>Dvo\xf8\xe1k a Jan\xe1\xe8ek</p>",
		"http-equiv":    "<meta http-equiv=Content-Type content='text/html; charset=windows-1250'><p>Dvo\xf8\xe1k a Jan\xe1\xe8ek</p>",
		"wrong":         "<meta charset=iso-8859-2><p>Dvořák a Janáček</p>",
		"mark":          "\xef\xbb\xbf<p>Dvořák a Janáček</p>",
		"UTF-16 little": "\xff\xfe<\x00p\x00>\x00D\x00v\x00o\x00Y\x01\xe1\x00k\x00 \x00a\x00 \x00J\x00a\x00n\x00\xe1\x00\x0d\x01e\x00k\x00",
	} {
		got, _, err := extracttest.Read(t, "a.html", []byte(source))
		if err != nil || len(got) != 1 || got[0].Text != "Dvořák a Janáček" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestHostileHTMLIsReadInTime(t *testing.T) {
	for name, source := range map[string]string{
		"deep":      strings.Repeat("<div><ul><li><blockquote>", 200_000) + "deep",
		"tables":    strings.Repeat("<table><tr><td>", 200_000) + "deep",
		"spans":     "<table>" + strings.Repeat("<tr><td rowspan=100000 colspan=100000>x", 20_000),
		"cells":     "<table>" + strings.Repeat("<tr>", 10_000) + strings.Repeat("<td>x", 500_000),
		"headings":  strings.Repeat("<h1>a", 500_000),
		"one line":  strings.Repeat("word ", 1_500_000),
		"one word":  "<p>" + strings.Repeat("x", 5_000_000),
		"pre":       "<pre>" + strings.Repeat("`````\n", 1_000_000),
		"code":      strings.Repeat("<code>a", 500_000),
		"skipped":   strings.Repeat("<nav>", 500_000),
		"entities":  strings.Repeat("&amp;&#x41;&notanentity;", 200_000),
		"brackets":  strings.Repeat("<", 3_000_000),
		"title":     "<title>" + strings.Repeat("x", 5_000_000) + "</title>",
		"pictures":  "<p>" + strings.Repeat("<img alt='"+strings.Repeat("w ", 2_000)+"'>", 8_000),
		"long cell": "<table><tr><td>" + strings.Repeat("word ", 1_000_000),
	} {
		begun := time.Now()
		var err error
		if peak := extracttest.PeakHeap(func() { _, _, err = extracttest.Read(t, "a.html", []byte(source)) }); peak > 100<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
		if took := time.Since(begun); err != nil || took > time.Minute {
			t.Errorf("%s: %v after %s", name, err, took)
		} else {
			t.Logf("%s: %s", name, took.Round(time.Millisecond))
		}
	}
	_, _, err := extracttest.Read(t, "a.html", []byte("<img src='data:"+strings.Repeat("A", 9<<20)+"'>"))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more than 8 MiB") {
		t.Errorf("a huge tag: %v", err)
	}
}

func FuzzHTML(f *testing.F) {
	f.Add([]byte("<title>x</title><h1>a</h1><p>b<ul><li>c<ol><li>d</ol></ul>"))
	f.Add([]byte("<table><tr><td rowspan=2>a<td><table><tr><td>b</table><pre>1\n</pre><h2>c</table>"))
	f.Add([]byte("<nav><svg><pre><code class=language-go>`</code></nav></pre><blockquote>x<br>y"))
	f.Add([]byte("<meta charset=gb18030>\x81\x30\x81\x30&amp;&#0;<q><code>"))
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		begun := time.Now()
		got, info, err := extracttest.ReadBy(t, r, path, "a.html", content)
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%d bytes took %v", len(content), took)
		}
		extracttest.CheckSections(t, got, info, err)
	})
}

func BenchmarkHTML(b *testing.B) {
	path := extracttest.LargeFile(b, "a.html", 16<<20, func(i int) string {
		return fmt.Sprintf("<h2 id=x%d>Part %d</h2>\n<p>Some <b>text</b> of a <a href='x'>page</a> &amp; more of it, as pages have it.</p>\n<ul><li>one</li><li>two</li></ul>\n<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>\n", i, i)
	})
	r := extracttest.LocalReader(b)
	b.SetBytes(16 << 20)
	for b.Loop() {
		if _, err := r.Read(b.Context(), path, "a.html", extracttest.Discard, nil); err != nil {
			b.Fatal(err)
		}
	}
}
