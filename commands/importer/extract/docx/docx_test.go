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
<w:style w:type="paragraph" w:styleId="Sub"><w:name w:val="Subtitle"/><w:basedOn w:val="Ttulo"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="My own"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="Überschrift 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Outline"><w:name w:val="Clause"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style>
<w:style w:type="paragraph" w:styleId="Unseen"><w:name w:val="Unseen"/><w:basedOn w:val="Hider"/></w:style>
<w:style w:type="paragraph" w:styleId="Hider"><w:name w:val="Hider"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Seen"><w:name w:val="Seen"/><w:basedOn w:val="Hider"/><w:rPr><w:vanish w:val="false"/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Open"><w:name w:val="Open"/><w:rPr><w:vanish w:val="0"/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Secret"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>
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
	got, info := readWord(t, extracttest.Styled("Ttulo", "The Report")+extracttest.Styled("Sub", "Intro.")+extracttest.Styled("berschrift1", `</w:t><w:drawing><wp:inline><wp:docPr descr="A red lighthouse"/></wp:inline></w:drawing><w:t>First`)+extracttest.P("One.")+extracttest.Styled("Mine", "Below")+extracttest.P("Two.")+
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
		"joined":          {`<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>one </w:t></w:r></w:p>` + extracttest.P("paragraph"), "one paragraph"},
		"joined at end":   {`<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>last</w:t></w:r></w:p>`, "last"},
		"hidden styles":   {`<w:p><w:r><w:rPr><w:rStyle w:val="Secret"/></w:rPr><w:t>hidden</w:t><w:tab/></w:r><w:r><w:t>shown</w:t></w:r></w:p>` + extracttest.Styled("Unseen", "hidden"), "shown"},
		"shown again":     {extracttest.Styled("Seen", "one") + `<w:p><w:pPr><w:pStyle w:val="Hider"/></w:pPr>` + `<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t xml:space="preserve">two </w:t></w:r><w:r><w:t>hidden</w:t></w:r><w:r><w:rPr><w:rStyle w:val="Open"/></w:rPr><w:t>three</w:t></w:r></w:p>`, "one\n\ntwo three"},
		"ruby":            {run(`<w:ruby><w:rubyPr/><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby><w:t>タワー</w:t>`), "東京(とうきょう)タワー"},
		"symbols":         {run(`<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>`+"\uf061b \uf0e5"+`</w:t>`) + run(`<w:sym w:font="Symbol" w:char="F0D6"/><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Wingdings" w:char="F0FF"/>`), "αβ ∑\n\n√✓"},
		"indices":         {`<w:p><w:r><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>-6</w:t></w:r><w:r><w:t> H</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="subscript"/></w:rPr><w:t>2</w:t></w:r><w:r><w:t>O 1</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>st</w:t></w:r></w:p>`, "10⁻⁶ H2O 1st"},
		"WordArt":         {run(`<w:pict><v:shape alt="A blue banner"><v:textpath string="Big news"/></v:shape></w:pict>`), "[Image: A blue banner]\n\nBig news"},
		"deleted cells":   {`<w:tbl><w:tr><w:tc>` + extracttest.P("a") + `</w:tc><w:tc><w:tcPr><w:cellDel/></w:tcPr>` + extracttest.P("gone") + `</w:tc><w:tc>` + extracttest.P("b") + `</w:tc></w:tr></w:tbl>`, "| a | b |\n| --- | --- |"},
		"formula in text": {`<w:p><w:r><w:t>let</w:t></w:r><m:oMath><m:r><m:t>α≤1</m:t></m:r></m:oMath><m:oMath><m:r><m:t>b</m:t></m:r></m:oMath><w:r><w:t>hold</w:t></w:r></w:p>`, `let $\alpha \leq 1$ $b$ hold`},
		"pictures":        {`<w:p><w:r><w:drawing><wp:inline><wp:docPr descr="A red lighthouse"/></wp:inline></w:drawing></w:r></w:p>`, "[Image: A red lighthouse]"},
	} {
		got, _ := readWord(t, c.body, map[string]string{"word/styles.xml": testStyles, "word/numbering.xml": testNumbering})
		if len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%s\n got %+v\nwant %q", name, got, c.want)
		}
	}
}

