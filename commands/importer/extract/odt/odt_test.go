package odt_test

import (
	"reflect"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

const ns = `xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" ` +
	`xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"`

const styles = `<office:automatic-styles>
<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>
<style:style style:name="P2" style:family="paragraph"><style:paragraph-properties fo:break-before="page"/></style:style>
<style:style style:name="P3" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>
<style:style style:name="P4" style:family="paragraph" style:master-page-name="Landscape"/>
<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>
<style:style style:name="T2" style:family="text"><style:text-properties style:text-position="super 58%"/></style:style>
<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:display-levels="2"/><text:list-level-style-bullet text:level="3" text:bullet-char="•"/></text:list-style>
</office:automatic-styles>`

func odt(t testing.TB, body string, parts map[string]string) []byte {
	all := map[string]string{
		"mimetype":    "application/vnd.oasis.opendocument.text",
		"content.xml": `<?xml version="1.0"?><office:document-content ` + ns + `>` + styles + `<office:body><office:text>` + body + `</office:text></office:body></office:document-content>`,
	}
	for name, text := range parts {
		all[name] = text
	}
	return extracttest.Archive(t, all)
}

func read(t testing.TB, body string, parts map[string]string) ([]extract.Section, extract.Info) {
	t.Helper()
	got, info, err := extracttest.Read(t, "a.odt", odt(t, body, parts))
	if err != nil {
		t.Fatal(err)
	}
	return got, info
}

func p(text string) string { return `<text:p text:style-name="Standard">` + text + `</text:p>` }

func TestTextMatchesDisplay(t *testing.T) {
	item := func(contents string) string { return `<text:list-item>` + contents + `</text:list-item>` }
	list := func(items string) string { return `<text:list text:style-name="L1">` + items + `</text:list>` }
	formula := `<draw:frame><draw:object><math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup><mo>≤</mo><mfrac><mi>a</mi><mi>sin</mi></mfrac></mrow><annotation encoding="StarMath 5.0">x^2</annotation></semantics></math></draw:object></draw:frame>`
	for name, c := range map[string]struct{ body, want string }{
		"spaces":          {p("a \n  b<text:s text:c=\"2\"/>c<text:tab/>d<text:line-break/> e"), "a b  c\td\ne"},
		"tracked changes": {`<text:tracked-changes><text:changed-region><text:deletion>` + p("gone") + `</text:deletion></text:changed-region></text:tracked-changes>` + p(`kept<text:change text:change-id="a"/> text`), "kept text"},
		"comments":        {p(`a<office:annotation><text:p>comment</text:p></office:annotation>b`), "ab"},
		"hidden":          {p(`a<text:span text:style-name="T1">hidden</text:span>b<text:hidden-text text:string-value="x"/>`) + `<text:section text:display="none">` + p("hidden") + `</text:section>`, "ab"},
		"links and marks": {p(`<text:a xlink:href="http://x">link</text:a> <text:bookmark-start/>mark<text:bookmark-end/><text:sequence>3</text:sequence>`), "link mark3"},
		"indices":         {p(`10<text:span text:style-name="T2">-6</text:span>`), "10⁻⁶"},
		"ruby":            {p(`<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とうきょう</text:ruby-text></text:ruby>`), "東京(とうきょう)"},
		"code":            {p("before") + `<text:p text:style-name="P3">x  :=<text:s/>1</text:p><text:p text:style-name="P3">y</text:p>` + p("after"), "before\n\n```\nx := 1\ny\n```\n\nafter"},
		"lists":           {list(item(p("one")+list(item(p("a"))+item(p("b")+list(item(p("deep")))))) + item(p("two")+p("more"))), "1. one\n  1.a) a\n  1.b) b\n    - deep\n2. two\n  more"},
		"continued list":  {list(item(p("one"))) + p("text") + strings.Replace(list(item(p("two"))), "<text:list ", `<text:list text:continue-numbering="true" `, 1) + list(item(p("new"))), "1. one\n\ntext\n\n2. two\n1. new"},
		"start value":     {list(strings.Replace(item(p("five")), "<text:list-item", `<text:list-item text:start-value="5"`, 1) + item(p("six")) + `<text:list-header>` + p("no number") + `</text:list-header>`), "5. five\n6. six\n  no number"},
		"notes":           {p(`a<text:note><text:note-citation>1</text:note-citation><text:note-body>` + p("note") + p("again") + `</text:note-body></text:note> b`), "a[^1] b\n\n[^1]: note again"},
		"frames":          {p(`a<draw:frame><draw:text-box>` + p("boxed") + `</draw:text-box></draw:frame> b<draw:custom-shape><text:p>shape</text:p></draw:custom-shape>`), "a b\n\nboxed\n\nshape"},
		"pictures":        {p(`a<draw:frame><draw:image xlink:href="http://example.org/x.png"/><svg:desc>A red barn</svg:desc></draw:frame>b`), "a [Image: A red barn] b"},
		"formulas":        {p("let" + formula + " hold"), `let $x^{2}\leq \frac{a}{\sin}$ hold`},
	} {
		got, _ := read(t, c.body, nil)
		if len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%s\n got %+v\nwant %q", name, got, c.want)
		}
	}
}

