package text_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/text"
	"annals/events/fault"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

func TestEncodings(t *testing.T) {
	const (
		western  = "Le café est à l’étage; Müller für größere Stühle, naïve Schülerinnen und ein Zwölf-Euro-Schein.\n"
		russian  = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.\n"
		japanese = "これは日本語の文章です。文字コードを判定するために、十分な長さが必要です。\n"
		chinese  = "所有的幸福家庭都是相似的，而每个不幸的家庭各有各的不幸。这是一个很长的句子。\n"
	)
	utf16le := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	utf16be := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	for name, c := range map[string]struct {
		text string
		enc  encoding.Encoding
		mark string
	}{
		"UTF-8":                 {western, nil, ""},
		"UTF-8 with mark":       {western, nil, "\xef\xbb\xbf"},
		"UTF-16LE with mark":    {russian, utf16le, "\xff\xfe"},
		"UTF-16BE with mark":    {chinese, utf16be, "\xfe\xff"},
		"UTF-32LE with mark":    {western, utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "\xff\xfe\x00\x00"},
		"UTF-16LE":              {western, utf16le, ""},
		"UTF-16BE":              {western, utf16be, ""},
		"UTF-16LE, Russian":     {russian, utf16le, ""},
		"windows-1252":          {western, charmap.Windows1252, ""},
		"windows-1251":          {russian, charmap.Windows1251, ""},
		"KOI8-R":                {russian, charmap.KOI8R, ""},
		"Shift JIS":             {japanese, japaneseShiftJIS, ""},
		"EUC-JP":                {japanese, japaneseEUC, ""},
		"GB18030":               {chinese, simplifiedchinese.GB18030, ""},
		"windows-1252 at depth": {strings.Repeat("plain text, line after line\n", 10_000) + western, charmap.Windows1252, ""},
	} {
		want := strings.TrimSpace(strings.Repeat(c.text, 5))
		content := []byte(strings.Repeat(c.text, 5))
		if c.enc != nil {
			var err error
			if content, err = c.enc.NewEncoder().Bytes(content); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		got, _, err := extracttest.Read(t, "a.txt", append([]byte(c.mark), content...))
		var all strings.Builder
		for _, s := range got {
			all.WriteString(s.Text)
		}
		if err != nil || all.String() != want {
			t.Errorf("%s: %v\n got %.150q\nwant %.150q", name, err, all.String(), want)
		}
	}
}

var japaneseShiftJIS, japaneseEUC = japanese.ShiftJIS, japanese.EUCJP

func TestTextIsCleaned(t *testing.T) {
	for content, want := range map[string]string{
		"one\r\ntwo\rthree": "one\ntwo\nthree",
		"old\rMac\rlines":   "old\nMac\nlines",
		"a\x00b\x07c\x7f\fd" + strings.Repeat(" word", 50): "a bc\nd" + strings.Repeat(" word", 50),
		"e\u0301": "é",
		"caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 caf\xc3\xa9 br\xffken": strings.Repeat("café ", 11) + "br\ufffdken",
	} {
		got, _, err := extracttest.Read(t, "a.txt", []byte(content))
		if err != nil || len(got) != 1 || got[0].Text != want {
			t.Errorf("%q: %+v, %v, want %q", content, got, err, want)
		}
	}
}

func TestStrayNULs(t *testing.T) {
	for content, want := range map[string]string{
		"a\x00b foo":       "a b foo",
		"line\x00two":      "line two",
		"a\x00b\x00c\x00d": "a b c d",
		"line\x00two of a text that is longer than that":    "line two of a text that is longer than that",
		"café \x00\x00\x00 crème, and more of the text":     "café   crème, and more of the text",
		"caf\xe9 \x00cr\xe8me, and more of the old text":    "café  crème, and more of the old text",
		"begins" + strings.Repeat("\x00", 300_000) + "ends": "begins ends",
		strings.Repeat("ab cd ef \x00", 100) + "end":        strings.Repeat("ab cd ef  ", 100) + "end",
	} {
		for _, name := range []string{"a.txt", "a.md"} {
			got, info, err := extracttest.Read(t, name, []byte(content))
			if err != nil || len(got) != 1 || got[0].Text != want || len(info.Warnings) != 1 ||
				!strings.Contains(info.Warnings[0], fmt.Sprintf("(%d in all)", strings.Count(content, "\x00"))) {
				t.Errorf("%s %.50q: %+v, %+v, %v, want %q and a warning", name, content, got, info, err, want)
			}
		}
	}
	if _, info, err := extracttest.Read(t, "a.txt", []byte("plain")); err != nil || len(info.Warnings) != 0 {
		t.Errorf("a text without NULs: %q, %v", info.Warnings, err)
	}
}

func TestBinaryFilesAreRefused(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, c := range map[string]struct{ content, want string }{
		"empty.txt":  {"", "is empty"},
		"binary.txt": {strings.Repeat(string(all), 400), "contains no text"},
		"nul.md":     {strings.Repeat("\x00", 100), "contains no text"},
		"a.txt":      {"%PDF-1.7\nbinary", "named .txt but is a PDF"},
		"a.md":       {"\x89PNG\r\n\x1a\n", "is a PNG image"},
		"a.pdf":      {"PK\x03\x04", "named .pdf but is a ZIP archive"},
		"b.pdf":      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "named .pdf but is an old Office document, or one with a password"},
		"a.png":      {"RIFF\x10\x00\x00\x00WEBPVP8 ", "named .png but is a WebP image"},
		"a.jpg":      {"BM\x10\x00\x00\x00\x00\x00\x00\x00", "named .jpg but is a BMP image"},
		"a.exe":      {"MZ", `files of type ".exe" cannot be read`},
		"noext":      {"text", `files of type "" cannot be read`},
	} {
		if _, _, err := extracttest.Read(t, name, []byte(c.content)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want invalid with %q", name, err, c.want)
		}
	}
}

