package pdf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/pdf"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/events/fault"
)

// writePDF writes a PDF and returns its path. Each text becomes one page, line by line.
func writePDF(t testing.TB, pages ...string) string {
	path := filepath.Join(t.TempDir(), "test.pdf")
	var contents []string
	for _, p := range pages {
		contents = append(contents, "BT /F1 10 Tf 72 700 Td ("+p+") Tj ET")
	}
	if err := os.WriteFile(path, extracttest.PDF(contents...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// placed returns a line of 10-point text at the left margin.
func placed(y float32, s string) pdfium.Line {
	return pdfium.Line{Text: s, X: 72, Y: y, Right: 540, Size: 10, Weight: 400}
}

// laidOut runs a Layout on pages. To each page it adds lines of ordinary text, so that
// headings stand out.
func laidOut(t *testing.T, doc pdfium.Document, pages ...[]pdfium.Line) ([]extract.Section, *pdf.Layout) {
	t.Helper()
	var got []extract.Section
	w := extract.NewWriter(extracttest.Collect(&got), 0)
	l := pdf.NewLayout(doc, w)
	for i, lines := range pages {
		if err := l.Add(pdfium.Page{Number: i + 1, Width: 612, Height: 792, Lines: lines}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return got, l
}

// outlineOf formats sections as "level title pages: text".
func outlineOf(sections []extract.Section) (out []string) {
	for _, s := range sections {
		out = append(out, fmt.Sprintf("%d %s %d-%d: %s", s.Level, s.Title, s.StartPage, s.EndPage, s.Text))
	}
	return out
}

func filler(n int) (lines []pdfium.Line) {
	for i := range n {
		lines = append(lines, placed(300+12*float32(i), "words that fill the column of the page from side to side"))
	}
	return lines
}

func TestBookmarksAreHeadings(t *testing.T) {
	doc := pdfium.Document{Pages: 2, Outline: []pdfium.Bookmark{
		{Level: 1, Title: "Introduction", Page: 1, Y: 80}, {Level: 2, Title: "A long name for a part", Page: 1, Y: 200}, {Level: 1, Title: "Unspoken", Page: 2, Y: 290},
	}}
	got, _ := laidOut(t, doc,
		[]pdfium.Line{placed(90, "1. INTRODUCTION"), placed(102, "first"), placed(210, "1.1 A long"), placed(222, "name for a part"), placed(240, "second")},
		[]pdfium.Line{placed(100, "third"), placed(300, "fourth")})
	want := []string{"1 1. INTRODUCTION 1-1: first", "2 1.1 A long name for a part 1-2: second third", "1 Unspoken 2-2: fourth"}
	if out := outlineOf(got); !reflect.DeepEqual(out, want) {
		t.Errorf("sections\n got %q\nwant %q", out, want)
	}
}

func TestRunningHeads(t *testing.T) {
	var pages [][]pdfium.Line
	for n := 1; n <= 70; n++ { // more pages than Layout buffers
		pages = append(pages, append([]pdfium.Line{placed(30, fmt.Sprintf("Annual Report page %d", n))},
			append(filler(3), placed(770, fmt.Sprintf("- %d -", n)))...))
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 70}, pages...)
	var all strings.Builder
	for _, s := range got {
		all.WriteString(s.Text)
	}
	if n := strings.Count(all.String(), "Annual Report"); n != 1 {
		t.Errorf("the running head is %d times in the text, want once", n)
	}
	if strings.Contains(all.String(), "- 7") {
		t.Error("page numbers are in the text")
	}
	if got[len(got)-1].EndPage != 70 {
		t.Errorf("the last page is %d, want 70", got[len(got)-1].EndPage)
	}
}

func TestLinesBecomeParagraphs(t *testing.T) {
	short := placed(148, "short")
	short.Right = 120
	cell := placed(172, "12")
	cell.X, cell.Right = 300, 320
	left := placed(172, "item")
	left.Right = 110
	got, _ := laidOut(t, pdfium.Document{Pages: 2},
		[]pdfium.Line{placed(100, "a well-known divi\u00ad"), placed(112, "sion of a well\u00ad"), placed(124, "known word, 2018–"), placed(136, "19 ﬁnally."), short,
			placed(160, "• a list"), left, cell, placed(300, "# no heading, and the text goes on to the")},
		[]pdfium.Line{placed(100, "next page.")})
	want := "a well-known division of a well-known word, 2018–19 finally. short\n- a list item 12\n\n\\# no heading, and the text goes on to the next page."
	if len(got) != 1 || strings.ReplaceAll(got[0].Text, "list\nitem", "list item") != want {
		t.Errorf("sections\n got %q\nwant %q", outlineOf(got), want)
	}
}

// A wide running head says nothing about the column of the text below it, and a raised mark nothing about the size of its note.
func TestParagraphsBelowRunningHeadsAndMarks(t *testing.T) {
	lines := func(x, y float32, size float32, texts ...string) (out []pdfium.Line) {
		for i, s := range texts {
			l := inFont(typeset(x, y+size*1.2*float32(i), s), size, 400)
			for j := range l.Words {
				l.Words[j].Top = l.Y - size*0.8
			}
			out = append(out, l)
		}
		return out
	}
	var pages [][]pdfium.Line
	for n := range 6 {
		page := []pdfium.Line{inFont(typeset(50, 40, "PROCEEDINGS OF A LARGE SOCIETY OF MANY PEOPLE, VOLUME 7, PAGES 1 TO 17, NUMBER 3"), 8, 400)}
		page = append(page, lines(50, 110, 10, fmt.Sprintf("Page %d begins with a paragraph that", n), "has narrow lines, which are all of", "the same width as their column, and", "nothing but the head above it is as", "wide as the page.")...)
		note := lines(50, 400, 8, "7A note begins with a raised mark.1", "It has a second line of the same it", "and a third.")
		note[0].Size, note[0].Words[0].Top = 5, 390
		pages = append(pages, append(page, note...))
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 6}, pages...)
	text := ""
	for _, s := range got {
		text += s.Text
	}
	for _, want := range []string{"Page 4 begins with a paragraph that has narrow lines, which are all of the same width", "7A note begins with a raised mark.1 It has a second line of the same it and a third."} {
		if !strings.Contains(text, want) {
			t.Errorf("text %q, without %q", text, want)
		}
	}
}

// Chinese and Japanese have no spaces between words; Korean has.
func TestLinesWithoutSpacesBetweenWords(t *testing.T) {
	line := func(y float32, s string) pdfium.Line {
		l := placed(y, s)
		l.Words = []pdfium.Word{{Text: s, X: l.X, Right: l.Right, Top: y - 8, Bottom: y + 2}}
		return l
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 2},
		[]pdfium.Line{line(100, "機械学習を用いて字句的な規則を自動的に学習する方法が、"), line(112, "主流である。文章中に現れる固有表現をタグ"), line(124, "付けする PDF"), line(136, "文書の続きはここで終わらないので次の")},
		[]pdfium.Line{line(100, "ページに続く한국어는"), line(112, "띄어쓰기가 있다")})
	want := "機械学習を用いて字句的な規則を自動的に学習する方法が、主流である。文章中に現れる固有表現をタグ付けする PDF 文書の続きはここで終わらないので次の\n\nページに続く한국어는 띄어쓰기가 있다"
	if len(got) != 1 || got[0].Text != want {
		t.Errorf("sections %q, want %q", outlineOf(got), want)
	}
}

// Entries of a table of contents stay lines, whether or not they have a row of dots.
func TestEntriesOfContentsStayApart(t *testing.T) {
	line := func(y float32, s string) pdfium.Line {
		l := placed(y, s)
		l.Right = 540
		return l
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, append([]pdfium.Line{
		line(100, "6 Transactions 8"), line(112, "6.1 Overview . . . . . . . . . . 8"), line(124, "6.2 The Object . . . . . . . . . 9"), line(136, "7 Consensus 16"), line(148, "7.1 Diagrams . . . . . . . . . . 16")}, filler(3)...))
	want := "6 Transactions 8\n6.1 Overview . . . . . . . . . . 8\n6.2 The Object . . . . . . . . . 9\n7 Consensus 16\n7.1 Diagrams . . . . . . . . . . 16"
	if len(got) != 1 || !strings.HasPrefix(got[0].Text, want) {
		t.Errorf("sections %q, want %q", outlineOf(got), want)
	}
}

// A page whose text is turned, such as a wide table, is laid out like one that is upright.
func TestTurnedPagesAreLaidOutUpright(t *testing.T) {
	text := func() []pdfium.Line {
		return append([]pdfium.Line{inFont(typeset(50, 80, "A heading"), 16, 700)}, append(prose(100, 6), typesetPage(`
Region            2023     2024
North            1,204      998
South               17  120,000
West                 5        6
`)...)...)
	}
	want, _ := laidOut(t, pdfium.Document{Pages: 1}, text())
	for direction, point := range map[pdfium.Direction]func(x, y float32) (float32, float32){
		pdfium.Upwards:   func(x, y float32) (float32, float32) { return y, 792 - x },
		pdfium.Downwards: func(x, y float32) (float32, float32) { return 612 - y, x },
		pdfium.Leftwards: func(x, y float32) (float32, float32) { return 612 - x, 792 - y },
	} {
		lines := text()
		for i := range lines {
			l := &lines[i]
			l.Direction, l.Turned = direction, true
			l.X, l.Y = point(l.X, l.Y)
			for j := range l.Words {
				w := &l.Words[j]
				x0, y0 := point(w.X, w.Top)
				x1, y1 := point(w.Right, w.Bottom)
				w.X, w.Right, w.Top, w.Bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
			}
		}
		if got, _ := laidOut(t, pdfium.Document{Pages: 1}, lines); !reflect.DeepEqual(outlineOf(got), outlineOf(want)) || !strings.Contains(want[len(want)-1].Text, "| North | 1,204 |") {
			t.Errorf("direction %v:\n%q, want\n%q", direction, outlineOf(got), outlineOf(want))
		}
	}
}

// The lines of a text with wide spacing are paragraphs, separated by indents, and those of a table of
// contents are not.
func TestWideSpacing(t *testing.T) {
	const full = "Words of ordinary text that fill the column from one side to the other one, and"
	var lines, contents []pdfium.Line
	for i := range 8 {
		lines = append(lines, typeset(50, 100+28*float32(i), "words"+full[5:]))
		contents = append(contents, typeset(50, 100+28*float32(i), fmt.Sprintf("%d Chapter %s 17", i, letters(i%3))))
	}
	lines[3] = typeset(50, lines[3].Y, "the end of it.")
	lines[4] = typeset(80, lines[4].Y, full[:70])
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, lines)
	if text := got[0].Text; strings.Count(text, "\n") != 1 || !strings.Contains(text, "it.\nWords") {
		t.Errorf("text = %q", text)
	}
	if got, _ := laidOut(t, pdfium.Document{Pages: 1}, contents); strings.Count(got[0].Text, "\n") < 7 {
		t.Errorf("contents = %q", got[0].Text)
	}
}

// A narrow block of text below a heading, with wide lines above it, is a paragraph.
func TestBlocksBelowHeadings(t *testing.T) {
	lines := append(prose(100, 3), inFont(typeset(80, 160, "Abstract"), 16, 700))
	for i := range 6 {
		lines = append(lines, inFont(typeset(70, 180+12*float32(i), "A narrow block of text that goes on and"), 10, 400))
	}
	lines = append(lines, inFont(typeset(50, 280, "Introduction"), 16, 700))
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, append(lines, prose(300, 12)...))
	if len(got) != 3 || got[1].Title != "Abstract" || strings.Contains(got[1].Text, "\n") {
		t.Errorf("sections %q", outlineOf(got))
	}
}

