package pdf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/commands/importer/extract/pdf/pdfium"
)

// inFont returns a line in another size and weight. Its words are as high as the size, times 1.25.
func inFont(l pdfium.Line, size, weight float32) pdfium.Line {
	l.Size, l.Weight = size, weight
	for i := range l.Words {
		l.Words[i].Top = l.Words[i].Bottom - size*1.25
	}
	return l
}

// prose returns lines of ordinary text below y.
func prose(y float32, n int) (lines []pdfium.Line) {
	for i := range n {
		lines = append(lines, inFont(typeset(50, y+12*float32(i), "Words of ordinary text that fill the column from one side to the other one, and"), 10, 400))
	}
	return lines
}

func titlesOf(t *testing.T, doc pdfium.Document, pages ...[]pdfium.Line) (titles []string) {
	t.Helper()
	got, _ := laidOut(t, doc, pages...)
	for _, s := range got {
		if s.Level > 0 {
			titles = append(titles, s.Title)
		}
	}
	return titles
}

func TestHeadings(t *testing.T) {
	bold := func(y float32, s string) pdfium.Line { return inFont(typeset(50, y, s), 10, 700) }
	large := func(y float32, s string) pdfium.Line { return inFont(typeset(50, y, s), 16, 700) }
	leadIn := large(100, "A: The answer follows the question and goes on")
	for i := range leadIn.Words[1:] {
		leadIn.Words[i+1].Top = leadIn.Words[i+1].Bottom - 12.5
	}
	ordinary := func(y float32, s string) pdfium.Line { return inFont(typeset(50, y, s), 10, 400) }
	for name, c := range map[string]struct {
		lines []pdfium.Line
		want  []string
	}{
		"question and answer":     {[]pdfium.Line{large(80, "Q: What is the question?"), leadIn, ordinary(112, "with more of the answer.")}, []string{"Q: What is the question?"}},
		"two lines":               {[]pdfium.Line{bold(80, "Where to send this form if you"), bold(92, "fill it in on paper"), ordinary(104, "Send it.")}, []string{"Where to send this form if you fill it in on paper"}},
		"bold start of paragraph": {[]pdfium.Line{bold(80, "Note: this is the beginning of a paragraph that goes on in the"), ordinary(92, "next line, in plain letters.")}, nil},
		"bold sentence":           {[]pdfium.Line{bold(80, "This bold line is a whole sentence that ends here."), ordinary(104, "Text.")}, nil},
		"bold item":               {[]pdfium.Line{bold(80, "• An item with a bold bullet"), ordinary(104, "Text.")}, nil},
		"caption":                 {[]pdfium.Line{bold(80, "Figure 3: The parts of it"), bold(120, "Table 2.1 – Numbers of it"), ordinary(144, "Text.")}, nil},
		"head of a table":         {[]pdfium.Line{bold(80, "Name of it"), inFont(typeset(250, 80, "Number of it"), 10, 700), ordinary(92, "Text.")}, nil},
		"stamp":                   {[]pdfium.Line{large(80, "AH XSL/XML  Fileid: tions/P15/source"), bold(100, "Job No. 1234 of today"), ordinary(124, "Text.")}, nil},
		"names below a title":     {[]pdfium.Line{large(80, "A Title, and More of It"), bold(104, "Ada Lovelace, Charles Babbage, Alan M. Turing"), ordinary(124, "Text.")}, []string{"A Title, and More of It"}},
		"number of a section":     {append(append(prose(60, 3), ordinary(108, "5.1 Search of Parameters")), prose(132, 3)...), []string{"5.1 Search of Parameters"}},
		"numbers of clauses":      {append(append(prose(60, 3), ordinary(108, "5.1 The tenant pays."), ordinary(132, "5.2 Landlords repair"), ordinary(156, "5.3 Others do not")), prose(180, 3)...), nil},
		"number in a paragraph":   {append(append(prose(60, 3), ordinary(96, "3.5 Million of them")), prose(108, 3)...), nil},
		"name with a number":      {[]pdfium.Line{large(80, "INVOICE 2026-0417"), large(120, "TOTAL 1,234.56"), ordinary(144, "Text.")}, []string{"INVOICE 2026-0417"}},
		"list of authors":         {[]pdfium.Line{large(80, "A Title"), large(120, "Ada Lovelace 1,*, Charles Babbage 2, Grace Hopper 3, Alan Turing 4,"), large(138, "Edsger Dijkstra 5 and Donald Knuth 2"), ordinary(160, "Text.")}, []string{"A Title"}},
		"name and value":          {[]pdfium.Line{bold(80, "Closing Date       04/23/2024"), bold(100, "Issuer       Some Company Ltd"), ordinary(124, "Text.")}, nil},
		"number and title":        {[]pdfium.Line{bold(80, "2.1      Methods of it"), ordinary(124, "Text.")}, []string{"2.1 Methods of it"}},
		"short leader":            {[]pdfium.Line{bold(80, "4. Descriptions of all variables · · · 11"), ordinary(124, "Text.")}, nil},
		"contents":                {[]pdfium.Line{bold(80, "1. A chapter · · · · · · · · 2"), bold(100, "2. Another ........... 17"), ordinary(124, "Text.")}, nil},
	} {
		if got := titlesOf(t, pdfium.Document{Pages: 1}, append(c.lines, prose(300, 25)...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: titles %q, want %q", name, got, c.want)
		}
	}
}

// The text of slides is large, and most of it is in items of lists.
func TestItemsOfSlidesAreNoHeadings(t *testing.T) {
	var pages [][]pdfium.Line
	var want []string
	for n := range 6 {
		title := fmt.Sprintf("The title of slide %d", n)
		page := []pdfium.Line{inFont(typeset(50, 140, title), 30, 400)}
		for i := range 3 {
			page = append(page, inFont(typeset(50, 200+float32(60*i), fmt.Sprintf("• Item %d", i)), 24, 400), inFont(typeset(60, 224+float32(60*i), "Goes on"), 24, 400))
		}
		pages, want = append(pages, append(page, prose(400, 3)...)), append(want, title)
	}
	if got := titlesOf(t, pdfium.Document{Pages: 6}, pages...); !slices.Equal(got, want) {
		t.Errorf("titles %q, want %q", got, want)
	}
}

// A short document may have a heading for each few lines.
func TestBoldHeadingsOfShortSections(t *testing.T) {
	var lines []pdfium.Line
	var want []string
	for i, title := range []string{"Opening", "Agenda", "Questions", "Resolutions", "Close"} {
		y := 80 + 60*float32(i)
		lines = append(lines, inFont(typeset(50, y, title), 10, 700))
		lines = append(lines, prose(y+14, 3)...)
		want = append(want, title)
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, lines)
	var titles []string
	for _, s := range got {
		titles = append(titles, s.Title)
	}
	if !slices.Equal(titles, want) {
		t.Errorf("titles = %q, want %q", titles, want)
	}
}

func TestLettersAsBulletsBeginItems(t *testing.T) {
	line := "r Words of an item that fill the column from one side to the other one, as they do"
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, []pdfium.Line{inFont(typeset(50, 80, line), 10, 400), inFont(typeset(50, 92, line), 10, 400), inFont(typeset(50, 104, line), 10, 400)})
	if len(got) != 1 || strings.Count(got[0].Text, "\nr ") != 2 {
		t.Errorf("sections = %q, want three items", outlineOf(got))
	}
}