func TestSupports(t *testing.T) {
	for name, want := range map[string]string{
		"a.PDF": "application/pdf", "b/c.Markdown": "text/markdown", "x.md": "text/markdown", "x.TEXT": "text/plain", "a.b.txt": "text/plain",
		"a.docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "a.doc": "", "md": "", ".md": "text/markdown",
	} {
		if got, ok := extract.AllFormats().Supports(name); got != want || ok != (want != "") {
			t.Errorf("Supports(%q) = %q, %t, want %q", name, got, ok, want)
		}
	}
}

func TestTitles(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"a.txt", "Some words.\n\nTitle: The Name\n", "The Name"},
		{"a.txt", "A TALE OF TITLES\n\nIt was.", "A TALE OF TITLES"},
		{"annual_report_2024.txt", "Text.", "annual report 2024"},
		{"my plan_b.txt", "Text.", "my plan_b"},
		{"x/y\\z.txt", "Text.", "z"},
		{"a.md", "---\ntitle: \"From: matter\"\n---\n# Heading\n", "From: matter"},
		{"a.md", "## Second\n\n# *First* `of` [all](x)\n", "First of all"},
		{"a.md", "## Second\n\n### Third\n", "Second"},
	} {
		if _, info, err := extracttest.Read(t, c.name, []byte(c.content)); err != nil || info.Title != c.want {
			t.Errorf("title of %q: %q, %v, want %q", c.content, info.Title, err, c.want)
		}
	}
}

func TestPlainTextHeadings(t *testing.T) {
	body := "\n\nIt was the best of times, it was the worst of times.\nIt went on.\n\n"
	for line, level := range map[string]int{
		"CHAPTER IV":                         2,
		"Chapter 12. Of Whales":              2,
		"Chapter One":                        2,
		"PART TWO":                           1,
		"BOOK III: THE RETURN":               1,
		"Kapitel 3":                          2,
		"THE RED-HEADED LEAGUE":              2,
		"VII. THE BLUE CARBUNCLE":            2,
		"2.1 Scope of This Document":         2,
		"3  Results":                         1,
		"4.  Security Considerations":        1,
		"Underlined\n==========":             1,
		"Also underlined\n---":               0,
		"Also underlined\n---------":         2,
		"Chapter 3 shows that whales sleep.": 0,
		"Just a short line":                  0,
		"10 Downing Street":                  0,
		"1. buy milk and eggs":               0,
		"2. Call the office":                 0,
		"3 Apples were eaten by them.":       0,
		"NASA":                               2,
		"USA, UK;":                           0,
		"|  TABLE  |":                        0,
		"I":                                  0,
		"15 June":                            0,
		"1999 Annual Report":                 0,
	} {
		got, _, err := extracttest.Read(t, "a.txt", []byte("The text begins."+body+line+body))
		title, _, _ := strings.Cut(line, "\n")
		if err != nil || level == 0 && len(got) != 1 || level > 0 && (len(got) != 2 || got[1].Title != strings.Join(strings.Fields(title), " ") || got[1].Level != level) {
			t.Errorf("%q: %+v, %v, want level %d", line, got, err, level)
		}
	}
}

