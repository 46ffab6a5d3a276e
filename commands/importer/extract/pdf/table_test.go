package pdf_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/extracttest"
	"annals/commands/importer/extract/pdf"
	"annals/commands/importer/extract/pdf/pdfium"
)

// typeset returns a line of 10-point text. Two spaces or more are a wide gap; every character is
// 5 points wide.
func typeset(x, y float32, text string) pdfium.Line {
	l := pdfium.Line{Text: strings.Join(strings.Fields(text), " "), X: x, Y: y, Size: 10, Weight: 400}
	at := 0
	for word := range strings.FieldsSeq(text) {
		at += strings.Index(text[at:], word)
		left := x + 5*float32(at)
		at += len(word)
		l.Words = append(l.Words, pdfium.Word{Text: word, X: left, Right: x + 5*float32(at), Top: y - 8, Bottom: y + 2})
	}
	l.Right = l.Words[len(l.Words)-1].Right
	return l
}

// typesetPage sets a text line by line, 12 points apart. Empty lines leave a space.
func typesetPage(text string) (lines []pdfium.Line) {
	y := float32(200)
	for line := range strings.Lines(text) {
		if y += 12; strings.TrimSpace(line) != "" {
			lines = append(lines, typeset(50, y, line))
		}
	}
	return lines
}

func textOf(t *testing.T, lines []pdfium.Line) string {
	t.Helper()
	got, _ := laidOut(t, pdfium.Document{Pages: 1}, lines)
	return titlesAndTexts(got)
}

func titlesAndTexts(sections []extract.Section) string {
	var texts []string
	for _, s := range sections {
		texts = append(texts, strings.TrimSpace(s.Title+"\n"+s.Text))
	}
	return strings.Join(texts, "\n")
}

