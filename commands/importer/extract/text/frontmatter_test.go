package text_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/text"
)

func TestHostileFrontMatterIsReadInTime(t *testing.T) {
	yamlBomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		yamlBomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	lines := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	toml := map[string]string{
		"keys": lines("a%d=1\n", 7000), "tables": lines("[a%d]\n", 7000), "arrays": strings.Repeat("[[a]]\n", 10000), "brackets": "a=" + strings.Repeat("[", 60000),
		"inline": "a=" + strings.Repeat("{a=", 20000), "dotted": strings.Repeat("a.", 1000) + "a=1", "dottedmany": lines("a.b.c.d.e.f.g.h.i.j.k.l.m%d=1\n", 1800),
		"dottedquoted": strings.Repeat(`"a".`, 1000) + "a=1", "header": "[" + strings.Repeat("a.", 2000) + "a]", "longstring": "a=\"" + strings.Repeat(`\u0041`, 10000) + "\"",
		"nestedarr": lines("[[a.b.c.d.e.f.g%d]]\n", 3000), "inlinetabs": "a={" + lines("b%d=1,", 6000) + "c=1}",
	}
	yaml := map[string]string{
		"bomb": yamlBomb, "flow": "a: " + strings.Repeat("[", 60000), "flow9k": "a: " + strings.Repeat("[", 9000), "flowmap": "a: " + strings.Repeat("{a: ", 9000), "dashes": strings.Repeat("- ", 30000), "dashes9k": strings.Repeat("- ", 9000),
		"q": strings.Repeat("? ", 9000), "keys": lines("a%d: 1\n", 6500), "anchors": lines("- &a%d x\n", 5000), "tags": strings.Repeat("!a ", 20000), "quotes": "a: \"" + strings.Repeat("\\n\n", 15000) + "\"",
		"comments": "a: 1\n" + strings.Repeat("# x\n", 15000), "colons": strings.Repeat("a: ", 20000), "simplekeys": "[" + strings.Repeat("a,", 30000), "merge": "a: &a {b: 1}\n" + strings.Repeat("<<: *a\n", 8000), "dup": strings.Repeat("a: 1\n", 12000),
		"long": "a: " + strings.Repeat("x ", 30000), "folded": "a: >\n" + strings.Repeat("  x\n", 12000), "pct": strings.Repeat("%TAG ! x\n", 6000), "plainml": "a: b\n" + strings.Repeat(" c\n", 20000), "commentsdeep": strings.Repeat("a:\n # x\n", 7000),
		"indent": func() string {
			var b strings.Builder
			for i := range 340 {
				b.WriteString(strings.Repeat(" ", i) + "a:\n")
			}
			return b.String()
		}(),
	}
	json := map[string]string{"deep": `"a":` + strings.Repeat("[", 60000), "deep9k": `"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "keys": lines(`"a%d":1,`, 6000) + `"b":1`, "obj": `"a":` + strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)}
	for name, attacks := range map[string]map[string]string{"+++": toml, "---": yaml, "<!--{": json} {
		end := map[string]string{"<!--{": "}-->"}[name]
		for attack, body := range attacks {
			source := name + "\n" + body + "\n" + cmp.Or(end, name) + "\n# The text\n"
			begun := time.Now()
			readMarkdown(t, source)
			if took := time.Since(begun); took > 20*time.Second { // without the limits it would take minutes
				t.Errorf("%s %s: %d bytes took %v", name, attack, len(source), took)
			}
		}
	}
}

func TestFrontMatterWithinLimitsIsParsed(t *testing.T) {
	for _, c := range []struct{ source, title, text string }{
		{"+++\ntitle = \"A [[[[ b.c.d. \\\" e\"\nsite.owner.name = 'x'\n+++\nrest", "A [[[[ b.c.d. \" e", "- site: owner: name: x\n"},
		{"+++\n# a.b.c.d\ntitle = \"\"\"\nA\n[[[\"\"\"\nv = 1.5\n+++\nrest", "A\n[[[", "- v: 1.5\n"},
		{"<!--{\n\"Title\": \"T {[\", \"a\": {\"b\": [1, 2]}\n}-->\nrest", "T {[", "- a: b: 1, 2\n"},
		{"\n---\ntitle: don't [stop\ndate: 2020-01-02\n---\nrest", "don't [stop", "- date: 2020-01-02\n"},
		{"+++\ntitle = 'T'\nn = \"" + strings.Repeat("1.", 100) + "\"\n+++\nrest", "T", "- n: " + strings.Repeat("1.", 100) + "\n"},
		// This front matter is too complex to be parsed. It is kept line by line.
		{"+++\ntitle = \"T\"\n" + strings.Repeat("a.", 100) + "b = 1\n+++\nrest", "T", "- " + strings.Repeat("a.", 100) + "b = 1\n"},
	} {
		if title, text := readMarkdown(t, c.source); title != c.title || text != c.text+"\nrest" {
			t.Errorf("%.80q: title %q and text %.80q, want %q and %.80q", c.source, title, text, c.title, c.text)
		}
	}
}

// readMarkdown returns the title and the text of a Markdown file.
func readMarkdown(t *testing.T, source string) (title, content string) {
	t.Helper()
	w := extract.NewWriter(func(s extract.Section) error { content += s.Text; return nil }, 0)
	info, err := text.ReadMarkdown(t.Context(), extract.File{ReaderAt: strings.NewReader(source), Size: int64(len(source)), Name: "a.md"}, w)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return info.Title, content
}
