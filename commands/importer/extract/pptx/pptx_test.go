package pptx_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

const ns = `xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" ` +
	`xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"`

func relations(all ...string) string {
	out := extracttest.RelsHead
	for i := 0; i < len(all); i += 3 {
		out += `<Relationship Id="` + all[i] + `" Type="` + extracttest.RelType + all[i+1] + `" Target="` + all[i+2] + `"/>`
	}
	return out + `</Relationships>`
}

// pptx returns a presentation with these slides.
func pptx(t testing.TB, parts map[string]string, slides ...string) []byte {
	all := map[string]string{"_rels/.rels": relations("r", "officeDocument", "ppt/presentation.xml")}
	ids, rels := "", []string{}
	for i, s := range slides {
		id := fmt.Sprintf("s%d", i)
		ids += fmt.Sprintf(`<p:sldId id="%d" r:id="%s"/>`, 256+i, id)
		rels = append(rels, id, "slide", fmt.Sprintf("slides/slide%d.xml", i))
		all[fmt.Sprintf("ppt/slides/slide%d.xml", i)] = `<p:sld ` + ns + `><p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>` + s + `</p:spTree></p:cSld></p:sld>`
	}
	all["ppt/presentation.xml"] = `<p:presentation ` + ns + `><p:sldIdLst>` + ids + `</p:sldIdLst></p:presentation>`
	all["ppt/_rels/presentation.xml.rels"] = relations(rels...)
	for name, text := range parts {
		all[name] = text
	}
	return extracttest.Archive(t, all)
}

func read(t testing.TB, parts map[string]string, slides ...string) ([]extract.Section, extract.Info) {
	t.Helper()
	got, info, err := extracttest.Read(t, "a.pptx", pptx(t, parts, slides...))
	if err != nil {
		t.Fatal(err)
	}
	return got, info
}

// shape is a shape with paragraphs, at a position; "ph" is the placeholder it fills.
func shape(ph string, x, y, width, height int, paragraphs string) string {
	place := ""
	if width > 0 {
		place = fmt.Sprintf(`<p:spPr><a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm></p:spPr>`, x, y, width, height)
	}
	return `<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr>` + place + `<p:txBody><a:bodyPr/>` + paragraphs + `</p:txBody></p:sp>`
}

func para(properties, text string) string {
	return `<a:p><a:pPr` + properties + `</a:pPr><a:r><a:t>` + text + `</a:t></a:r></a:p>`
}

func text(s string) string { return para(">", s) }

const title, body = `<p:ph type="title"/>`, `<p:ph idx="1"/>`

func TestSlidesAreSectionsAndPages(t *testing.T) {
	got, info := read(t, map[string]string{
		"ppt/slides/_rels/slide0.xml.rels":  relations("n", "notesSlide", "../notesSlides/n.xml"),
		"ppt/notesSlides/n.xml":             `<p:notes ` + ns + `><p:cSld><p:spTree>` + shape(`<p:ph type="sldImg"/>`, 0, 0, 0, 0, "") + shape(`<p:ph type="body" idx="1"/>`, 0, 0, 0, 0, text("Thank the team.")+text("Smile.")) + shape(`<p:ph type="sldNum"/>`, 0, 0, 0, 0, text("1")) + `</p:spTree></p:cSld></p:notes>`,
		"docProps/core.xml":                 `<cp:coreProperties xmlns:cp="cp" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>PowerPoint Presentation</dc:title></cp:coreProperties>`,
		"ppt/slides/_rels/slide1.xml.rels":  relations("l", "slideLayout", "../slideLayouts/l.xml"),
		"ppt/slideLayouts/l.xml":            `<p:sldLayout ` + ns + `><p:cSld><p:spTree>` + shape(`<p:ph type="body" idx="7"/>`, 0, 900, 100, 100, text("Click to edit")) + `</p:spTree></p:cSld></p:sldLayout>`,
		"ppt/slideLayouts/_rels/l.xml.rels": relations("m", "slideMaster", "../slideMasters/m.xml"),
		"ppt/slideMasters/m.xml":            `<p:sldMaster ` + ns + `><p:cSld><p:spTree>` + shape(`<p:ph type="body" idx="1"/>`, 0, 500, 100, 100, "") + `</p:spTree></p:cSld></p:sldMaster>`,
		"ppt/slideMasters/_rels/m.xml.rels": relations("l", "slideLayout", "../slideLayouts/l.xml"),
	},
		shape(body, 0, 0, 0, 0, text("one")+para(` lvl="1">`, "below")+para(`><a:buNone/>`, "plain")+para(`><a:buAutoNum type="arabicPeriod" startAt="3"/>`, "third")+para(`><a:buAutoNum type="arabicPeriod" startAt="3"/>`, "next"))+shape(title, 0, 0, 0, 0, text("First")+text("slide"))+shape(`<p:ph type="ftr"/>`, 0, 0, 0, 0, text("Acme")),
		shape("", 0, 950, 10, 10, text("last"))+shape(`<p:ph type="body" idx="7"/>`, 0, 0, 0, 0, text("middle"))+shape("", 0, 100, 10, 10, text("top")+`<a:p><a:r><a:t>a</a:t></a:r><a:br/><a:r><a:t>10</a:t></a:r><a:fld type="slidenum"><a:t>7</a:t></a:fld><a:r><a:rPr baseline="30000"/><a:t>2</a:t></a:r></a:p>`))
	want := []extract.Section{
		{Index: 0, Level: 1, Title: "First slide", Path: []string{"First slide"}, StartPage: 1, EndPage: 1, Text: "- one\n  - below\n\nplain\n\n3. third\n4. next\n\nNotes: Thank the team.\n\nSmile."},
		{Index: 1, Level: 1, Title: "Slide 2", Path: []string{"Slide 2"}, StartPage: 2, EndPage: 2, Text: "top\n\na\n10²\n\n- middle\n\nlast"},
	}
	if !reflect.DeepEqual(got, want) || info.Pages != 2 || info.Title != "First slide" || info.MediaType != extract.PowerPoint {
		t.Errorf("info = %+v\n got %+v\nwant %+v", info, got, want)
	}
}