// The bookmarks of some files repeat whole paragraphs.
func TestBookmarksOfParagraphsAreIgnored(t *testing.T) {
	long := strings.Repeat("Words of a paragraph that are repeated in the outline. ", 5)
	doc := pdfium.Document{Pages: 1, Outline: []pdfium.Bookmark{{Level: 1, Title: "A chapter", Page: 1, Y: 60}, {Level: 1, Title: long, Page: 1, Y: 90}}}
	got, _ := laidOut(t, doc, append([]pdfium.Line{placed(70, "A chapter")}, prose(100, 3)...))
	if len(got) != 1 || got[0].Title != "A chapter" {
		t.Errorf("sections %q, want one", outlineOf(got))
	}
}

func TestTitleIsNoPartsName(t *testing.T) {
	_, l := laidOut(t, pdfium.Document{Pages: 1, Title: "proof 15:46 - 5-Feb-2013"},
		append([]pdfium.Line{inFont(typeset(50, -40, "AH of the printer"), 30, 400), inFont(typeset(50, 80, "Contents"), 20, 700), inFont(typeset(50, 120, "A Guide to Titles"), 16, 700)}, prose(200, 20)...))
	if got := l.Info().Title; got != "A Guide to Titles" {
		t.Errorf("title = %q", got)
	}
}

