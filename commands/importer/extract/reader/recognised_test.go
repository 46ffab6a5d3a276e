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
