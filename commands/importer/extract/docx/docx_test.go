package docx_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

func readWord(t testing.TB, body string, parts map[string]string) ([]extract.Section, extract.Info) {
	t.Helper()
	got, info, err := extracttest.Read(t, "a.docx", extracttest.DOCX(t, body, parts))
	if err != nil {
		t.Fatal(err)
	}
	return got, info
}

func listed(level int, text string) string {
	return fmt.Sprintf(`<w:p><w:pPr><w:numPr><w:ilvl w:val="%d"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, level, text)
}

const testStyles = `<w:styles ` + extracttest.WordNS + `>
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Ttulo"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="My own"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="Überschrift 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Outline"><w:name w:val="Clause"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style>
<w:style w:type="paragraph" w:styleId="Quote"><w:name w:val="Quote"/></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
</w:styles>`

const testNumbering = `<w:numbering ` + extracttest.WordNS + `>
<w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%2)"/></w:lvl>
<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1.%3"/></w:lvl>
<w:lvl w:ilvl="3"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl>
</w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="4"/><w:numFmt w:val="decimal"/><w:lvlText w:val="§ %1"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
</w:numbering>`

func TestWordHeadingsStartSections(t *testing.T) {
	got, info := readWord(t, extracttest.Styled("Ttulo", "The Report")+extracttest.P("Intro.")+extracttest.Styled("berschrift1", "First")+extracttest.P("One.")+extracttest.Styled("Mine", "Below")+extracttest.P("Two.")+
		extracttest.Styled("Outline", "Deeper")+extracttest.Styled("berschrift1", "Second")+extracttest.Styled("Loop", "Three."), map[string]string{"word/styles.xml": testStyles, "word/numbering.xml": testNumbering})
	want := []extract.Section{
		{Index: 0, Level: 1, Title: "The Report", Path: []string{"The Report"}, Text: "Intro."},
		{Index: 1, Level: 1, Title: "§ 4 First", Path: []string{"§ 4 First"}, Text: "One."},
		{Index: 2, Level: 2, Title: "Below", Path: []string{"§ 4 First", "Below"}, Text: "Two."},
		{Index: 3, Level: 3, Title: "Deeper", Path: []string{"§ 4 First", "Below", "Deeper"}},
		{Index: 4, Level: 1, Title: "§ 5 Second", Path: []string{"§ 5 Second"}, Text: "Three."},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sections\n got %+v\nwant %+v", got, want)
	}
	if info.Title != "The Report" || info.Sections != 5 || info.Pages != 0 || info.MediaType != extract.Word {
		t.Errorf("info = %+v", info)
	}
}

func TestWordTextMatchesDisplay(t *testing.T) {
	run := func(inner string) string { return `<w:p><w:r>` + inner + `</w:r></w:p>` }
	for name, c := range map[string]struct{ body, want string }{
		"tracked changes": {`<w:p><w:ins><w:r><w:t>kept</w:t></w:r></w:ins><w:del><w:r><w:delText>dropped</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p>`, "kept"},
		"fields":          {`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "x"</w:instrText><w:t>hidden</w:t></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>result</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t> after</w:t></w:r></w:p>`, "result after"},
		"unended field":   {`<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>x</w:instrText></w:r></w:p>` + extracttest.P("goes on"), "goes on"},
		"check boxes":     {`<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/><w:t> yes</w:t></w:r></w:p>`, "☒ yes"},
		"wrappers":        {`<w:sdt><w:sdtPr/><w:sdtContent><w:p><w:smartTag><w:hyperlink><w:r><w:t>a</w:t></w:r></w:hyperlink></w:smartTag><w:sdt><w:sdtContent><w:r><w:t>b</w:t></w:r></w:sdtContent></w:sdt></w:p></w:sdtContent></w:sdt>`, "ab"},
		"alternatives":    {`<w:p><w:r><mc:AlternateContent><mc:Choice Requires="x"><w:t>first</w:t></mc:Choice><mc:Choice><w:t>second</w:t></mc:Choice><mc:Fallback><w:t>third</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>`, "first"},
		"characters":      {run(`<w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c` + "\u00ad" + `c</w:t><w:softHyphen/><w:noBreakHyphen/><w:t>d</w:t><w:sym w:font="Wingdings" w:char="F0FE"/>`), "a\tb\ncc-d☒"},
		"hidden text":     {run(`<w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t>`) + run(`<w:rPr><w:vanish w:val="0"/></w:rPr><w:t>shown</w:t>`), "shown"},
		"lists":           {listed(0, "one") + listed(1, "a") + listed(1, "b") + listed(2, "deep") + listed(0, "two") + listed(1, "again") + listed(3, "bullet"), "1. one\n  a) a\n  b) b\n    1.I deep\n2. two\n  a) again\n      - bullet"},
		"code":            {extracttest.P("Before") + extracttest.Styled("Code", "x := 1") + extracttest.Styled("Code", "  y++") + extracttest.P("After"), "Before\n\n```\nx := 1\n  y++\n```\n\nAfter"},
		"quotation":       {extracttest.Styled("Quote", "said"), "> said"},
		"no markup":       {extracttest.P("# 5 is a number") + extracttest.P("- 3 degrees") + extracttest.P("&gt; 2"), `\# 5 is a number` + "\n\n" + `\- 3 degrees` + "\n\n" + `\> 2`},
		"text boxes":      {`<w:p><w:r><w:t>anchor</w:t><w:pict><w:txbxContent>` + extracttest.P("boxed") + `</w:txbxContent></w:pict></w:r></w:p>`, "anchor\n\nboxed"},
		"formulas":        {`<w:p><m:oMath><m:r><m:t>x=</m:t></m:r><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath></w:p>`, `$x=\frac{a+b}{c^{2}}$`},
		"pictures":        {`<w:p><w:r><w:drawing><wp:inline><wp:docPr descr="A red lighthouse"/></wp:inline></w:drawing></w:r></w:p>`, "[Image: A red lighthouse]"},
	} {
		got, _ := readWord(t, c.body, map[string]string{"word/styles.xml": testStyles, "word/numbering.xml": testNumbering})
		if len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%s\n got %+v\nwant %q", name, got, c.want)
		}
	}
}