func TestTables(t *testing.T) {
	cell := func(text string) string { return `<table:table-cell>` + p(text) + `</table:table-cell>` }
	row := func(cells ...string) string {
		return `<table:table-row>` + strings.Join(cells, "") + `</table:table-row>`
	}
	table := func(rows ...string) string {
		return `<table:table><table:table-column table:number-columns-repeated="3"/>` + strings.Join(rows, "") + `</table:table>`
	}
	wide := `<table:table-cell table:number-columns-spanned="2">` + p("wide") + `</table:table-cell>`
	tall := `<table:table-cell table:number-rows-spanned="2">` + p("tall") + `</table:table-cell>`
	covered := `<table:covered-table-cell/>`
	want := "| a | b | c |\n| --- | --- | --- |\n| wide |  | d |\n| tall | e | f |\n|  | g | h |\n| i |"
	for name, body := range map[string]string{
		"covered cells":         table(row(cell("a"), cell("b"), cell("c")), row(wide, covered, cell("d")), row(tall, cell("e"), cell("f")), row(covered, cell("g"), cell("h")), row(cell("i"))),
		"without covered cells": table(row(cell("a"), cell("b"), cell("c")), row(wide, cell("d")), row(tall, cell("e"), cell("f")), row(cell("g"), cell("h")), row(cell("i"))),
	} {
		if got, _ := read(t, body, nil); len(got) != 1 || got[0].Text != want {
			t.Errorf("%s\n got %+v\nwant %q", name, got, want)
		}
	}
	nested := table(row(cell("a"), `<table:table-cell>`+p("b")+table(row(cell("x"), cell("y")))+`</table:table-cell>`))
	if got, _ := read(t, nested, nil); len(got) != 1 || got[0].Text != "| a | b x, y; |\n| --- | --- |" {
		t.Errorf("nested: %+v", got)
	}
	framed := `<table:table><table:table-column/>` + row(cell("a")) + row(cell("b")) + `</table:table>`
	if got, _ := read(t, framed, nil); len(got) != 1 || got[0].Text != "a\n\nb" {
		t.Errorf("one column: %+v", got)
	}
}

func TestSectionsPagesAndHeaders(t *testing.T) {
	parts := map[string]string{
		"styles.xml": `<office:document-styles ` + ns + `><office:styles><text:outline-style><text:outline-level-style text:level="1" style:num-format="1"/><text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style></office:styles><office:master-styles>` +
			`<style:master-page style:name="Standard"><style:header>` + p("Acme letters") + `</style:header><style:footer>` + p("Page <text:page-number>7</text:page-number>") + p("Confidential") + `</style:footer></style:master-page>` +
			`<style:master-page style:name="Landscape"><style:header>` + p("Appendix") + `</style:header></style:master-page></office:master-styles></office:document-styles>`,
		"meta.xml": `<office:document-meta ` + ns + ` xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>Meta title</dc:title></office:meta></office:document-meta>`,
	}
	h := func(level, text string) string {
		return `<text:h text:outline-level="` + level + `">` + text + `</text:h>`
	}
	body := h("1", "First") + p("one") + `<text:soft-page-break/>` + p("tw<text:soft-page-break/>o") + h("2", "Below") + `<text:p text:style-name="P2">four</text:p>` + h("2", "Again") + `<text:p text:style-name="P4">wide</text:p>`
	content := odt(t, body, parts)
	_, info, err := extracttest.Read(t, "a.odt", content)
	if err != nil || info.Pages != 0 || info.Title != "Meta title" {
		t.Errorf("without page breaks: %+v, %v", info, err)
	}
	parts["content.xml"] = `<office:document-content ` + ns + `>` + styles + `<office:body><office:text text:use-soft-page-breaks="true">` + body + `</office:text></office:body></office:document-content>`
	got, info := read(t, "", parts)
	want := []extract.Section{
		{Index: 0, Level: 1, Title: "1 First", Path: []string{"1 First"}, StartPage: 1, EndPage: 3, PageBreaks: []int{19, 21}, Text: "Acme letters\n\none\n\ntwo"},
		{Index: 1, Level: 2, Title: "1.1 Below", Path: []string{"1 First", "1.1 Below"}, StartPage: 3, EndPage: 4, PageBreaks: []int{0}, Text: "four"},
		{Index: 2, Level: 2, Title: "1.2 Again", Path: []string{"1 First", "1.2 Again"}, StartPage: 4, EndPage: 5, PageBreaks: []int{24}, Text: "Confidential\n\nAppendix\n\nwide"},
	}
	if !reflect.DeepEqual(got, want) || info.Pages != 5 {
		t.Errorf("%d pages\n got %+v\nwant %+v", info.Pages, got, want)
	}
}

