package xlsx_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/events/fault"
)

const ns = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`

// xlsx returns a workbook with the sheets A, B, …, each with these rows.
func xlsx(t testing.TB, parts map[string]string, sheets ...string) []byte {
	all := map[string]string{"_rels/.rels": extracttest.RelsHead + `<Relationship Id="r" Type="` + extracttest.RelType + `officeDocument" Target="xl/workbook.xml"/></Relationships>`}
	list, rels := "", ""
	for i, rows := range sheets {
		name := string(rune('A' + i))
		state := ""
		if strings.HasPrefix(rows, "hidden") {
			state, rows = ` state="hidden"`, strings.TrimPrefix(rows, "hidden")
		}
		list += `<sheet name="` + name + `" sheetId="1" r:id="s` + name + `"` + state + `/>`
		rels += `<Relationship Id="s` + name + `" Type="` + extracttest.RelType + `worksheet" Target="worksheets/` + name + `.xml"/>`
		all["xl/worksheets/"+name+".xml"] = `<worksheet ` + ns + `><sheetData>` + rows + `</sheetData><drawing r:id="d"/></worksheet>`
	}
	all["xl/workbook.xml"] = `<workbook ` + ns + `><sheets>` + list + `</sheets></workbook>`
	all["xl/_rels/workbook.xml.rels"] = extracttest.RelsHead + rels + `<Relationship Id="t" Type="` + extracttest.RelType + `sharedStrings" Target="strings.xml"/></Relationships>`
	for name, text := range parts {
		all[name] = text
	}
	return extracttest.Archive(t, all)
}

func read(t testing.TB, parts map[string]string, sheets ...string) ([]extract.Section, extract.Info) {
	t.Helper()
	got, info, err := extracttest.Read(t, "a.xlsx", xlsx(t, parts, sheets...))
	if err != nil {
		t.Fatal(err)
	}
	return got, info
}

// row is a row of texts from column A on; empty ones are left out.
func row(number int, texts ...string) string {
	cells := ""
	for i, text := range texts {
		if text != "" {
			cells += fmt.Sprintf(`<c r="%c%d" t="inlineStr"><is><t>%s</t></is></c>`, 'A'+i, number, text)
		}
	}
	return fmt.Sprintf(`<row r="%d">%s</row>`, number, cells)
}

func TestSheetsAreSectionsAndPages(t *testing.T) {
	parts := map[string]string{
		"xl/strings.xml": `<sst ` + ns + `><si><t>shared</t></si><si><r><t>rich </t></r><r><rPr/><t>text_x000D_</t></r><rPh><t>spoken</t></rPh></si></sst>`,
		"xl/styles.xml":  `<styleSheet ` + ns + `><numFmts><numFmt numFmtId="164" formatCode="0.00&quot; kg&quot;"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
	}
	got, info := read(t, parts,
		row(1, "Price list")+row(2, "of May")+
			`<row r="4"><c r="B4" t="s"><v>0</v></c><c r="C4" t="s"><v>1</v></c><c r="D4" t="s"><v>99</v></c></row>`+
			`<row><c s="1"><v>45356</v></c><c s="2"><v>2.5</v></c><c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c t="str"><f>A1&amp;"x"</f><v>result</v></c><c><f>SUM(A1)</f></c><c t="d"><v>2024-03-05T00:00:00</v></c><c r="AB5"><v>7</v></c></row>`,
		"hidden"+row(1, "secret"),
		row(1, "one|two", "b")+row(2, "only one"))
	want := []extract.Section{
		{Index: 0, Level: 1, Title: "A", Path: []string{"A"}, StartPage: 1, EndPage: 1, Text: "Price list\nof May\n\n|  | shared | rich text |  |  |  |  |\n| --- | --- | --- | --- | --- | --- | --- |\n| 2024-03-05 | 2.50 kg | TRUE | #N/A | result | 2024-03-05 | 7 |"},
		{Index: 1, Level: 1, Title: "C", Path: []string{"C"}, StartPage: 2, EndPage: 2, Text: "| one\\|two | b |\n| --- | --- |\n| only one |"},
	}
	if !reflect.DeepEqual(got, want) || info.Pages != 2 || info.Title != "a" || info.MediaType != extract.Excel {
		t.Errorf("info = %+v\n got %+v\nwant %+v", info, got, want)
	}
	if w := strings.Join(info.Warnings, "\n"); !strings.Contains(w, "Hidden sheets were not read: B.") || !strings.Contains(w, "The result of 1 formula is missing") {
		t.Errorf("warnings: %q", w)
	}
}