// Heads with the name of the chapter and the number of the page are on left and right pages, and
// change with each chapter of few pages.
func TestRunningHeadsOfChapters(t *testing.T) {
	var pages [][]pdfium.Line
	for n := 1; n <= 16; n++ {
		chapter := fmt.Sprintf("The part of %s", letters(1+(n-1)/2))
		head := typeset(50, 40, fmt.Sprintf("%s    %d", chapter, n+10))
		if n%2 == 0 {
			head = typeset(50, 40, fmt.Sprintf("%d    %s", n+10, chapter))
		}
		page := []pdfium.Line{head}
		if n == 1 || n == 3 {
			page = append(page, inFont(typeset(50, 150, chapter), 16, 700))
		}
		pages = append(pages, append(append(page, prose(200, 20)...), typeset(290, 760, fmt.Sprintf("Page %d of 16", n))))
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 16}, pages...)
	var all strings.Builder
	for _, s := range got {
		all.WriteString(s.Title + "\n" + s.Text + "\n")
	}
	text := all.String()
	for n := 1; n <= 8; n++ { // a chapter without a title keeps one head
		if got := strings.Count(text, "The part of "+letters(n)+"\n") + strings.Count(text, "The part of "+letters(n)+" "); got != 1 {
			t.Errorf("chapter %d is named %d times:\n%s", n, got, text[:min(len(text), 3000)])
			break
		}
	}
	if strings.Contains(text, "Page ") {
		t.Error("page numbers are in the text")
	}
}

func TestPageNumbersOfShortDocuments(t *testing.T) {
	var pages [][]pdfium.Line
	for n := 1; n <= 2; n++ {
		pages = append(pages, append(prose(200, 5), typeset(290, 760, fmt.Sprintf("Page %d of 2", n))))
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 2}, pages...)
	for _, s := range got {
		if strings.Contains(s.Text, "of 2") {
			t.Errorf("text = %q", s.Text)
		}
	}
}

// What is outside of the page is not read: a stamp, numbers of lines, and what PDFium joined from the other half of a sheet.
func TestTextOutsideOfThePageIsDropped(t *testing.T) {
	lines := append([]pdfium.Line{typeset(50, -60, "printed by a program"), typeset(400, 88, "A line that ends here.                     Another page")}, prose(100, 4)...)
	lines = append(lines, typeset(-40, 100, "17"), typeset(-40, 112, "18"))
	got, _ := laidOut(t, pdfium.Document{Pages: 2}, lines, []pdfium.Line{typeset(900, 100, "only this")})
	text := got[0].Text
	if !strings.HasPrefix(text, "A line that ends here.") || strings.Contains(text, "Another page") || strings.Contains(text, "program") || strings.Contains(text, "17") {
		t.Errorf("text = %q", text)
	}
	if !strings.HasSuffix(text, "only this") {
		t.Errorf("text = %q, without that of the page of unknown size", text)
	}
}

// Footnotes do not interrupt the text: neither that of the next column, nor a sentence that
// continues on the next page.
func TestFootnotesFollowText(t *testing.T) {
	note := func(y float32, s string) pdfium.Line { return inFont(typeset(50, y, s), 8, 400) }
	page := append(prose(150, 20),
		note(500, "1A first note, which has two lines of text that are small, and which ends"), note(510, "in the second line."), note(520, "† Another note."),
		inFont(typeset(50, 400, "A last line that is drawn after the notes."), 10, 400))
	for name, c := range map[string]struct {
		last string
		want string
	}{
		"finished":   {"A last line that is drawn after the notes.", "after the notes. 1A first note, which has two lines of text that are small, and which ends in the second line. † Another note. next page begins."},
		"unfinished": {"A last line that fills the column, is drawn after all notes and is continued on the", "1A first note, which has two lines of text that are small, and which ends in the second line. † Another note. A last line that fills the column, is drawn after all notes and is continued on the next page begins."},
	} {
		page[len(page)-1] = inFont(typeset(50, 400, c.last), 10, 400)
		got, _ := laidOut(t, pdfium.Document{Pages: 2}, page, []pdfium.Line{inFont(typeset(50, 100, "next page begins."), 10, 400)})
		text := got[0].Text
		if len(got) != 1 || !strings.HasSuffix(strings.Join(strings.Fields(text), " "), c.want) {
			t.Errorf("%s: text ends in %q", name, text[max(0, len(text)-300):])
		}
		if at := strings.Index(text, "next page"); got[0].PageBreaks[0] > at || !strings.Contains(text[:got[0].PageBreaks[0]], "Another note") {
			t.Errorf("%s: page 2 begins at %d of %q", name, got[0].PageBreaks[0], text)
		}
	}
}