func TestShapesInReadingOrder(t *testing.T) {
	for name, c := range map[string]struct{ shapes, want string }{
		"columns":        {shape("", 500, 100, 400, 300, text("right 1")) + shape("", 500, 420, 400, 300, text("right 2")) + shape("", 0, 100, 400, 600, text("left")) + shape("", 0, 0, 900, 50, text("above")), "above left right 1 right 2"},
		"rows":           {shape("", 500, 0, 100, 100, text("b")) + shape("", 0, 0, 100, 100, text("a")) + shape("", 500, 200, 100, 100, text("d")) + shape("", 0, 200, 100, 100, text("c")), "a b c d"},
		"small overlaps": {shape("", 0, 98, 100, 100, text("below")) + shape("", 0, 0, 100, 100, text("above")), "above below"},
		"groups":         {`<p:grpSp><p:grpSpPr><a:xfrm><a:off x="0" y="1000"/><a:ext cx="100" cy="100"/><a:chOff x="0" y="0"/><a:chExt cx="1000" cy="1000"/></a:xfrm></p:grpSpPr>` + shape("", 0, 600, 1000, 300, text("inner 2")) + shape("", 0, 0, 1000, 300, text("inner 1")) + `</p:grpSp>` + shape("", 0, 500, 100, 100, text("outer")), "outer inner 1 inner 2"},
		"no position":    {shape("", 0, 500, 100, 100, text("a")) + shape("", 0, 0, 0, 0, text("b")) + shape("", 0, 700, 100, 100, text("c")), "a b c"},
	} {
		got, _ := read(t, nil, c.shapes)
		if len(got) != 1 || strings.Join(strings.Fields(got[0].Text), " ") != c.want {
			t.Errorf("%s: got %+v, want %q", name, got, c.want)
		}
	}
}

