package rtf_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

const head = `{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}{\f2\fcharset128 MS Mincho;}}{\colortbl;\red0;}` +
	`{\stylesheet{\s0 Normal;}{\s1\sb240 heading 1;}{\s2 Heading 2;}{\*\cs10 Default;}}{\info{\title The title}{\author Ann}}`

func TestText(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"paragraphs":  {`\pard One \b bold\b0 ly\par two\line three\par`, "One boldly\n\ntwo\nthree"},
		"code pages":  {`Gr\'fc\'dfe {\f1 \'cc\'e8\'f0} {\f2 \'93\'fa\'96\'7b} \f1\'cc\par`, "Grüße Мир 日本 М"},
		"Unicode":     {`\u1052?\u1080\'e8\uc0\u1088 {\uc2\u-10179??\u-8704??}\u8212 \'97\par`, "Мир😀——"},
		"escapes":     {`\{a\\b\}~\~\_\emdash\lquote x\rquote\par`, "{a\\b}~ -—‘x’"},
		"hidden":      {`a{\v secret}b{\deleted gone}c\par{\header page}{\*\unknown x}{\pict\pngblip 89504e47}d`, "abc\n\nd"},
		"fields":      {`see {\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt the page}}\par`, "see the page"},
		"notes":       {`text{\super 1{\footnote\pard the note\par}} goes on\par`, "text1 (the note) goes on"},
		"lists":       {`{\listtext\'b7\tab}one\par{\listtext\'b7\tab}two\par\pard{\listtext 3.\tab}three\par`, "- one\n- two\n3. three"},
		"tables":      {`\trowd\cellx1\cellx2\pard\intbl a\cell b|\par c\cell\row\trowd\intbl 1\cell 2\cell\row\pard end\par`, "| a | b\\| c |\n| --- | --- |\n| 1 | 2 |\n\nend"},
		"open cell":   {`\trowd\cellx1\pard\intbl a\cell\row\trowd\intbl last words`, "| a |\n| --- |\n\nlast words"},
		"markup":      {`# no\par - no\par`, "\\# no\n\n\\- no"},
		"binary":      {`a{\pict\bin5 }{\}\}b`, "ab"},
		"shapes":      {`{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt in the box\par}}}after`, "in the box\n\nafter"},
		"broken end":  {`a{\b b`, "ab"},
		"raw newline": {"a\r\nb\\\nc", "ab\n\nc"},
	} {
		got, info, err := extracttest.Read(t, "a.rtf", []byte(head+c.body+"}"))
		if err != nil || len(got) != 1 || got[0].Text != c.want || info.Title != "The title" || info.MediaType != extract.RTF {
			t.Errorf("%s: %+v, %+v, %v, want %q", name, got, info, err, c.want)
		}
	}
}

func TestHeadings(t *testing.T) {
	got, _, err := extracttest.Read(t, "a.rtf", []byte(head+`\pard\s1 One\par\pard\s0 text\par\pard\s2 Two\par\pard more\par\pard\outlinelevel2 Three\par\pard}`))
	var all []string
	for _, s := range got {
		all = append(all, fmt.Sprintf("%d %s: %s", s.Level, s.Title, s.Text))
	}
	if want := "1 One: text; 2 Two: more; 3 Three: "; err != nil || strings.Join(all, "; ") != want {
		t.Errorf("%q, %v, want %q", all, err, want)
	}
}

func TestHostileRichTextIsReadInTime(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"deep":      {strings.Repeat("{", 1_000_000), "nested more than 400 deep (--max-nesting)"},
		"closed":    {strings.Repeat("}", 1_000_000), ""},
		"paragraph": {strings.Repeat("word ", 2_000_000), ""},
		"cells":     {`\intbl ` + strings.Repeat(`x\cell `, 1_000_000), "more than 10000 cells"},
		"rows":      {strings.Repeat(`\intbl a\cell b\cell\row `, 300_000), ""},
		"cell":      {`\intbl ` + strings.Repeat("x", 1<<20-4) + strings.Repeat(`\par `, 100_000), ""},
		"fonts":     {`{\fonttbl` + strings.Repeat(`{\f1\fcharset204 x;}`, 300_000) + `}`, ""},
		"binary":    {`\bin2147483647 x`, ""},
		"picture":   {`{\pict ` + strings.Repeat("00", 5_000_000) + `}`, ""},
		"unicode":   {strings.Repeat(`\u55357 ?`, 500_000), ""},
		"words":     {`\` + strings.Repeat("a", 5_000_000), ""},
	} {
		begun := time.Now()
		var err error
		if peak := extracttest.PeakHeap(func() { _, _, err = extracttest.Read(t, "a.rtf", []byte(head+c.body)) }); peak > 100<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, peak>>20)
		}
		if took := time.Since(begun); took > time.Minute || c.want == "" && err != nil || c.want != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v after %s, want %q", name, err, took, c.want)
		}
	}
	if _, _, err := extracttest.Read(t, "a.rtf", []byte("plain text")); !fault.Is(err, fault.Invalid) {
		t.Errorf("plain text: %v", err)
	}
}

func FuzzRTF(f *testing.F) {
	f.Add([]byte(head + `\s1 a\par\intbl b\cell\row{\footnote c}\u-4096?\'e9\bin3 xyz}`))
	f.Add([]byte(`{\rtf1{\listtext 1.\tab}a\par{\*\x{\v b}}\uc9\u1 \outlinelevel3 c\par`))
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		begun := time.Now()
		got, info, err := extracttest.ReadBy(t, r, path, "a.rtf", append([]byte(`{\rtf1`), content...))
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%d bytes took %v", len(content), took)
		}
		extracttest.CheckSections(t, got, info, err)
	})
}