func TestCharts(t *testing.T) {
	got, _ := read(t, p(`see<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame><draw:frame><draw:object xlink:href="http://example.org/"/></draw:frame>`), map[string]string{
		"Object 1/content.xml": `<office:document-content ` + ns + `><office:body><office:chart><chart:chart><chart:title><text:p>Sales</text:p></chart:title><table:table><table:table-row><table:table-cell/><table:table-cell><text:p>May</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>East</text:p></table:table-cell><table:table-cell><text:p>3</text:p></table:table-cell></table:table-row></table:table></chart:chart></office:chart></office:body></office:document-content>`,
	})
	if want := "see\n\nSales\n\n|  | May |\n| --- | --- |\n| East | 3 |"; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v\nwant %q", got, want)
	}
}

func TestHostileTextsAreRefused(t *testing.T) {
	doc := func(inner string) map[string]string { return map[string]string{"content.xml": inner} }
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"password":    {odt(t, "", map[string]string{"META-INF/manifest.xml": `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>`}), "has a password"},
		"spreadsheet": {odt(t, "", doc(`<office:document-content `+ns+`><office:body><office:spreadsheet/></office:body></office:document-content>`)), "another kind of ZIP archive"},
		"other ZIP":   {extracttest.Archive(t, map[string]string{"a.txt": "x"}), "not an OpenDocument text"},
		"depth":       {odt(t, strings.Repeat("<text:section>", 100_000), nil), "nested more than 400 deep"},
		"entities":    {odt(t, "", doc(`<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><office:document-content `+ns+`><office:body><office:text><text:p>&a;</text:p></office:text></office:body></office:document-content>`)), "document type definition"},
		"cut off":     {odt(t, "", doc(`<office:document-content `+ns+`><office:body><office:text><text:p>cut`)), "damaged"},
		"notes":       {odt(t, "<table:table>"+strings.Repeat("<table:table-row><table:table-cell>"+p("<text:note><text:note-body>"+p(strings.Repeat("x", 1<<20))+"</text:note-body></text:note>")+"</table:table-cell></table:table-row>", 34)+"</table:table>", nil), "of notes in one table"},
		"long line":   {odt(t, p(strings.Repeat(`x<text:s text:c="1000"/>`, 20_000)), nil), "in one paragraph"},
	} {
		_, _, err := extracttest.Read(t, "a.odt", c.content)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an invalid file (%s)", name, err, c.want)
		}
	}
}

func FuzzODT(f *testing.F) {
	f.Add(p("text")+`<text:h text:outline-level="2">Title</text:h><text:list text:style-name="L1"><text:list-item>`+p("x")+`</text:list-item></text:list>`, "")
	f.Add(`<table:table><table:table-row><table:table-cell table:number-columns-spanned="9"><text:p/></table:table-cell></table:table-row></table:table>`, "<style:master-page/>")
	f.Add(p(`<text:note><text:note-body><text:p>a</text:p></text:note-body></text:note><draw:frame><draw:object xlink:href="./"/></draw:frame><text:soft-page-break/>`+"é"), `<text:outline-style><text:outline-level-style text:level="1" style:num-format="I"/></text:outline-style>`)
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, body, shared string) {
		got, info, err := extracttest.ReadBy(t, r, path, "a.odt", odt(t, body, map[string]string{"styles.xml": `<office:document-styles ` + ns + `><office:styles>` + shared + `</office:styles></office:document-styles>`}))
		extracttest.CheckSections(t, got, info, err)
	})
}