func TestFormulasWithoutResultsAreCounted(t *testing.T) {
	got, info := read(t, nil, `<row><c><f>1+1</f><v></v></c><c><f>1+2</f><v/></c><c><f>1+3</f></c><c t="str"><f>""</f><v></v></c><c><f>1+4</f><v>5</v></c></row>`)
	if w := strings.Join(info.Warnings, "\n"); len(got) != 1 || got[0].Text != "5" || !strings.Contains(w, "The results of 3 formulas are missing") {
		t.Errorf("got %+v, warnings %q; the results of three formulas are missing, one is an empty text", got, w)
	}
}

// A number of 17 digits may be that of an account.
func TestWholeNumbersHaveAllDigits(t *testing.T) {
	got, _ := read(t, nil, `<row><c><v>12345678901234567</v></c></row><row><c><v>1.2345678901234568E16</v></c></row><row><c><v>007</v></c></row><row><c><v>6.02214076E23</v></c></row>`)
	if want := "12345678901234567\n12345678901234568\n7\n6.02214076E+23"; len(got) != 1 || got[0].Text != want {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestHeaderIsRepeated(t *testing.T) {
	rows := row(1, "Article", "Price")
	for i := range 1000 {
		rows += row(i+2, fmt.Sprintf("Article number %d", i), "a price")
	}
	got, _ := read(t, nil, rows)
	whole := ""
	for _, s := range got {
		whole += s.Text
	}
	headers := strings.Count(whole, "| Article | Price |\n| --- | --- |\n| Article number ")
	if headers < 4 || headers > 12 || strings.Count(whole, "| Article number ") != 1000 {
		t.Errorf("%d headers and %d rows", headers, strings.Count(whole, "| Article number "))
	}
}

func TestDrawingsOfSheets(t *testing.T) {
	drawingNS := `xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	rel := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="` + extracttest.RelType + kind + `" Target="` + target + `"/>`
	}
	chart := `<c:chartSpace ` + drawingNS + `><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title><c:ser><c:tx><c:v>Q1</c:v></c:tx><c:cat><c:pt idx="0"><c:v>East</c:v></c:pt></c:cat><c:val><c:pt idx="0"><c:v>4</c:v></c:pt></c:val></c:ser></c:chartSpace>`
	frame := `<xdr:twoCellAnchor><xdr:graphicFrame><a:graphic><a:graphicData><c:chart r:id="c"/></a:graphicData></a:graphic></xdr:graphicFrame></xdr:twoCellAnchor>`
	parts := map[string]string{
		"xl/worksheets/_rels/A.xml.rels": extracttest.RelsHead + rel("d", "drawing", "../drawings/1.xml") + `</Relationships>`,
		"xl/drawings/1.xml":              `<xdr:wsDr ` + drawingNS + `><xdr:twoCellAnchor><xdr:sp><xdr:txBody><a:p><a:r><a:t>boxed</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:twoCellAnchor>` + frame + `</xdr:wsDr>`,
		"xl/drawings/_rels/1.xml.rels":   extracttest.RelsHead + rel("c", "chart", "../charts/1.xml") + `</Relationships>`,
		"xl/charts/1.xml":                chart,
		"xl/worksheets/B.xml":            `<chartsheet ` + ns + `><drawing r:id="d"/></chartsheet>`,
		"xl/worksheets/_rels/B.xml.rels": extracttest.RelsHead + rel("d", "drawing", "../drawings/2.xml") + `</Relationships>`,
		"xl/drawings/2.xml":              `<xdr:wsDr ` + drawingNS + `>` + frame + `</xdr:wsDr>`,
		"xl/drawings/_rels/2.xml.rels":   extracttest.RelsHead + rel("c", "chart", "../charts/2.xml") + `</Relationships>`,
		"xl/charts/2.xml":                chart,
	}
	got, _ := read(t, parts, row(1, "cell"), "")
	if len(got) != 2 || got[0].Text != "cell\n\nboxed\n\nSales\n\nQ1" || got[1].Text != "Sales\n\n|  | East |\n| --- | --- |\n| Q1 | 4 |" {
		t.Errorf("got %+v", got)
	}
}

func TestHostileWorkbooksAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"other ZIP": {extracttest.Archive(t, map[string]string{"a.txt": "x"}), "not an Excel workbook"},
		"password":  {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 more"), "old Excel workbook or has a password: save it as .xlsx"},
		"depth":     {xlsx(t, nil, strings.Repeat("<row>", 100_000)), "nested more than 400 deep"},
		"inflation": {xlsx(t, nil, strings.Repeat("<row/>", 12<<20)), "uncompressed"},
		"entities":  {xlsx(t, map[string]string{"xl/strings.xml": `<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><sst ` + ns + `><si><t>&b;</t></si></sst>`}, row(1, "a")), "document type definition"},
		"sheets":    {xlsx(t, map[string]string{"xl/workbook.xml": `<workbook ` + ns + `><sheets>` + strings.Repeat(`<sheet r:id="sA"/>`, 10_001) + `</sheets></workbook>`}, ""), "more than 10000 sheets"},
		"cut off":   {xlsx(t, map[string]string{"xl/worksheets/A.xml": `<worksheet ` + ns + `><sheetData><row><c>`}, ""), "damaged"},
	} {
		_, _, err := extracttest.Read(t, "a.xlsx", c.content)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an invalid file (%s)", name, err, c.want)
		}
	}
}