// Indexes and exponents belong to the line that they are beside.
func TestIndexesStayInTheirLine(t *testing.T) {
	page := append(prose(100, 8),
		inFont(typeset(50, 196, "each passage is a sequence of tokens w"), 10, 400),
		inFont(typeset(240, 190, "(i)"), 7, 400), inFont(typeset(240, 197.5, "1"), 7, 400),
		inFont(typeset(246, 196, ", and of others that fill the column to the"), 10, 400))
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, append(page, prose(208, 4)...))
	if !strings.Contains(got[0].Text, "and each passage is a sequence of tokens w(i) 1, and of others that fill the column to the Words") {
		t.Errorf("text = %q", got[0].Text)
	}
}

func TestNotesFollowPage(t *testing.T) {
	var got []extract.Section
	w := extract.NewWriter(extracttest.Collect(&got), 0)
	l := pdf.NewLayout(pdfium.Document{Pages: 1}, w)
	l.Add(pdfium.Page{Number: 1, Height: 792, Lines: []pdfium.Line{placed(100, "Name: Ada")}, Notes: []string{"Name: Ada", "Born: 1815"}})
	l.Close()
	w.Close()
	if len(got) != 1 || got[0].Text != "Name: Ada\n\nBorn: 1815" {
		t.Errorf("sections = %q", outlineOf(got))
	}
}