func TestMarkdownIsSplitAtHeadings(t *testing.T) {
	source := "Before\n\n# One *two* ##\nText\n```\n# no heading\n```\n> # quoted\n\nTitle\nover lines\n===\n\n- # listed\n\n    # code\n\n### `C#` &amp; \\*more\\* [link](x) ![alt](y) {#id}\nlast\n#\n#hashtag\n<!--\n# comment\n-->\n## \n"
	for name, big := range map[string]string{"parsed": "", "scanned": strings.Repeat("> ", 101) + "deep\n"} {
		got, _, err := extracttest.Read(t, "a.md", []byte(source+big))
		var titles []string
		for _, s := range got {
			titles = append(titles, fmt.Sprintf("%d %s", s.Level, s.Title))
		}
		want := []string{"0 ", "1 One two", "1 Title over lines", "3 C# & *more* link alt"}
		if name == "scanned" { // scan recognises only ATX headings and fences
			want = []string{"0 ", "1 One two", "3 C# & *more* link alt"}
		}
		if err != nil || !reflect.DeepEqual(titles, want) {
			t.Errorf("%s: titles %q, %v, want %q", name, titles, err, want)
		}
	}
	got, _, _ := extracttest.Read(t, "a.md", []byte(source))
	if got[1].Text != "Text\n```\n# no heading\n```\n> # quoted" || got[2].Text != "- # listed\n\n    # code" || got[3].Text != "last\n#\n#hashtag\n\n## " {
		t.Errorf("texts %+v", got)
	}
}

func TestPlainTextStructure(t *testing.T) {
	for content, want := range map[string]string{
		"The query:\n\n    select a\n\n    FROM TABLES\n\n    where b\n\nEnd.": "The query:\n\n    select a\n\n    FROM TABLES\n\n    where b\n\nEnd.",
		"End of page.\n\fCHAPTER II\n\nText.":                                  "End of page.|CHAPTER II: Text.",
		"          THE WHALE\n\n          PART ONE\n\nText.":                   "THE WHALE: |PART ONE: Text.",
		"One.\n\n1.1 First Part\n\nTwo.\n\n1.1.1 Within It\n\nThree.":          "One.|1.1 First Part: Two.|1.1.1 Within It: Three.",
	} {
		got, _, err := extracttest.Read(t, "a.txt", []byte(content))
		var all []string
		for _, s := range got {
			text := s.Text
			if s.Title != "" {
				text = s.Title + ": " + text
			}
			all = append(all, text)
		}
		if err != nil || strings.Join(all, "|") != want {
			t.Errorf("%q: %q, %v, want %q", content, all, err, want)
		}
	}
}

