package reader

import (
	"reflect"
	"testing"

	"annals/commands/importer/extract/ocr"
	"annals/commands/importer/extract/pdf/pdfium"
)

// Typed lines take the place of what was recognised of them, and what looks like no text is left out.
func TestTypedLinesAreKept(t *testing.T) {
	typed := func(text string, y float32) pdfium.Line {
		return pdfium.Line{Text: text, X: 50, Right: 250, Y: y, Size: 10, Words: []pdfium.Word{{Text: text, X: 50, Right: 250, Top: y - 8, Bottom: y + 2}}}
	}
	found := func(text string, x, y, confidence float32) ocr.Line {
		return ocr.Line{Words: []ocr.Word{{Text: text, Left: x, Right: x + 180, Top: y - 7, Bottom: y, Confidence: confidence}}}
	}
	p := pdfium.Page{Width: 600, Height: 800, Scanned: true, Typed: true, Lines: []pdfium.Line{typed("SMITH-000017", 40), typed("watermark", 300), typed("notice", 780)}}
	r := ocr.Result{Width: 600, Height: 800, Lines: []ocr.Line{
		found("SMlTH-OOOO17", 50, 40, .9), found("first", 50, 200, .9), found("wafermark", 52, 300, .9),
		found("beside", 300, 300, .9), found("~;!", 50, 400, .2), found("last", 50, 500, .9)}}
	got := recognised(p, r)
	var texts []string
	for _, l := range got.Lines {
		texts = append(texts, l.Text)
	}
	want := []string{"SMITH-000017", "first", "watermark", "beside", "last", "notice"}
	if !reflect.DeepEqual(texts, want) || got.Scanned {
		t.Errorf("lines %q, scanned %t; want %q", texts, got.Scanned, want)
	}
}

// A page whose scan is upside down keeps what is typed on it, after the text of the scan, and its rules are turned with it.
func TestTypedLinesOfTurnedScan(t *testing.T) {
	p := pdfium.Page{Width: 600, Height: 800, Scanned: true, Typed: true, Rules: []pdfium.Rule{{X: 0, Right: 300, Top: 10, Bottom: 11}}, Lines: []pdfium.Line{
		{Text: "SMITH-000017", X: 50, Right: 250, Y: 40, Size: 10, Words: []pdfium.Word{{Text: "SMITH-000017", X: 50, Right: 250, Top: 30, Bottom: 42}}}}}
	word := func(text string, x, y float32) ocr.Line {
		return ocr.Line{Words: []ocr.Word{{Text: text, Left: x, Right: x + 180, Top: y - 7, Bottom: y, Confidence: .9}}}
	}
	got := recognised(p, ocr.Result{Width: 600, Height: 800, Turn: 2, Lines: []ocr.Line{word("first", 50, 200), word("ZT0000-HTIWS", 360, 766), word("last", 50, 790)}})
	var texts []string
	for _, l := range got.Lines {
		texts = append(texts, l.Text)
	}
	if want := []string{"first", "last", "SMITH-000017"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("lines %q, want %q", texts, want)
	}
	if want := (pdfium.Rule{X: 300, Right: 600, Top: 789, Bottom: 790}); got.Rules[0] != want {
		t.Errorf("rule %+v, want %+v", got.Rules[0], want)
	}
	for turn, size := range [][2]float32{{600, 800}, {800, 600}, {600, 800}, {800, 600}} {
		p := pdfium.Page{Width: 600, Height: 800, Scanned: true}
		if got := recognised(p, ocr.Result{Width: int(size[0]), Height: int(size[1]), Turn: turn, Lines: []ocr.Line{word("text", 50, 200)}}); got.Width != size[0] || got.Height != size[1] || got.Lines[0].X != 50 {
			t.Errorf("turn %d: %v x %v points, want %v; lines %+v", turn, got.Width, got.Height, size, got.Lines)
		}
	}
}