func TestGeneratedTitlesAreIgnored(t *testing.T) {
	for title, want := range map[string]string{
		"A Study of  Titles":           "A Study of Titles",
		"Microsoft Word - thesis.doc":  "",
		"untitled":                     "",
		"(anonymous)":                  "",
		"report_v2":                    "",
		"draft of the plan.docx":       "",
		"PowerPoint Presentation":      "",
		"Slide 1":                      "",
		`C:\My Documents\a plan`:       "",
		"/home/me/a plan":              "",
		"Input/output of the <a/b>":    "Input/output of the <a/b>",
		"x":                            "",
		"Adobe Photoshop PDF":          "",
		"Scanned Document 12":          "",
		"Image":                        "",
		"Images of the Sea":            "Images of the Sea",
		"Zauberberg":                   "Zauberberg",
		"Printing and the Mind of Man": "Printing and the Mind of Man",
	} {
		l := pdf.NewLayout(pdfium.Document{Title: title}, extract.NewWriter(extracttest.Discard, 0))
		if got := l.Info().Title; got != want {
			t.Errorf("title for metadata %q = %q, want %q", title, got, want)
		}
	}
}

func TestPagesAreListedAsRanges(t *testing.T) {
	l := pdf.NewLayout(pdfium.Document{Pages: 10}, extract.NewWriter(extracttest.Discard, 0))
	for n := 1; n <= 10; n++ {
		page := pdfium.Page{Number: n, Height: 792, Scanned: true}
		if slices.Contains([]int{2, 3, 6, 10}, n) {
			page = pdfium.Page{Number: n, Height: 792, Lines: []pdfium.Line{placed(100, "text")}}
		}
		if err := l.Add(page); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"6 of 10 pages look scanned, and the text in their pictures is missing: 1, 4-5, 7-9."}
	if got := l.Info().Warnings; !slices.Equal(got, want) {
		t.Errorf("warnings = %q, want %q", got, want)
	}
}

