package bidi_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	xbidi "golang.org/x/text/unicode/bidi"

	"annals/commands/importer/extract/pdf/bidi"
)

// place returns the characters of a line that are displayed in this order from the left. Each is 5 wide. Letters that are written
// from right to left are in the order of reading within a word, as PDFium returns them.
func place(displayed []rune) (line []bidi.Glyph) {
	for i, r := range displayed {
		x := 5 * float32(i)
		line = append(line, bidi.Glyph{Rune: r, At: i, X: x, Right: x + 5, Bottom: 10})
	}
	for i := 0; i < len(line); {
		end := i + 1
		for bidi.IsRightToLeft(line[i].Rune) && end < len(line) && bidi.IsRightToLeft(line[end].Rune) {
			end++
		}
		slices.Reverse(line[i:end])
		i = end
	}
	return line
}

// display returns the characters of a line from right to left as displayed, from the left.
func display(t *testing.T, text string) (displayed []rune) {
	t.Helper()
	var p xbidi.Paragraph
	if _, err := p.SetString(text, xbidi.DefaultDirection(xbidi.RightToLeft)); err != nil {
		t.Fatal(err)
	}
	order, err := p.Order()
	if err != nil {
		t.Fatal(err)
	}
	for i := order.NumRuns() - 1; i >= 0; i-- {
		run := order.Run(i)
		s := run.String()
		if run.Direction() == xbidi.RightToLeft {
			s = xbidi.ReverseString(s)
		}
		displayed = append(displayed, []rune(s)...)
	}
	return displayed
}

func textOf(line []bidi.Glyph) string {
	var out []rune
	for _, g := range line {
		out = append(out, g.Rune)
	}
	return string(out)
}

// A line that is displayed by the Unicode Bidirectional Algorithm is read as it was written.
func TestOrder(t *testing.T) {
	for _, text := range []string{
		"بين شركة Acme Trading Ltd. والسيد بمبلغ 1,250.50 دولار.",
		"من 2024/03/05 الى 2025/03/04.",
		"نسبة 50% من ذلك",
		"סעיף 7: כי Agreement No. 15/B ייכנס לתוקף ב-1.4.2024.",
		"כן! 50% מהסכום (100 שח).",
		"המחיר $50 בלבד [ראה נספח]",
		"טלפון 03-5551234 או 1 2 3",
		"לפי «החוק» מחשב (PC) וכן (א) ו(ב)",
	} {
		if got := textOf(bidi.Order(place(display(t, text)), true)); got != text {
			t.Errorf("order\n got %q\nwant %q", got, text)
		}
	}
	for displayed, want := range map[string]string{
		"the word םלוע םולש means (hello)":   "the word שלום עולם means (hello)",
		"section 3 of םיזוחה 17 קוח applies": "section 3 of חוק 17 החוזים applies",
	} {
		if got := textOf(bidi.Order(place([]rune(displayed)), false)); got != want {
			t.Errorf("order\n got %q\nwant %q", got, want)
		}
	}
}

// The time to order a line grows with its length, not with the square of it: that would take minutes here.
func TestOrderOfLongLine(t *testing.T) {
	line := place([]rune(strings.Repeat("1 ", 300_000) + "א"))
	start := time.Now()
	if got := bidi.Order(line, true); len(got) != len(line) || time.Since(start) > time.Minute {
		t.Errorf("%d of %d characters after %v", len(got), len(line), time.Since(start))
	}
}

// Cells that are far from each other are read from the right, also if they have Latin words.
func TestOrderOfCells(t *testing.T) {
	var line []bidi.Glyph
	x := float32(0)
	for _, cell := range []string{"200", "15", "Wheel", "גלגל"} {
		from := len(line)
		for _, r := range cell {
			line = append(line, bidi.Glyph{Rune: r, At: len(line), X: x, Right: x + 5, Bottom: 10})
			x += 5
		}
		if cell == "גלגל" {
			for i := range line[from:] {
				line[from+i].X, line[from+i].Right = x-5*float32(i+1), x-5*float32(i)
			}
		}
		x += 50
	}
	if got := textOf(bidi.Order(line, true)); got != "גלגל Wheel 15 200" {
		t.Errorf("order %q", got)
	}
}

func TestLigatures(t *testing.T) {
	glyph := func(r rune, x, right float32) bidi.Glyph { return bidi.Glyph{Rune: r, X: x, Right: right, Bottom: 10} }
	for name, line := range map[string][]bidi.Glyph{
		"one box, as displayed": {glyph('ا', 10, 20), glyph('ل', 10, 20), glyph('ن', 5, 10)},
		"one box, as meant":     {glyph('ل', 10, 20), glyph('ا', 10, 20), glyph('ن', 5, 10)},
		"divided box":           {glyph('ا', 10, 15), glyph('ل', 15, 20), glyph('ن', 5, 10)},
		"two letters":           {glyph('ل', 15, 20), glyph('ا', 10, 15), glyph('ن', 5, 10)},
	} {
		if got := textOf(bidi.Order(line, true)); got != "لان" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Order loses no character but spaces.
func FuzzOrder(f *testing.F) {
	f.Add("שלום (12) Go", []byte("\x05\x00\x05\x10\x05\x20\x05"), true)
	f.Add("لا 1,5%", []byte("\x05\xff\x00\x00\x05\x20\x05"), false)
	f.Fuzz(func(t *testing.T, text string, boxes []byte, rightToLeft bool) {
		var line []bidi.Glyph
		x := float32(0)
		for i, r := range []rune(text[:min(len(text), 2_000)]) {
			if len(boxes) > 0 {
				x += float32(int8(boxes[i%len(boxes)]))
			}
			line = append(line, bidi.Glyph{Rune: r, At: i, X: x, Right: x + 5, Bottom: 10})
		}
		letters := func(line []bidi.Glyph) (at []int) {
			for _, g := range line {
				if g.Rune != ' ' && unicode.IsGraphic(g.Rune) {
					at = append(at, g.At)
				}
			}
			slices.Sort(at)
			return at
		}
		want := letters(line)
		if got := letters(bidi.Order(line, rightToLeft)); !slices.Equal(got, want) {
			t.Errorf("characters %v, want %v", got, want)
		}
	})
}