func TestTables(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"numbers": {`
Region            2023     2024
North            1,204      998
South               17  120,000
West|East            5        6
`, `| Region | 2023 | 2024 |
| --- | --- | --- |
| North | 1,204 | 998 |
| South | 17 | 120,000 |
| West\|East | 5 | 6 |`},
		"codes": {`
Class         C1        C2        C3
E1            QM        QM        A
E2            QM        A         B
E3            A         B         C
`, `| Class | C1 | C2 | C3 |
| --- | --- | --- | --- |
| E1 | QM | QM | A |
| E2 | QM | A | B |
| E3 | A | B | C |`},
		"empty cells": {`
Code        Place     Expected    Actual    State
AB-1        here           450
AB-2                       780       778    good
AB-3        there                     15    good
`, `| Code | Place | Expected | Actual | State |
| --- | --- | --- | --- | --- |
| AB-1 | here | 450 | | |
| AB-2 | | 780 | 778 | good |
| AB-3 | there | | 15 | good |`},
		"cells of several lines": {`
Name        Meaning                          Since

left        the first of the two sides       1999
            of a road or of a river

right       the other one of the two         2001
            sides

middle      what is between them             2004
`, `| Name | Meaning | Since |
| --- | --- | --- |
| left | the first of the two sides of a road or of a river | 1999 |
| right | the other one of the two sides | 2001 |
| middle | what is between them | 2004 |`},
		"names of several lines": {`
Kind            Description

Grade one       the cells look a little different
(low)           from others, and grow slowly

Grade two       the cells do not look like others
(middle)        and grow faster than before

Grade three     the cells look very different
(high)          and grow very fast
`, `| Kind | Description |
| --- | --- |
| Grade one (low) | the cells look a little different from others, and grow slowly |
| Grade two (middle) | the cells do not look like others and grow faster than before |
| Grade three (high) | the cells look very different and grow very fast |`},
		"heading of several columns": {`
             Passengers         Freight
Year        Home    Abroad    Home    Abroad
2011          12        13      14        15
2012          22        23      24        25
2013          32        33      34        35
2014          42        43      44        45
`, `| Year | Passengers Home | Abroad | Freight Home | Abroad |
| --- | --- | --- | --- | --- |
| 2011 | 12 | 13 | 14 | 15 |
| 2012 | 22 | 23 | 24 | 25 |
| 2013 | 32 | 33 | 34 | 35 |
| 2014 | 42 | 43 | 44 | 45 |`},
	} {
		if got := textOf(t, typesetPage(c.page)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// The first column of a page in Hebrew is on the right, and the words of a line go to the left.
func TestTableFromTheRight(t *testing.T) {
	var lines []pdfium.Line
	for i, cells := range [][]string{{"שם", "מחיר", "שנה"}, {"גלגל עץ", "100", "2024"}, {"דלת", "200", "2025"}, {"חלון", "300", "2026"}} {
		l := pdfium.Line{Text: strings.Join(cells, " "), X: 100, Right: 400, Y: 200 + 14*float32(i), Size: 10, Weight: 400}
		for at, cell := range cells {
			right := 400 - 100*float32(at)
			for word := range strings.FieldsSeq(cell) {
				left := right - 5*float32(len([]rune(word)))
				l.Words = append(l.Words, pdfium.Word{Text: word, X: left, Right: right, Top: l.Y - 8, Bottom: l.Y + 2})
				right = left - 3
			}
		}
		lines = append(lines, l)
	}
	if got, want := textOf(t, lines), "| שם | מחיר | שנה |\n| --- | --- | --- |\n| גלגל עץ | 100 | 2024 |\n| דלת | 200 | 2025 |\n| חלון | 300 | 2026 |"; got != want {
		t.Errorf("text:\n%s\nwant\n%s", got, want)
	}
}

func TestLinesThatAreNoTable(t *testing.T) {
	for name, page := range map[string]string{
		"list": `
1.     the first of the things that have to be done
2.     the second of them, which is longer and goes
       on in another line
3.     the third
4.     the fourth
`,
		"contents": `
Introduction                            1
What was known before                   4
What was found                         17
Conclusions                            23
`,
		"contents with dots": `
Introduction . . . . . . . . . . .      1
What was known before  . . . . . .      4
What was found . . . . . . . . . .     17
`,
		"code": `
1:     begin
2:       while there is more
3:         read it
4:     end
`,
		"two rows": `
Name        Value      Unit
one            12      m
`,
		"ragged gaps": `
These words      have gaps    that are wide
because the line is    spread   over the width
of its         column and   nothing is below
each     other by more than   chance
`,
	} {
		if got := textOf(t, typesetPage(page)); strings.Contains(got, "| --- |") {
			t.Errorf("%s is a table:\n%s", name, got)
		}
	}
}

// columns returns the lines of two columns as PDFium reads them from a file that draws them line
// by line: joined.
func columns(left, right []string) (lines []pdfium.Line) {
	for i := range left {
		l := typeset(50, 212+12*float32(i), left[i])
		if i < len(right) {
			r := typeset(320, l.Y, right[i])
			l.Text, l.Right, l.Words = l.Text+" "+r.Text, r.Right, append(l.Words, r.Words...)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestColumnsOfText(t *testing.T) {
	var left, right []string
	for i := range 8 {
		left = append(left, fmt.Sprintf("left %c has words that fill all of the first column,", 'a'+i))
		right = append(right, fmt.Sprintf("right %c has words that fill the second column too", 'a'+i))
	}
	lines := columns(left, right[:7])
	heading := typeset(150, 190, "A heading over both of the columns of the page")
	foot := typeset(50, 320, "a line below both columns that is as wide as the page and longer than each of them is")
	got := textOf(t, slices.Concat([]pdfium.Line{heading}, lines, []pdfium.Line{foot}))
	want := heading.Text + "\n\n" + strings.Join(append(slices.Clone(left), right[:7]...), " ") + "\n\n" + foot.Text
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("two columns:\n%s\nwant\n%s", got, want)
	}
}

// Lines of one column stay as they are, whatever gaps they have.
func TestOrderOfOneColumnStays(t *testing.T) {
	lines := []pdfium.Line{
		typeset(50, 500, "drawn first, but below"), typeset(50, 220, "Name:          the value"),
		typeset(50, 240, "drawn last"), typeset(50, 250, "x          y          z"),
	}
	want := "drawn first, but below Name: the value drawn last x y z"
	if got := textOf(t, lines); strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("lines:\n%s\nwant\n%s", got, want)
	}
}

// Rows of cells that are no table stay lines, though they fill their column.
func TestRowsAreNotJoined(t *testing.T) {
	lines := []pdfium.Line{typeset(50, 300, "1 first      of it      and 17 more"), typeset(50, 312, "2 the other one     a      long text ab")}
	if got := textOf(t, lines); got != "1 first of it and 17 more\n2 the other one a long text ab" {
		t.Errorf("text %q", got)
	}
	if got := textOf(t, []pdfium.Line{typeset(50, 300, "1: function Encrypt(key, to, text)"), typeset(50, 312, "2: derive the secret of both keys")}); got != "1: function Encrypt(key, to, text)\n2: derive the secret of both keys" {
		t.Errorf("lines of an algorithm are %q", got)
	}
}

// What is drawn twice at the same place is read once.
func TestRepeatedLinesAreReadOnce(t *testing.T) {
	lines := append(prose(100, 2), append([]pdfium.Line{typeset(50, 300, "A line below.")}, append(prose(100, 2), typeset(50, 400, "A line below."))...)...)
	got := textOf(t, lines)
	if strings.Count(got, "ordinary text") != 2 || strings.Count(got, "A line below.") != 2 {
		t.Errorf("text %q", got)
	}
}

// letters returns a number as a word.
func letters(n int) string {
	word := "qz"
	for ; n > 0; n /= 20 {
		word += string("abcdefghjkmnoprstuwy"[n%20])
	}
	return word
}

// keepsWords lays out pages of words at the positions that data encodes, each word a different
// one, and fails unless the text has each of them once, on its page, if any page shows it.
func keepsWords(t *testing.T, data []byte) {
	var pages []pdfium.Page
	var want [][]string
	words := map[string]pdfium.Word{}
	n, x, y := 0, float32(0), float32(0)
	for len(data) >= 4 {
		a, b, c, d := data[0], data[1], data[2], data[3]
		data = data[4:]
		if len(pages) == 0 || c == 255 {
			pages = append(pages, pdfium.Page{Number: len(pages) + 1, Width: 612, Height: 792})
			want = append(want, nil)
			y = 0
		}
		p := &pages[len(pages)-1]
		if c&64 != 0 { // a rule beside the word and one below it
			p.Rules = append(p.Rules, pdfium.Rule{X: x - 1, Right: x, Top: y - float32(a), Bottom: y + float32(d)}, pdfium.Rule{X: x - float32(a), Right: x + float32(d), Top: y + 2, Bottom: y + 3})
		}
		if len(p.Lines) == 0 || c&7 == 0 { // a new line
			x, y = float32(a)*2, y+float32(int8(b))/4
			p.Lines = append(p.Lines, pdfium.Line{X: x, Y: y, Size: 6 + float32(d&15), Weight: 400 + float32(d>>4)*20, Turned: c == 8})
		}
		l := &p.Lines[len(p.Lines)-1]
		n++
		w := pdfium.Word{Text: letters(n), X: x, Right: x + 4*float32(d>>3), Top: y - 8, Bottom: y + 2}
		if c&32 != 0 { // elsewhere than the line
			w.Top += float32(int8(b))
			w.Bottom += float32(int8(b))
		}
		x = w.Right + float32(a)/8
		l.Words = append(l.Words, w)
		l.Text = strings.TrimSpace(l.Text + " " + w.Text)
		l.Right = max(l.Right, w.Right)
		words[w.Text] = w
		want[len(pages)-1] = append(want[len(pages)-1], w.Text)
	}
	for i, texts := range want {
		if shown := slices.DeleteFunc(slices.Clone(texts), func(s string) bool {
			x, y := words[s].X+words[s].Right, words[s].Top+words[s].Bottom
			return x < 0 || x > 2*612 || y < 0 || y > 2*792
		}); len(shown) > 0 {
			want[i] = shown
		}
	}
	var got []extract.Section
	w := extract.NewWriter(extracttest.Collect(&got), 0)
	l := pdf.NewLayout(pdfium.Document{Pages: len(pages)}, w)
	for _, p := range pages {
		if err := l.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if l.Close() != nil || w.Close() != nil {
		t.Fatal("Close failed")
	}
	texts := make([]strings.Builder, len(pages)+1)
	for _, s := range got {
		if s.Part == 0 {
			texts[s.StartPage].WriteString(s.Title + "\n")
		}
		from := 0
		for i, to := range append(slices.Clone(s.PageBreaks), len(s.Text)) {
			texts[s.StartPage+i].WriteString(s.Text[from:to] + "\n")
			from = to
		}
	}
	for i, words := range want {
		have := strings.FieldsFunc(strings.ReplaceAll(texts[i+1].String(), "qz", " qz"), func(r rune) bool { return r < 'a' || r > 'z' })
		slices.Sort(have)
		slices.Sort(words)
		if !slices.Equal(have, words) {
			t.Fatalf("page %d has the words %q, want %q", i+1, have, words)
		}
	}
}

func TestLayoutKeepsWords(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		data := make([]byte, 4*(1+r.IntN(400)))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if seed%3 > 0 { // a grid of rows, like a table or columns
			for i := 0; i+3 < len(data); i += 4 {
				data[i], data[i+1], data[i+2], data[i+3] = 100, 48, data[i+2]&1+1, 80
				if i/4%int(2+seed%5) == 0 {
					data[i], data[i+2] = 20, 0
				}
			}
		}
		keepsWords(t, data)
	}
}

func FuzzLayoutKeepsWords(f *testing.F) {
	f.Add([]byte("\x14\x30\x00\x50\x64\x30\x01\x50\x64\x30\x01\x50\x14\x30\x00\x50\x64\x30\x01\x50\x64\x30\x01\x50\x14\x30\x00\x50\x64\x30\x01\x50\x64\x30\x01\x50"))
	f.Add([]byte("\x14\x30\xff\x50\x14\x30\x08\xf0\x14\x30\x20\x50"))
	f.Fuzz(func(t *testing.T, data []byte) { keepsWords(t, data[:min(len(data), 8_000)]) })
}

// The labels of a chart beside a table are not in its rows.
func TestTableBesideChart(t *testing.T) {
	table := typesetPage(`
Grain        Last week        This week
Wheat             1.23             1.25
Maize             2.34             2.30
Oats              0.80             0.81
Rye               1.02             1.04
`)
	var chart []pdfium.Line
	for i := range 5 {
		chart = append(chart, typeset(300, 221+8.7*float32(i), fmt.Sprintf("%d.50", 5-i)))
	}
	got := textOf(t, append(table, chart...))
	want := "| Grain | Last week | This week |\n| --- | --- | --- |\n| Wheat | 1.23 | 1.25 |\n| Maize | 2.34 | 2.30 |\n| Oats | 0.80 | 0.81 |\n| Rye | 1.02 | 1.04 |"
	if !strings.HasPrefix(got, want) {
		t.Errorf("text:\n%s\nwant\n%s", got, want)
	}
}

// PDFium may join several lines of both columns into one line, and knows hyphens only at its end.
func TestColumnsOfSeveralLinesInOne(t *testing.T) {
	var left, right []string
	for i := range 10 {
		left = append(left, fmt.Sprintf("%s words of the column, which are divi-", letters(i)))
		right = append(right, fmt.Sprintf("%s words on the right, with a whole word", letters(20+i)))
	}
	lines := columns(left, right)
	joined := lines[3]
	for _, l := range lines[4:7] {
		joined.Text += " " + l.Text
		joined.Words = append(joined.Words, l.Words...)
		joined.Right = max(joined.Right, l.Right)
	}
	got := textOf(t, slices.Concat(lines[:3], []pdfium.Line{joined}, lines[7:]))
	want := strings.ReplaceAll(strings.Join(left[:9], " "), "divi- ", "divi") + strings.TrimSuffix(left[9], "-") + strings.Join(right, " ")
	got, want = strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")
	if strings.NewReplacer(" ", "", "-", "").Replace(got) != strings.NewReplacer(" ", "", "-", "").Replace(want) || strings.Contains(got, "- ") {
		t.Errorf("two columns:\n%s\nwant\n%s", got, want)
	}
}