func TestWarningOfOnlyPageHasNoNumber(t *testing.T) {
	for want, page := range map[string]pdfium.Page{
		"The only page looks scanned, and the text in its picture is missing.": {Number: 1, Height: 792, Scanned: true},
		"The only page is damaged and could not be read completely.":           {Number: 1, Height: 792, Broken: true},
	} {
		l := pdf.NewLayout(pdfium.Document{Pages: 1}, extract.NewWriter(extracttest.Discard, 0))
		if err := l.Add(page); err != nil {
			t.Fatal(err)
		}
		if got := l.Info().Warnings; !slices.Equal(got, []string{want}) {
			t.Errorf("warnings = %q, want %q", got, want)
		}
	}
}

func TestMissingPDFReaderIsUnavailable(t *testing.T) {
	r := extracttest.LocalReader(t)
	_, err := r.Read(t.Context(), writePDF(t, "text"), "a.pdf", extracttest.Discard, nil)
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("Read = %v, want kind unavailable", err)
	}
}

// Whatever the positions of the lines are, the sections have valid page numbers and page
// breaks.
func FuzzPDFLayout(f *testing.F) {
	f.Add("1 Title\nsome text\nmore", float32(12), float32(20), float32(700), 1)
	f.Add("- x\n\u00ad\n#", float32(-1e30), float32(0), float32(1e30), 3)
	f.Fuzz(func(t *testing.T, lines string, size, step, weight float32, pages int) {
		var got []extract.Section
		w := extract.NewWriter(extracttest.Collect(&got), 0)
		l := pdf.NewLayout(pdfium.Document{Pages: 3, Title: lines, Outline: []pdfium.Bookmark{{Level: pages, Title: lines, Page: 1, Y: step}, {Level: 1, Title: "x", Page: 2}}}, w)
		for n := 1; n <= 1+(pages&3); n++ {
			p := pdfium.Page{Number: n, Width: 612, Height: 792, Notes: []string{lines}}
			for i, s := range strings.Split(lines, "\n") {
				p.Lines = append(p.Lines, pdfium.Line{Text: s, X: size, Y: step * float32(i), Right: weight, Size: size, Weight: weight})
			}
			if err := l.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		if l.Close() != nil || w.Close() != nil {
			t.Fatal("Close of the layout failed")
		}
		for _, s := range got {
			if len(s.Text) > extract.MaxPart || s.EndPage != s.StartPage+len(s.PageBreaks) || s.StartPage < 1 {
				t.Errorf("part %d of section %d: pages %d-%d, breaks %v", s.Part, s.Index, s.StartPage, s.EndPage, s.PageBreaks)
			}
		}
	})
}