// A cell refers to a text of any length by a few bytes.
func TestRepeatedTextsAreBounded(t *testing.T) {
	cells := strings.Repeat(`<c t="s"><v>0</v></c>`, 16_000)
	peak := extracttest.PeakHeap(func() {
		got, info := read(t, map[string]string{"xl/strings.xml": `<sst ` + ns + `><si><t>` + strings.Repeat("long text ", 3_000) + `</t></si></sst>`}, strings.Repeat(`<row>`+cells+`</row>`, 20))
		size := 0
		for _, s := range got {
			size += len(s.Text)
		}
		if most := int(extract.Allowance(info.XML)); size > most || len(info.Warnings) < 2 {
			t.Errorf("%d bytes of text, at most %d are allowed; warnings %q", size, most, info.Warnings)
		}
	})
	if peak > 64<<20 {
		t.Errorf("the heap grew by %d MiB", peak>>20)
	}
}

func TestLargeWorkbookMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a large workbook")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var texts, rows strings.Builder
	for i := range 300_000 { // different texts, as of names and notes
		fmt.Fprintf(&texts, "<si><t>a text of medium length %x %x %x</t></si>", random.Uint64(), random.Uint64(), random.Uint64())
		if i%10 == 0 {
			rows.WriteString(`<row>`)
			for k := range 10 {
				fmt.Fprintf(&rows, `<c t="s"><v>%d</v></c>`, i+k)
			}
			rows.WriteString(`</row>`)
		}
	}
	content := xlsx(t, map[string]string{"xl/strings.xml": `<sst ` + ns + `>` + texts.String() + `</sst>`}, rows.String())
	texts.Reset()
	rows.Reset()
	path := filepath.Join(t.TempDir(), "a.xlsx")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	content = nil
	read := 0
	peak := extracttest.PeakHeap(func() {
		_, err := extracttest.LocalReader(t).Read(t.Context(), path, "a.xlsx", func(s extract.Section) error { read += len(s.Text); return nil }, nil)
		if err != nil {
			t.Error(err)
		}
	})
	t.Logf("%d bytes of text, the heap grew by %d MiB", read, peak>>20)
	if read < 20_000_000 || peak > 64<<20 {
		t.Errorf("%d bytes of text, the heap grew by %d MiB", read, peak>>20)
	}
}

func FuzzXLSX(f *testing.F) {
	f.Add(row(1, "a", "b")+row(3, "c"), `<si><t>x</t></si>`, `0.0;"x"@`)
	f.Add(`<row r="5"><c r="ZZZ9" t="s" s="0"><v>0</v></c><c s="0"><v>1e9</v></c></row><row r="2"/>`, `<si><r><t>_x0041_</t></r></si>`, "[h]:mm;yyyy")
	f.Add(`<row><c t="d"><v>T</v></c><c t="inlineStr"><is/></c><c><f/></c></row>`, "<", "")
	r, path := extracttest.FuzzReader(f)
	f.Fuzz(func(t *testing.T, rows, texts, format string) {
		format = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;").Replace(format)
		got, info, err := extracttest.ReadBy(t, r, path, "a.xlsx", xlsx(t, map[string]string{
			"xl/strings.xml": `<sst ` + ns + `>` + texts + `</sst>`,
			"xl/styles.xml":  `<styleSheet ` + ns + `><numFmts><numFmt numFmtId="164" formatCode="` + format + `"/></numFmts><cellXfs><xf numFmtId="164"/></cellXfs></styleSheet>`,
		}, rows))
		extracttest.CheckSections(t, got, info, err)
	})
}
