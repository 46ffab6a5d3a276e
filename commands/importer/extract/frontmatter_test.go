package extract

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract/process"
)

func TestHostileMetadataIsReadInTime(t *testing.T) {
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
	for name, source := range map[string]map[string]string{"+++": toml, "---": yaml, "<!--{": json} {
		end := map[string]string{"<!--{": "}-->"}[name]
		for attack, body := range source {
			text := name + "\n" + body + "\n" + cmp.Or(end, name) + "\n# The text\n"
			begun := time.Now()
			frontMatter([]byte(text))
			if took := time.Since(begun); took > 2*time.Second { // minutes, without bounds
				t.Errorf("%s %s: %d bytes took %v", name, attack, len(text), took)
			}
		}
	}
}

func TestMetadataWithinBoundsIsRead(t *testing.T) {
	for _, c := range []struct{ source, title, text string }{
		{"+++\ntitle = \"A [[[[ b.c.d. \\\" e\"\nsite.owner.name = 'x'\n+++\nrest", "A [[[[ b.c.d. \" e", "- site: owner: name: x\n"},
		{"+++\n# a.b.c.d\ntitle = \"\"\"\nA\n[[[\"\"\"\nv = 1.5\n+++\nrest", "A\n[[[", "- v: 1.5\n"},
		{"<!--{\n\"Title\": \"T {[\", \"a\": {\"b\": [1, 2]}\n}-->\nrest", "T {[", "- a: b: 1, 2\n"},
		{"\n---\ntitle: don't [stop\ndate: 2020-01-02\n---\nrest", "don't [stop", "- date: 2020-01-02\n"},
		{"+++\ntitle = 'T'\nn = \"" + strings.Repeat("1.", 100) + "\"\n+++\nrest", "T", "- n: " + strings.Repeat("1.", 100) + "\n"},
		// What is not parsed is kept line by line.
		{"+++\ntitle = \"T\"\n" + strings.Repeat("a.", 100) + "b = 1\n+++\nrest", "T", "- " + strings.Repeat("a.", 100) + "b = 1\n"},
	} {
		if m := frontMatter([]byte(c.source)); m.title != c.title || m.text != c.text || c.source[m.length:] != "rest" {
			t.Errorf("frontMatter(%.80q) = %+v, want %q and %.80q", c.source, m, c.title, c.text)
		}
	}
}

// FuzzFrontMatter holds that metadata is read in time, and never past its end.
func FuzzFrontMatter(f *testing.F) {
	f.Add([]byte("---\ntitle: a\nb: [c, *d]\n---\n"))
	f.Add([]byte("+++\ntitle = \"a\"\n[b.c]\nd = { e = 1 }\n+++\n"))
	f.Add([]byte("<!--{\n\"a\": [1, {\"b\": null}]\n}-->\n"))
	f.Fuzz(func(t *testing.T, source []byte) {
		begun := time.Now()
		m := frontMatter(source)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%d bytes took %v", len(source), took)
		}
		if m.length > len(source) || m.length == 0 && m.title+m.text != "" {
			t.Errorf("%d of %d bytes: %q %q", m.length, len(source), m.title, m.text)
		}
	})
}

// FuzzGuess holds that the encoding of any sample is guessed, in time.
func FuzzGuess(f *testing.F) {
	f.Add([]byte("Gr\xfc\xdfe"))
	f.Add([]byte("\x1b$B\x46\x7c\x1b(B"))
	f.Add([]byte("\x82\xa0\x82\xa2"))
	f.Fuzz(func(t *testing.T, sample []byte) {
		begun := time.Now()
		if enc := guess(sample); enc != nil {
			if _, err := enc.NewDecoder().Bytes(sample); err != nil {
				t.Errorf("decoded by %v: %v", enc, err)
			}
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%d bytes took %v", len(sample), took)
		}
	})
}

// FuzzAnswers holds that whatever a process sends is taken or refused, and what
// is taken is within its bounds.
func FuzzAnswers(f *testing.F) {
	var e process.Encoder
	encodeSection(&e, Section{Title: "t", Path: []string{"t"}, Level: 1, StartPage: 1, EndPage: 2, PageBreaks: []int{1}, Text: "ab"})
	f.Add(e.B)
	f.Add(Info{Title: "t", Warnings: []string{"w"}}.encode(false))
	f.Fuzz(func(t *testing.T, in []byte) {
		decodeInfo(in)
		decodeFailure(in)
		decodeRequest(in)
		s, err := decodeSection(in)
		if err != nil {
			return
		}
		c := checker{limits: Limits{TextBytes: 1 << 20}}
		if c.section(s) == nil && (len(s.Text) > MaxPart || len(s.Title) > maxTitle || len(s.Path) > maxLevel || s.Index != 0 || s.Part != 0) {
			t.Errorf("took %+v", s)
		}
	})
}