// item is a list item of list numID; a level below 0 is left out.
func item(numID, level int, style, text string) string {
	at := ""
	if level >= 0 {
		at = fmt.Sprintf(`<w:ilvl w:val="%d"/>`, level)
	}
	return fmt.Sprintf(`<w:p><w:pPr><w:pStyle w:val="%s"/><w:numPr>%s<w:numId w:val="%d"/></w:numPr></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, style, at, numID, text)
}

func TestWordNumbersAsPrinted(t *testing.T) {
	level := func(i int, format, text, more string) string {
		return fmt.Sprintf(`<w:lvl w:ilvl="%d"><w:start w:val="1"/><w:numFmt w:val="%s"/><w:lvlText w:val="%s"/>%s</w:lvl>`, i, format, text, more)
	}
	one := func(format string) string { // a list of a single format, that starts at 4
		return `<w:abstractNum w:abstractNumId="5">` + strings.Replace(level(0, format, "%1", ""), `start w:val="1"`, `start w:val="21"`, 1) + `</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num>`
	}
	outline := `<w:abstractNum w:abstractNumId="0">` + level(0, "upperRoman", "%1.", "") + level(1, "decimal", "%1.%2", `<w:isLgl/><w:pStyle w:val="Clause"/>`) + level(2, "lowerLetter", "%1.%2.%3", `<w:isLgl/><w:lvlRestart w:val="1"/>`) + `</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">` + level(0, "decimal", "Part %1:", "") + `</w:lvlOverride></w:num>`
	for name, c := range map[string]struct{ numbering, body, want string }{
		"override of the start":  {outline, item(1, 0, "", "a") + item(2, 0, "", "b") + item(2, 0, "", "c") + item(1, 0, "", "d"), "I. a\nVII. b\nVIII. c\nIX. d"},
		"override of the format": {outline, item(1, 0, "", "a") + item(3, 0, "", "b"), "I. a\nPart 2: b"},
		"legal numbers":          {outline, item(1, 0, "", "a") + item(1, 1, "", "b") + item(1, 2, "", "c"), "I. a\n  1.1 b\n    1.1.1 c"},
		"level of a style":       {outline, item(1, 0, "", "a") + item(1, -1, "Clause", "b"), "I. a\n  1.1 b"},
		"restart after level 1":  {outline, item(1, 0, "", "a") + item(1, 1, "", "b") + item(1, 2, "", "c") + item(1, 1, "", "d") + item(1, 2, "", "e") + item(1, 0, "", "f") + item(1, 1, "", "g") + item(1, 2, "", "h"), "I. a\n  1.1 b\n    1.1.1 c\n  1.2 d\n    1.2.2 e\nII. f\n  2.1 g\n    2.1.1 h"},
		"ordinal":                {one("ordinal"), item(1, 0, "", "a") + item(1, 0, "", "b"), "21st a\n22nd b"},
		"letters twice":          {one("upperLetter"), strings.Repeat(item(1, 0, "", "x"), 6), "U x\nV x\nW x\nX x\nY x\nZ x"},
		"circles":                {one("decimalEnclosedCircle"), item(1, 0, "", "a"), "21 a"},
		"Chinese":                {one("chineseCounting"), item(1, 0, "", "a"), "二十一 a"},
		"full width":             {one("decimalFullWidth"), item(1, 0, "", "a"), "２１ a"},
		"a word, no number":      {strings.Replace(one("none"), `"%1"`, `"Note:"`, 1), item(1, 0, "", "a"), "Note: a"},
		"neither":                {strings.Replace(one("none"), `"%1"`, `"%1."`, 1), item(1, 0, "", "a"), "a"},
		"Hebrew":                 {one("hebrew1"), item(1, 0, "", "a"), "כא a"},
		"Abjad":                  {one("arabicAbjad"), item(1, 0, "", "a"), "ش a"},
		"Hangul":                 {one("ganada"), item(1, 0, "", "a"), "사사 a"},
	} {
		got, _ := readWord(t, c.body, map[string]string{"word/numbering.xml": `<w:numbering ` + extracttest.WordNS + `>` + c.numbering + `</w:numbering>`})
		if len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%s\n got %+v\nwant %q", name, got, c.want)
		}
	}
}