func TestTablesChartsAndDiagrams(t *testing.T) {
	cell := func(properties, text string) string {
		return `<a:tc` + properties + `><a:txBody><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p></a:txBody></a:tc>`
	}
	frame := func(inner string) string {
		return `<p:graphicFrame><p:nvGraphicFramePr/><a:graphic><a:graphicData>` + inner + `</a:graphicData></a:graphic></p:graphicFrame>`
	}
	rich := func(s string) string { return `<c:rich><a:p><a:r><a:t>` + s + `</a:t></a:r></a:p></c:rich>` }
	got, _ := read(t, map[string]string{
		"ppt/slides/_rels/slide0.xml.rels": relations("c", "chart", "../charts/c.xml", "d", "diagramData", "../diagrams/d.xml", "x", "chart", "http://example.org/x.xml"),
		"ppt/charts/c.xml": `<c:chartSpace ` + ns + `><c:chart><c:title><c:tx>` + rich("Sales") + `</c:tx></c:title><c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt></c:strCache></c:strRef></c:tx>` +
			`<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>East</c:v></c:pt><c:pt idx="1"><c:v>West</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache><c:pt idx="1"><c:v>4</c:v></c:pt><c:pt idx="99999999"><c:v>9</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:chart></c:chartSpace>`,
		"ppt/diagrams/d.xml": `<dgm:dataModel ` + ns + `><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Pl</a:t></a:r><a:r><a:t>an</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt type="pres"/><dgm:pt><dgm:t><a:p><a:r><a:t>Do</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>`,
	}, shape(`<p:ph type="ctrTitle"/>`, 0, 0, 0, 0, text("T"))+
		frame(`<a:tbl><a:tr>`+cell(` gridSpan="2"`, "wide")+cell(` hMerge="1"`, "")+cell("", "c")+`</a:tr><a:tr>`+cell("", "1|1")+cell("", "2")+cell("", "3")+`</a:tr></a:tbl>`)+
		frame(`<c:chart r:id="c"/>`)+frame(`<c:chart r:id="x"/>`)+frame(`<dgm:relIds r:dm="d"/>`)+
		`<p:pic><p:nvPicPr><p:cNvPr descr="A tall tree"/></p:nvPicPr></p:pic>`+
		`<mc:AlternateContent><mc:Choice>`+shape("", 0, 0, 0, 0, `<a:p><mc:AlternateContent><mc:Choice><a14:m><m:oMath><m:r><m:t>x≥1</m:t></m:r></m:oMath></a14:m></mc:Choice></mc:AlternateContent></a:p>`)+`</mc:Choice><mc:Fallback>`+shape("", 0, 0, 0, 0, text("again"))+`</mc:Fallback></mc:AlternateContent>`)
	want := "| wide |  | c |\n| --- | --- | --- |\n| 1\\|1 | 2 | 3 |\n\nSales\n\n|  | East | West |\n| --- | --- | --- |\n| Q1 |  | 4 |\n\n- Plan\n- Do\n\n[Image: A tall tree]\n\n$x\\geq 1$"
	if len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v\nwant %q", got, want)
	}
}

func TestHostilePresentationsAreRefused(t *testing.T) {
	deep := strings.Repeat("<p:grpSp>", 100_000)
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"other ZIP":    {extracttest.Archive(t, map[string]string{"a.txt": "x"}), "not a PowerPoint presentation"},
		"password":     {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 more"), "old PowerPoint presentation or has a password: save it as .pptx"},
		"depth":        {pptx(t, nil, deep), "nested more than 400 deep"},
		"inflation":    {pptx(t, nil, strings.Repeat("<p:sp/>", 10<<20)), "uncompressed"},
		"entities":     {pptx(t, map[string]string{"ppt/slides/slide0.xml": `<!DOCTYPE a [<!ENTITY a SYSTEM "http://example.org/">]><p:sld ` + ns + `>&a;</p:sld>`}, ""), "document type definition"},
		"long drawing": {pptx(t, nil, strings.Repeat(shape("", 0, 0, 9, 9, text(strings.Repeat("x", 1<<20))), 20)), "16 MiB of text"},
	} {
		_, _, err := extracttest.Read(t, "a.pptx", c.content)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an invalid file (%s)", name, err, c.want)
		}
	}
}

func FuzzPPTX(f *testing.F) {
	f.Add(shape(title, 0, 0, 0, 0, text("T"))+shape(body, 1, 2, 3, 4, para(` lvl="3">`, "x")), shape(body, 5, 5, 5, 5, ""), "")
	f.Add(`<p:grpSp><p:grpSpPr><a:xfrm><a:off x="9" y="-9"/><a:chExt cx="1" cy="0"/></a:xfrm></p:grpSpPr><p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc/></a:tr></a:tbl><c:chart r:id="c"/></a:graphicData></a:graphic></p:graphicFrame></p:grpSp>`, "", `<c:ser><c:val><c:pt idx="3"><c:v>1</c:v></c:pt></c:val></c:ser>`)
	f.Add(`<p:sp><p:txBody><a:p><m:oMath><m:f><m:num/></m:f></m:oMath></a:p></p:txBody></p:sp>`, "<", "<c:title><a:p/></c:title>")
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, slide, layout, chart string) {
		got, info, err := extracttest.ReadBy(t, r, path, "a.pptx", pptx(t, map[string]string{
			"ppt/slides/_rels/slide0.xml.rels": relations("c", "chart", "../charts/c.xml", "l", "slideLayout", "../slideLayouts/l.xml", "n", "notesSlide", "slide0.xml"),
			"ppt/slideLayouts/l.xml":           `<p:sldLayout ` + ns + `><p:cSld><p:spTree>` + layout + `</p:spTree></p:cSld></p:sldLayout>`,
			"ppt/charts/c.xml":                 `<c:chartSpace ` + ns + `>` + chart + `</c:chartSpace>`,
		}, slide))
		extracttest.CheckSections(t, got, info, err)
	})
}