func TestHTMLInMarkdown(t *testing.T) {
	for source, want := range map[string]string{
		"![a](data:image/png;base64,QUJD/+=) b\n\n[b]: <data:image/png;base64,QUJD>\n\n`;base64,QUJD`":                                                                 "![a](data:image/png;base64,) b\n\n[b]: <data:image/png;base64,>\n\n`;base64,QUJD`",
		"<Listing number=\"18-10\" file-name=\"a.rs\" caption=\"Two `posts` &amp; a <code>trait</code>\">\n\n```rust\nlet a: Vec<T> = b;\n# c\n```\n\n</Listing>\nend": "Two `posts` & a `trait`\n\n```rust\nlet a: Vec<T> = b;\n# c\n```\n\n\nend",
		"<details><summary>More</summary>\n\n**text**\n\n</details>":                                                                                                   "More\n\n**text**",
		"a <b>bold</b> H<sub>2</sub>O<br>next<!-- no\nno --> end":                                                                                                      "a bold H2O next end",
		"AT&amp;T &lt;T&gt; &copy; &nbsp;x &#42; &amp;lt; &bogus; & Co":                                                                                                "AT&T \\<T\\> ©  x \\* &amp;lt; &bogus; & Co",
		"code `<b>` and ``a ` <i>`` and ` <u>x</u>":                                                                                                                    "code `<b>` and ``a ` <i>`` and ` x",
		"Vec<T>, <your name>, `cmd` <file> [<n>], List<String>":                                                                                                        "Vec<T>, <your name>, `cmd` <file> [<n>], List<String>",
		"<https://example.org/a?b&amp=1> and <me@example.org>":                                                                                                         "<https://example.org/a?b&amp=1> and <me@example.org>",
		"\\<b> 1 < 2 <= 3 <- x <3 a<b && b>c <":                                                                                                                        "\\<b> 1 < 2 <= 3 <- x <3 a<b && b>c <",
		"![A duck](x.png) <img src=y alt='Two ducks' /> [a link](<b c> \"t\")":                                                                                         "![A duck](x.png) Two ducks [a link](<b c> \"t\")",
		"<Tabs items={['a', {b: 1}]}>\n\n<Tab value=\"a\">\n\ntext\n\n</Tab>\n</Tabs>":                                                                                 "text",
		"{{< figure src=\"a.png\" title=\"A figure\" >}}\n{{% note %}}text{{% /note %}} {{</* ref */>}} {{x}}":                                                         "A figure\ntext {{</* ref */>}} {{x}}",
		"- item <kbd>Ctrl</kbd>\n\n  <p>more</p>\n\n      <code>\n> <em>quoted</em>":                                                                                   "- item Ctrl\n\n  more\n\n      <code>\n> quoted",
		"<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>\nafter":                                                                       "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nafter",
		"| a | b |\n|---|---|\n| x<br>y | <b>z</b> |":                                                                                                                  "| a | b |\n|---|---|\n| x y | z |",
		"<div align=\"center\">\nline *one*\nline two\n</div>\n\n<script>\nx < y\n\nz\n</script>\nend":                                                                 "line *one*\nline two\n\n\nend",
		"<!-- a\n\n# no -->\n<!-- open\nx":                                                                                                                             "<!-- open\nx",
		"text <a href=\"x\"\n title='y'>link</a><a id=\"z\"></a> <!DOCTYPE x>":                                                                                         "text link <!DOCTYPE x>",
	} {
		got, _, err := extracttest.Read(t, "a.md", []byte(source))
		var text string
		for _, s := range got {
			text += s.Title + s.Text
		}
		if err != nil || strings.TrimSpace(text) != want {
			t.Errorf("%s\n got %q, %v\nwant %q", source, text, err, want)
		}
	}
	got, info, err := extracttest.Read(t, "a.md", []byte("<h1 align=center>\n  <img src=x alt=Logo> Project\n</h1>\n\n<p>Badges</p>\n\n## <img src=y alt='Use'> it\n\ntext"))
	if err != nil || len(got) != 2 || got[0].Title != "Logo Project" || got[0].Text != "Badges" || got[1].Title != "Use it" || info.Title != "Logo Project" {
		t.Errorf("HTML headings: %+v, %+v, %v", got, info, err)
	}
	got, _, err = extracttest.Read(t, "a.md", []byte(strings.Repeat("> ", 101)+"deep\n\na <b>b</b> <!-- c\n# d\n--> e `<i>` <T>\n```\n<b>\n```\n"))
	if err != nil || len(got) != 1 || !strings.HasSuffix(got[0].Text, "a b \n\n e `<i>` <T>\n```\n<b>\n```") {
		t.Errorf("HTML in Markdown that is read line by line: %+v, %v", got, err)
	}
}

func TestFrontMatter(t *testing.T) {
	for _, c := range []struct{ content, title, text string }{
		{"---\ntitle: A\nauthor: Marvin Blankenburg\nkeywords: [quasarfrost, x]\n---\nText", "A", "- author: Marvin Blankenburg\n- keywords: quasarfrost, x\n\nText"},
		{"---\ntitle: [a, b]\ntype: note\ndraft: true\nversion: 1.10\nempty:\nby:\n  - name: Ann\n    mail: a@b\n  - Bob\nabout: |\n  two\n  lines\n---\n", "a",
			"- title: a, b\n- type: note\n- version: 1.10\n- by: name: Ann, mail: a@b, Bob\n- about: two lines"},
		{"---\nTitle: one\ntitle: two\n---\nText", "one", "- title: two\n\nText"},
		{"---\na: &a deep\nb: [*a, [[x]]]\n---\nText", "a", "- a: deep\n- b: x\n\nText"},
		{"---\n# title: none\n---\nText", "a", "Text"},
		{"+++\ntitle = \"B\"\ndate = 2024-05-06\n[author]\nname = \"Ann\"\n+++\nText", "B", "- author: name: Ann\n- date: 2024-05-06\n\nText"},
		{"<!--{\n  \"Title\": \"C\",\n  \"Path\": \"/doc\",\n  \"Size\": 10000000,\n  \"Template\": true\n}-->\n\nText", "C", "- Path: /doc\n- Size: 10000000\n\n\nText"},
		{"\ufeff---\nTitle: 2024\n---\n\nText", "2024", "Text"},
		{"+++\ntitle = \"B\"\n+++\nText", "B", "Text"},
		{"<!--{\n  \"Title\": \"C\"\n}-->\n\nText", "C", "Text"},
		{"---\r\ntitle: D\r\n---\r\nText", "D", "Text"},
		{"---\ntitle: E: broken: yaml\n  - x\n---\nText", "E: broken: yaml", "- x\n\nText"},
		{"---\n---\nText", "a", "Text"},
		{"---\njust a rule and a text\n\n---\nText", "a", "---\njust a rule and a text\n\n---\nText"},
		{"---\ntitle: no end\n", "a", "---\ntitle: no end"},
		{"---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n---\nText", "a", "- a: x, x, x, x, x, x, x, x, x\n\nText"},
	} {
		got, info, err := extracttest.Read(t, "a.md", []byte(c.content))
		var text string
		for _, s := range got {
			text += s.Text
		}
		if err != nil || info.Title != c.title || text != c.text {
			t.Errorf("%q: title %q, text %q, %v, want %q, %q", c.content, info.Title, text, err, c.title, c.text)
		}
	}
}