// Small numbers within the text are no footnotes, nor is a list in small letters.
func TestExponentsAreNoFootnotes(t *testing.T) {
	lines := append(prose(150, 8), inFont(typeset(50, 400, "The area is 5 m"), 10, 400), inFont(typeset(126, 396, "2"), 6, 400), inFont(typeset(134, 400, "of it."), 10, 400))
	for i := range 3 {
		lines = append(lines, inFont(typeset(50, 440+10*float32(i), fmt.Sprintf("%d place number %s", 7-i, letters(i))), 8, 400))
	}
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, append(lines, inFont(typeset(50, 500, "The end."), 10, 400)))
	if text := got[0].Text; !strings.Contains(text, "5 m2 of it.") || !strings.HasSuffix(text, "The end.") {
		t.Errorf("text ends in %q", text[max(0, len(text)-200):])
	}
}

// Headings of different pages have the same level if the estimates of their sizes differ little.
func TestHeadingLevelsOfScans(t *testing.T) {
	var pages [][]pdfium.Line
	for i, c := range []struct {
		size, confidence float32
		title            string
	}{
		{17, 0.95, "Report on the River"}, {18, 0.95, "Report on the Lake"}, {16, 0.95, "Report on the Sea"},
		{17.5, 0, "Report on the Pond"}, {13, 0.95, "Details of the Pond"},
	} {
		l := inFont(typeset(50, 60, c.title), c.size, 400)
		l.Confidence = c.confidence
		page := []pdfium.Line{l}
		for j := range 20 {
			text := inFont(typeset(50, 200+12*float32(j), fmt.Sprintf("Words %s of ordinary text that fill the column from one side to the other, and", letters(20*i+j))), 10, 400)
			text.Confidence = c.confidence
			page = append(page, text)
		}
		pages = append(pages, page)
	}
	sections, _ := laidOut(t, pdfium.Document{Pages: len(pages)}, pages...)
	var got []string
	for _, s := range sections {
		got = append(got, fmt.Sprint(s.Level, " ", s.Title))
	}
	want := []string{"1 Report on the River", "1 Report on the Lake", "1 Report on the Sea", "1 Report on the Pond", "2 Details of the Pond"}
	if !slices.Equal(got, want) {
		t.Errorf("headings %q, want %q", got, want)
	}
}

// The sizes of recognised lines are estimates: only clearly larger ones are headings, lines of one
// heading may differ, and what a picture was taken for is none.
func TestHeadingsOfScans(t *testing.T) {
	seen := func(y, size float32, s string, confidence float32) pdfium.Line {
		l := inFont(typeset(50, y, s), size, 0)
		l.Confidence = confidence
		return l
	}
	page := []pdfium.Line{
		seen(60, 30, "Ic| Ll", 0.9), seen(80, 28, "A wrong guess", 0.4),
		seen(120, 18, "Report on the Sea and", 0.95), seen(142, 20, "What Lives in It", 0.95),
		seen(180, 11.5, "A line of text whose size is a bit larger", 0.95),
	}
	for i := range 20 {
		page = append(page, seen(200+12*float32(i), 10, "Words of ordinary text that fill the column from one side to the other one, and", 0.9))
	}
	got, l := laidOut(t, pdfium.Document{Pages: 1}, page)
	const want = "Report on the Sea and What Lives in It"
	if titles := titlesOf(t, pdfium.Document{Pages: 1}, page); !slices.Equal(titles, []string{want}) || l.Info().Title != want {
		t.Errorf("titles %q of %q, want %q", titles, l.Info().Title, want)
	}
	if s := got[len(got)-1]; !s.OCR || s.Confidence < 0.8 {
		t.Errorf("section %q: recognised %t, confidence %v", s.Title, s.OCR, s.Confidence)
	}
}
