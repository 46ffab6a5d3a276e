package pdfium

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

const maxObjects = 500 // maximum number of objects that are checked for images on a page

// hyphenMark is PDFium's character for a hyphen at the end of a line. It replaces the line end.
// In Line.Text it becomes a softHyphen.
const (
	hyphenMark = '\ufffe'
	softHyphen = "\u00ad"
)

// page reads page n, counted from 1. A damaged page is marked as broken. An error means that
// the engine must not be used any more.
func (d *document) page(n int) (*Page, error) {
	out := &Page{Number: n}
	loaded, err := d.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.ref, Index: n - 1})
	if err != nil {
		out.Broken = true
		return out, trapped(err)
	}
	page := requests.Page{ByReference: &loaded.Page}
	defer d.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
	if err := d.lines(page, out); err != nil {
		out.Broken = true
		return out, trapped(err)
	}
	return out, trapped(d.notes(page, out))
}

// trapped returns err if WebAssembly trapped, which leaves PDFium in an undefined state, and
// nil for errors that PDFium returned.
func trapped(err error) error {
	if err != nil && (strings.Contains(err.Error(), "wasm") || strings.Contains(err.Error(), "panic")) {
		return err
	}
	return nil
}

// textPage is the text of a page, with the properties of the page that the method displayed
// needs to convert coordinates.
type textPage struct {
	*document
	ref      references.FPDF_TEXTPAGE
	w, h     float32 // width and height of the page before rotation
	rotation int     // rotation of the page in quarter turns clockwise
	mapped   bool    // the nth rune of the text is the nth character of the page
}

func (d *document) lines(page requests.Page, out *Page) error {
	text, err := d.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: page})
	if err != nil {
		return err
	}
	t := &textPage{document: d, ref: text.TextPage}
	defer d.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: t.ref})
	if err := t.measure(page, out); err != nil {
		return err
	}
	count, err := d.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: t.ref})
	if err != nil || count.Count == 0 {
		out.Blank = !d.hasImage(page)
		return err
	}
	all, err := d.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: t.ref, StartIndex: 0, Count: count.Count})
	if err != nil {
		return err
	}
	t.mapped = utf8.RuneCountInString(all.Text) == count.Count
	return t.split(all.Text, out)
}

// hasImage reports whether a page without text has an image, which may be a scan.
func (d *document) hasImage(page requests.Page) bool {
	objects, err := d.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false
	}
	for i := range min(objects.Count, maxObjects) {
		object, err := d.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err != nil {
			return false
		}
		kind, err := d.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object.PageObject})
		if err == nil && (kind.Type == enums.FPDF_PAGEOBJ_IMAGE || kind.Type == enums.FPDF_PAGEOBJ_FORM) {
			return true
		}
	}
	return false
}

func (t *textPage) measure(page requests.Page, out *Page) error {
	width, err := t.FPDF_GetPageWidthF(&requests.FPDF_GetPageWidthF{Page: page})
	if err != nil {
		return err
	}
	height, err := t.FPDF_GetPageHeightF(&requests.FPDF_GetPageHeightF{Page: page})
	if err != nil {
		return err
	}
	rotation, err := t.FPDFPage_GetRotation(&requests.FPDFPage_GetRotation{Page: page})
	if err != nil {
		return err
	}
	out.Width, out.Height = width.PageWidth, height.PageHeight
	t.rotation = int(rotation.PageRotation)
	t.w, t.h = out.Width, out.Height
	if t.rotation%2 == 1 {
		t.w, t.h = t.h, t.w
	}
	return nil
}

// split splits a page's text into lines, and locates each one.
func (t *textPage) split(text string, out *Page) error {
	index := 0 // rune index, in the page's text, of the beginning of text
	for text != "" {
		end := strings.IndexAny(text, "\r\n"+string(hyphenMark))
		line, rest, suffix := text, "", ""
		if end >= 0 {
			r, size := utf8.DecodeRuneInString(text[end:])
			line, rest = text[:end], text[end+size:]
			if r == hyphenMark {
				suffix = softHyphen
			}
		}
		runes := utf8.RuneCountInString(line)
		if clean := strings.Map(printable, line); strings.TrimSpace(clean) != "" {
			l := Line{Text: strings.TrimSpace(clean) + suffix}
			first := index + utf8.RuneCountInString(line) - utf8.RuneCountInString(strings.TrimLeftFunc(line, blank))
			last := index + utf8.RuneCountInString(strings.TrimRightFunc(line, blank)) - 1
			if err := t.locate(&l, first, last); err != nil {
				return err
			}
			out.Lines = append(out.Lines, l)
		}
		index += runes + 1
		text = rest
	}
	return nil
}

func blank(r rune) bool { return unicode.IsSpace(r) || r == 0 }

// printable drops NUL padding, control characters and layout marks.
func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r < ' ', r >= 0x7f && r < 0xa0, r == '\u00ad', r == '\ufeff', r == '\uffff', r == utf8.RuneError:
		return -1
	}
	return r
}

// locate sets a line's position and font. It takes them from the line's first and last letters.
func (t *textPage) locate(l *Line, first, last int) error {
	if !t.mapped {
		first, last = t.charIndex(first), t.charIndex(last)
	}
	if first < 0 || last < first {
		return nil
	}
	size, err := t.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: t.ref, Index: first})
	if err != nil {
		return trapped(err)
	}
	weight, err := t.FPDFText_GetFontWeight(&requests.FPDFText_GetFontWeight{TextPage: t.ref, Index: first})
	if err == nil {
		l.Weight = float32(weight.FontWeight)
	}
	// The matrix contains the position where the text starts, its scale and its direction.
	matrix, err := t.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: t.ref, Index: first})
	if err != nil {
		return trapped(err)
	}
	m := matrix.Matrix
	l.Size = float32(size.FontSize * math.Hypot(float64(m.C), float64(m.D)))
	dx, dy := t.turn(m.A, m.B)
	l.Turned = dx <= 0 || float32(math.Abs(float64(dy))) > dx/4
	l.X, l.Y = t.displayed(m.E, m.F)
	l.Right = l.X
	box, err := t.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: t.ref, Index: last})
	if err == nil {
		x0, _ := t.displayed(box.Rect.Left, box.Rect.Bottom)
		x1, _ := t.displayed(box.Rect.Right, box.Rect.Top)
		l.Right = max(x0, x1)
	}
	return trapped(err)
}

// charIndex returns the index of the character for rune n of the text, or -1.
func (t *textPage) charIndex(n int) int {
	i, err := t.FPDFText_GetCharIndexFromTextIndex(&requests.FPDFText_GetCharIndexFromTextIndex{TextPage: t.ref, NTextIndex: n})
	if err != nil {
		return -1
	}
	return i.CharIndex
}

// displayed converts a point of the page before rotation to a point of the page as displayed,
// measured from the top left.
func (t *textPage) displayed(x, y float32) (float32, float32) {
	switch t.rotation {
	case 1:
		return y, x
	case 2:
		return t.w - x, y
	case 3:
		return t.h - y, t.w - x
	}
	return x, t.h - y
}

// turn is like displayed, but for a direction instead of a point.
func (t *textPage) turn(dx, dy float32) (float32, float32) {
	switch t.rotation {
	case 1:
		return dy, dx
	case 2:
		return -dx, dy
	case 3:
		return -dy, -dx
	}
	return dx, -dy
}