func TestWordTablesBecomeMarkdown(t *testing.T) {
	cell := func(properties, contents string) string {
		return `<w:tc><w:tcPr>` + properties + `</w:tcPr>` + contents + `</w:tc>`
	}
	row := func(cells ...string) string { return `<w:tr>` + strings.Join(cells, "") + `</w:tr>` }
	grid := `<w:tblGrid><w:gridCol/><w:gridCol/><w:gridCol/></w:tblGrid>`
	nested := `<w:tbl>` + row(cell("", extracttest.P("x")), cell("", extracttest.P("y"))) + `</w:tbl>`
	for name, c := range map[string]struct{ body, want string }{
		"merged cells": {extracttest.P("Before") + `<w:tbl>` + grid + row(cell("", extracttest.P("A|B")), cell(`<w:gridSpan w:val="2"/>`, extracttest.P("wide"))) +
			row(cell(`<w:vMerge w:val="restart"/>`, extracttest.P("tall")), cell("", extracttest.P("1")), cell("", extracttest.P("2"))) +
			row(cell(`<w:vMerge/>`, `<w:p/>`), cell("", extracttest.P("3")+extracttest.P("4")), cell("", "<w:p/>")) + `</w:tbl>` + extracttest.P("After"),
			"Before\n\n| A\\|B | wide |  |\n| --- | --- | --- |\n| tall | 1 | 2 |\n|  | 3 4 |\n\nAfter"},
		"nested":       {`<w:tbl>` + row(cell("", extracttest.P("a")+nested), cell("", extracttest.P("b"))) + `</w:tbl>`, "| a x, y; | b |\n| --- | --- |"},
		"one column":   {`<w:tbl><w:tblGrid><w:gridCol/></w:tblGrid>` + row(cell("", extracttest.P("framed")+extracttest.P("text"))) + `</w:tbl>`, "framed\n\ntext"},
		"deleted rows": {`<w:tbl>` + row(cell("", extracttest.P("a")), cell("", extracttest.P("b"))) + `<w:tr><w:trPr><w:del/></w:trPr>` + cell("", extracttest.P("gone")) + `</w:tr></w:tbl>`, "| a | b |\n| --- | --- |"},
		"late start":   {`<w:tbl>` + grid + `<w:tr><w:trPr><w:gridBefore w:val="2"/></w:trPr>` + cell("", extracttest.P("c")) + `</w:tr></w:tbl>`, "| c |\n| --- |"},
		"wide cells": {`<w:tbl>` + row(cell(`<w:gridSpan w:val="1000"/>`, extracttest.P("a")), cell(`<w:gridSpan w:val="1000"/>`, extracttest.P("b"))) +
			row(cell(`<w:gridSpan w:val="1000"/>`, extracttest.P("c")), cell(`<w:gridSpan w:val="1000"/>`, "<w:p/>")) + `</w:tbl>`, "| a | b |\n| --- | --- |\n| c |"},
	} {
		got, _ := readWord(t, c.body, nil)
		if len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%s\n got %+v\nwant %q", name, got, c.want)
		}
	}
}