func TestWordHeadersAndFooters(t *testing.T) {
	section := func(refs string) string { return `<w:sectPr>` + refs + `</w:sectPr>` }
	ref := func(kind, id string) string { return `<w:` + kind + `Reference w:type="default" r:id="` + id + `"/>` }
	part := func(root, body string) string {
		return `<w:` + root + ` ` + extracttest.WordNS + `>` + body + `</w:` + root + `>`
	}
	field := func(instruction string) string {
		return `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> ` + instruction + ` </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>7</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
	}
	parts := map[string]string{
		"word/_rels/document.xml.rels": extracttest.RelsHead + `<Relationship Id="h1" Type="` + extracttest.RelType + `header" Target="header1.xml"/><Relationship Id="h2" Type="` + extracttest.RelType + `header" Target="header2.xml"/>` +
			`<Relationship Id="h3" Type="` + extracttest.RelType + `header" Target="header3.xml"/><Relationship Id="f1" Type="` + extracttest.RelType + `footer" Target="footer1.xml"/><Relationship Id="x" Type="` + extracttest.RelType + `header" TargetMode="External" Target="file:///etc/passwd"/></Relationships>`,
		"word/header1.xml": part("hdr", extracttest.P("Acme letters")),
		"word/header2.xml": part("hdr", extracttest.P("Acme letters")+extracttest.Styled("Heading1", "Appendix of Acme")),
		"word/header3.xml": part("hdr", extracttest.P("never used")),
		"word/footer1.xml": part("ftr", `<w:p><w:r><w:t xml:space="preserve">Page </w:t></w:r>`+field("PAGE")+`</w:p><w:p><w:r><w:t xml:space="preserve">Confidential, </w:t></w:r>`+field(`NUMPAGES \* MERGEFORMAT`)+`<w:r><w:t> pages</w:t></w:r></w:p>`),
	}
	body := extracttest.Styled("Heading1", "First") + extracttest.P("one") + `<w:p><w:pPr>` + section(ref("header", "h1")+ref("footer", "f1")+ref("header", "x")) + `</w:pPr></w:p>` +
		extracttest.P("two") + `<w:p><w:pPr>` + section(ref("header", "h2")) + `</w:pPr><w:r><w:t>three</w:t></w:r></w:p>` + extracttest.P("four") + section("")
	got, _ := readWord(t, body, parts)
	want := []extract.Section{{Level: 1, Title: "First", Path: []string{"First"}, Text: "Acme letters\n\none\n\nConfidential,  pages\n\nAppendix of Acme\n\ntwo\n\nthree\n\nfour"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	got, _ = readWord(t, section(ref("header", "h1")), parts)
	if len(got) != 1 || got[0].Text != "Acme letters" {
		t.Errorf("a document of only a header: %+v", got)
	}
	var long strings.Builder // the reference is far behind, at each offset from the ends of what scan reads
	for long.Len() < 64<<10-1<<10 {
		long.WriteString(extracttest.P("text of the document"))
	}
	for _, more := range []int{0, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200} {
		got, _ = readWord(t, long.String()+`<!--`+strings.Repeat("x", more)+`-->`+section(ref("header", "h1")), parts)
		if len(got) == 0 || !strings.HasPrefix(got[0].Text, "Acme letters\n\ntext") {
			t.Errorf("the header of a long document is missing at offset %d", more)
		}
	}
}

func TestWordNotesFollowTable(t *testing.T) {
	notes := `<w:footnotes ` + extracttest.WordNS + `><w:footnote w:id="1">` + extracttest.P("the note") + `</w:footnote></w:footnotes>`
	got, _ := readWord(t, `<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t><w:footnoteReference w:id="1"/></w:r></w:p></w:tc><w:tc>`+extracttest.P("b")+`</w:tc></w:tr></w:tbl>`+extracttest.P("next"), map[string]string{"word/footnotes.xml": notes})
	if want := "| a[^1] | b |\n| --- | --- |\n\n[^1]: the note\n\nnext"; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v\nwant %q", got, want)
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
			row(cell(`<w:vMerge/>`, extracttest.P("covered")), cell("", extracttest.P("3")+extracttest.P("4")), cell("", "<w:p/>")) + `</w:tbl>` + extracttest.P("After"),
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
	want := "one[^1] two[^2]\n\n[^1]: the footnote again\n\n[^2]: the endnote again\n\nnext"
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
		"more than 16 MiB without an XML tag (part word/document.xml)":                                                                     extracttest.P("a") + strings.Repeat(" ", 20<<20) + extracttest.P("b"),
		"more than 64 MiB uncompressed, and more than 256 times the size of the file (--max-inflation, reached in part word/document.xml)": strings.Repeat(extracttest.P(strings.Repeat("x", 1<<20)), 65),
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
