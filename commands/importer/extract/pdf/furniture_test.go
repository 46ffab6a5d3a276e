package pdf_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"annals/commands/importer/extract/pdf/pdfium"
)

// The lines of several pages are running heads only if they differ in nothing but the number of the page.
func TestRunningHeadsDifferInPageNumbersOnly(t *testing.T) {
	line := func(format string, numbers ...func(page int) any) func(page int) pdfium.Line {
		return func(page int) pdfium.Line {
			var args []any
			for _, n := range numbers {
				args = append(args, n(page))
			}
			return typeset(72, 30, fmt.Sprintf(format, args...))
		}
	}
	number := func(offset int) func(int) any { return func(page int) any { return page + offset } }
	total := func(page int) any { return 117 + 311*page }
	// apart sets the page number at the outer edge, left and right in turns.
	apart := func(text string) func(page int) pdfium.Line {
		return func(page int) pdfium.Line {
			left, right, x := fmt.Sprint(page+20), text, 120
			if page%2 == 1 {
				left, right, x = text, fmt.Sprint(page+20), 400
			}
			a, b := typeset(72, 30, left), typeset(float32(x), 30, right)
			a.Text, a.Right, a.Words = left+" "+right, b.Right, append(a.Words, b.Words...)
			return a
		}
	}
	for _, c := range []struct {
		name  string
		kept  bool // on all pages
		times int  // in all, unless kept
		line  func(page int) pdfium.Line
	}{
		{"chapter", true, 0, func(page int) pdfium.Line { return inFont(typeset(72, 30, fmt.Sprintf("Chapter %d", page)), 16, 700) }},
		{"exhibit", true, 0, line("Exhibit %d", number(0))},
		{"section", true, 0, line("§ %d", number(0))},
		{"year", true, 0, line("Results for %d", number(2020))},
		{"total", true, 0, line("Invoice total: %d.50 EUR", total)},
		{"invoice", true, 0, line("Invoice No. %d", number(1000))},
		{"stamp", true, 0, line("SMITH-%06d CONFIDENTIAL", number(0))},
		{"footnote", true, 0, line("%d Meier (1998), p. %d.", number(3), total)},
		{"numbered footnote", true, 0, line("%d Footnote number %d about the ledger.", number(0), number(0))},
		{"sentence", true, 0, line("Line 2 of page %d is about the mill.", number(0))},
		{"cases", true, 0, line("Case 24-cv-%d filed %d March 2024", number(1000), number(0))},
		{"number", false, 0, line("%d", number(40))},
		{"dashes", false, 0, line("- %d -", number(0))},
		{"page", false, 1, line("Annual Report 2024, page %d", number(0))},
		{"page of pages", false, 1, line("Page %d of 12", number(0))},
		{"Seite", false, 1, line("Seite %d von 12 | Satzung", number(0))},
		{"roman", false, 0, line("%s", func(page int) any { return []string{"i", "ii", "iii", "iv", "v", "vi", "vii", "viii"}[page-1] })},
		{"apart", false, 2, apart("Row and Column Access Control")},
		{"same digits", false, 1, line("Journal of Ledgers, Vol. 7 No. 12 (2024)")},
	} {
		for _, y := range []float32{30, 770} {
			var pages [][]pdfium.Line
			for n := 1; n <= 8; n++ {
				l := c.line(n)
				l.Y = y
				pages = append(pages, append(filler(4), l))
			}
			got, _ := laidOut(t, pdfium.Document{Pages: 8}, pages...)
			var all strings.Builder
			for _, s := range got {
				all.WriteString(s.Title + "\n" + s.Text + "\n")
			}
			for n := 2; n <= 8; n++ {
				if text := c.line(n).Text; c.kept && !strings.Contains(all.String(), text) {
					t.Errorf("%s at %v: %q of page %d was dropped", c.name, y, text, n)
				}
			}
			words := cmp.Or(strings.Trim(c.line(5).Text, "0123456789 "), c.line(5).Text)
			if n := strings.Count(all.String(), words); !c.kept && n > c.times {
				t.Errorf("%s at %v: %q is %d times in the text, want %d", c.name, y, words, n, c.times)
			}
		}
	}
}

// A page of text in landscape has its head and foot where the other pages have theirs, or turned with the text.
func TestRunningHeadsOfTurnedPages(t *testing.T) {
	for name, heads := range map[string]bool{"upright": false, "turned": true} {
		var pages [][]pdfium.Line
		for n := 1; n <= 6; n++ {
			head, foot := typeset(72, 30, "Annual report of the society"), typeset(280, 770, fmt.Sprintf("- %d -", n))
			body := filler(6)
			if turned := n == 3 || n == 4 || heads; turned {
				if heads {
					head, foot = typeset(72, 30, "Annual report of the society"), typeset(280, 590, fmt.Sprintf("- %d -", n))
					head, foot = turnedUpwards(head), turnedUpwards(foot)
				}
				for i := range body {
					body[i] = turnedUpwards(typeset(100, 200+12*float32(i), "cells of a wide table that is turned"))
				}
			}
			pages = append(pages, append([]pdfium.Line{head, foot}, body...))
		}
		got, _ := laidOut(t, pdfium.Document{Pages: 6}, pages...)
		var all strings.Builder
		for _, s := range got {
			all.WriteString(s.Title + "\n" + s.Text + "\n")
		}
		if n := strings.Count(all.String(), "Annual report"); n != 1 || strings.Contains(all.String(), "- 3 -") || strings.Contains(all.String(), "- 4 -") {
			t.Errorf("%s: the head is %d times in the text, want once and no page numbers: %q", name, n, all.String())
		}
	}
}

// turnedUpwards turns a line of a page of 792 x 612 points counterclockwise.
func turnedUpwards(l pdfium.Line) pdfium.Line {
	l.Direction, l.Turned = pdfium.Upwards, true
	l.X, l.Y = l.Y, 792-l.X
	for i, w := range l.Words {
		l.Words[i].X, l.Words[i].Right, l.Words[i].Top, l.Words[i].Bottom = w.Top, w.Bottom, 792-w.Right, 792-w.X
	}
	return l
}

// A foot that the file has before the text of its only page is no heading, also in letters that are larger than those of the text.
func TestFootOfOnlyPageIsNoHeading(t *testing.T) {
	foot := inFont(typeset(300, 770, "Confidential and proprietary"), 14, 400)
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, append([]pdfium.Line{foot, inFont(typeset(72, 80, "Waiting"), 24, 400)}, filler(5)...))
	if out := outlineOf(got); len(out) != 2 || got[0].Title != "" || got[0].Text != "Confidential and proprietary" || got[1].Title != "Waiting" {
		t.Errorf("sections %q", out)
	}
}