func TestWordPages(t *testing.T) {
	marked := `<w:p><w:r><w:lastRenderedPageBreak/><w:t>second page</w:t></w:r></w:p>`
	broken := `<w:p><w:r><w:t>end</w:t><w:br w:type="page"/></w:r></w:p>`
	middle := `<w:p><w:r><w:t>runs over </w:t><w:lastRenderedPageBreak/><w:t>to the next</w:t></w:r></w:p>`
	got, info := readWord(t, extracttest.P("first page")+marked+broken+`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:lastRenderedPageBreak/><w:t>Third</w:t></w:r></w:p>`+middle, nil)
	want := []extract.Section{
		{Index: 0, StartPage: 1, EndPage: 2, PageBreaks: []int{12}, Text: "first page\n\nsecond page\n\nend"},
		{Index: 1, Level: 1, Title: "Third", Path: []string{"Third"}, StartPage: 3, EndPage: 4, PageBreaks: []int{10}, Text: "runs over to the next"},
	}
	if !reflect.DeepEqual(got, want) || info.Pages != 4 {
		t.Errorf("%d pages\n got %+v\nwant %+v", info.Pages, got, want)
	}
	if got, info := readWord(t, extracttest.P("a")+broken+extracttest.P("b"), nil); info.Pages != 0 || got[0].StartPage != 0 {
		t.Errorf("without page marks: %d pages, %+v", info.Pages, got)
	}
}

func TestWordNotesFollowParagraph(t *testing.T) {
	notes := func(kind string) string {
		return `<w:` + kind + `s ` + extracttest.WordNS + `><w:` + kind + ` w:id="0" w:type="separator">` + extracttest.P("line") + `</w:` + kind + `><w:` + kind + ` w:id="7" w:author="Ann">` + extracttest.P("the "+kind) + extracttest.P("again") + `</w:` + kind + `></w:` + kind + `s>`
	}
	got, _ := readWord(t, `<w:p><w:r><w:t>one</w:t><w:footnoteReference w:id="7"/><w:t> two</w:t><w:endnoteReference w:id="7"/><w:commentReference w:id="7"/><w:footnoteReference w:id="99"/></w:r></w:p>`+extracttest.P("next"),
		map[string]string{"word/footnotes.xml": notes("footnote"), "word/endnotes.xml": notes("endnote"), "word/comments.xml": notes("comment")})
	want := "one[^1] two[^2]\n\n[^1]: the footnote again\n\n[^2]: the endnote again\n\n> Comment by Ann: the comment again\n\nnext"
	if len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v\nwant %q", got, want)
	}
}