func TestTags(t *testing.T) {
	for source, want := range map[string]string{
		"---\ntitle: x\ntags: [a b, c, 2024, true, ~]\n---\n": "a b|c|2024",
		"---\nTags:\n  - a\n  - \"b, c\"\n---\n":              "a|b, c",
		"\ufeff---\ntags: a, b c,, d\n---\n":                  "a|b c|d",
		"+++\ntags = [\"a\", \"b\"]\n+++\n":                   "a|b",
		"---\ntitle: x\n---\n":                                "",
		"---\ntags: [a\n---\n":                                "",
		"tags: a":                                             "",
		"---\ntags: " + strings.Repeat("[", 100) + "\n---\n":  "",
	} {
		if got := strings.Join(text.Tags([]byte(source)), "|"); got != want {
			t.Errorf("Tags(%.60q) = %q, want %q", source, got, want)
		}
	}
}

func TestOrdinaryMarkdownIsParsed(t *testing.T) {
	for name, source := range map[string]string{ // each source ends with a heading that only the parser recognises
		"lists":   strings.Repeat("- a\n  - b\n    - c\n\n      text\n\n      1. d\n", 10_000),
		"quotes":  strings.Repeat("> a\n> > b\n\n", 30_000),
		"rules":   strings.Repeat(strings.Repeat("-", 300)+"\n\n"+strings.Repeat("* ", 90)+"\n\n", 100),
		"columns": strings.Repeat(strings.Repeat(" ", 60)+"12.50 - 13 *\n", 50_000),
		"tables":  strings.Repeat("| - | * | 1. |\n", 50_000),
	} {
		got, _, err := extracttest.Read(t, "a.md", []byte(source+"\n\nUnderlined\n===\n"))
		if err != nil || len(got) == 0 || got[len(got)-1].Title != "Underlined" {
			t.Errorf("%s: read line by line, want it parsed: %v", name, err)
		}
	}
	got, _, err := extracttest.Read(t, "a.md", []byte("# {a} {b} `c` **d** "+strings.Repeat("[", 200)+"\n\n# "+strings.Repeat("*e* ", 20)+"\n"))
	if err != nil || len(got) != 2 || !strings.HasSuffix(got[0].Title, "[[[") || strings.Contains(got[1].Title, "*") {
		t.Errorf("headings %+v, %v", got, err)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte("# One\n\ntext\n\nTwo\n===\n```\n# no\n```\n"))
	f.Add([]byte("---\ntitle: x\n---\n#\n## \n### a ###\n"))
	f.Add([]byte("\xff\xfe#\x00 \x00a\x00"))
	f.Add([]byte("---\ntitle: a\nb: [c, *d]\n---\n"))
	f.Add([]byte("+++\ntitle = \"a\"\n[b.c]\nd = { e = 1 }\n+++\n"))
	f.Add([]byte("<!--{\n\"a\": [1, {\"b\": null}]\n}-->\n"))
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		begun := time.Now()
		got, info, err := extracttest.ReadBy(t, r, path, "a.md", content)
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%d bytes took %v", len(content), took)
		}
		extracttest.CheckSections(t, got, info, err)
	})
}

func FuzzText(f *testing.F) {
	f.Add([]byte("CHAPTER I\n\nIt was.\n\nTitle\n=====\n\r\n1.2 More\n\nend"))
	f.Add([]byte("a\rb\rc\x00\x0c\xe9\xe8"))
	f.Add([]byte("Gr\xfc\xdfe"))
	f.Add([]byte("\x1b$B\x46\x7c\x1b(B"))
	f.Add([]byte("\x82\xa0\x82\xa2"))
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		begun := time.Now()
		got, info, err := extracttest.ReadBy(t, r, path, "a.txt", content)
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%d bytes took %v", len(content), took)
		}
		extracttest.CheckSections(t, got, info, err)
	})
}