func TestWordRelations(t *testing.T) {
	chart := `<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:ser><c:tx><c:v>Sales</c:v></c:tx><c:cat><c:pt idx="0"><c:v>May</c:v></c:pt><c:pt idx="1"><c:v>June</c:v></c:pt></c:cat><c:val><c:pt idx="1"><c:v>4</c:v></c:pt></c:val></c:ser></c:chartSpace>`
	got, info := readWord(t, "", map[string]string{
		"_rels/.rels": extracttest.RelsHead + `<Relationship Id="a" Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" Target="/Story/doc2.xml"/>` +
			`<Relationship Id="b" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="meta.xml"/></Relationships>`,
		"meta.xml":                  `<cp:coreProperties xmlns:cp="cp" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title> A  title </dc:title></cp:coreProperties>`,
		"Story/doc2.xml":            `<w:document ` + extracttest.StrictNS + ` xmlns:c="http://purl.oclc.org/ooxml/drawingml/chart" xmlns:r="http://purl.oclc.org/ooxml/officeDocument/relationships"><w:body>` + extracttest.P("strict") + `<w:p><w:r><w:drawing><c:chart r:id="c"/></w:drawing></w:r></w:p></w:body></w:document>`,
		"Story/_rels/doc2.xml.rels": extracttest.RelsHead + `<Relationship Id="c" Type="` + extracttest.RelType + `chart" Target="charts\one.xml"/></Relationships>`,
		"Story/charts/one.xml":      chart,
	})
	if len(got) != 1 || got[0].Text != "strict\n\n|  | May | June |\n| --- | --- | --- |\n| Sales |  | 4 |" || info.Title != "A title" {
		t.Errorf("%+v, %+v", got, info)
	}
}

func TestReadHonoursContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := filepath.Join(t.TempDir(), "a.docx")
	if err := os.WriteFile(path, extracttest.DOCX(t, strings.Repeat(extracttest.P("text"), 50_000), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	r := extracttest.LocalReader(t)
	_, err := r.Read(ctx, path, "a.docx", func(extract.Section) error { cancel(); return nil }, nil)
	if !fault.Is(err, fault.Canceled) {
		t.Errorf("Read with a cancelled context = %v", err)
	}
}

func FuzzDOCX(f *testing.F) {
	f.Add(extracttest.P("text")+extracttest.Styled("Heading1", "Title")+listed(1, "x"), testStyles, testNumbering)
	f.Add(`<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>`, "", "")
	f.Add(`<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:br w:type="page"/><w:lastRenderedPageBreak/><w:t>é`+"\u00ad"+`</w:t></w:r></w:p>`, "<", "")
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, body, styles, numbering string) {
		got, info, err := extracttest.ReadBy(t, r, path, "a.docx", extracttest.DOCX(t, body, map[string]string{"word/styles.xml": styles, "word/numbering.xml": numbering}))
		extracttest.CheckSections(t, got, info, err)
	})
}

func TestWordErrorsNameTheirLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.docx")
	for want, body := range map[string]string{
		"more than 16 MiB without an XML tag (part word/document.xml)":    extracttest.P("a") + strings.Repeat(" ", 20<<20) + extracttest.P("b"),
		"more than 64 MiB uncompressed, the limit for a file of its size": strings.Repeat(extracttest.P(strings.Repeat("x", 1<<20)), 65),
	} {
		if err := os.WriteFile(path, extracttest.DOCX(t, body, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := extracttest.LocalReader(t).Read(t.Context(), path, "a.docx", extracttest.Discard, nil)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Read: %v, want %q", err, want)
		}
	}
}
