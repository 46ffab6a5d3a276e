package pdfium

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/requests"
	"github.com/tetratelabs/wazero/api"
)

// hyphenMark is PDFium's character for a hyphen at the end of a line. It replaces the line end.
// In Line.Text it becomes a softHyphen.
const hyphenMark, softHyphen = '\ufffe', "\u00ad"

const maxKept = 1 << 18 // characters of a page above which buffers are not kept for the next page

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
	if err := d.lines(d.loaded.last, out); err != nil {
		out.Broken = true
		return out, trapped(err)
	}
	err = d.notes(page, out)
	if n == d.pages && trapped(err) == nil {
		d.attachments(out)
	}
	return out, trapped(cmp.Or(err, d.trap))
}

// trapped returns err if WebAssembly trapped, which leaves PDFium in an undefined state, and
// nil for errors that PDFium returned.
func trapped(err error) error {
	var t *trap
	if err != nil && (errors.As(err, &t) || strings.Contains(err.Error(), "wasm") || strings.Contains(err.Error(), "panic")) {
		return err
	}
	return nil
}

// textPage is the text of a page.
type textPage struct {
	*document
	handle    uint64
	text      []rune
	chars     []int            // by rune of the text, the characters of the page; nil if PDFium knows them
	pairs     []int            // indexes of the runes that are two characters of the page
	mapped    bool             // PDFium left no character out of the text
	leftwards int              // letters of the page that are written from right to left, less the others; 0 if not counted
	fonts     map[uint64]*font // by handle; of characters without a map to Unicode
}

// frame converts positions on a page to those of the page as displayed.
type frame struct {
	x, y     float32 // left and bottom edge of the page before rotation
	w, h     float32 // width and height of the page before rotation
	rotation int     // rotation of the page in quarter turns clockwise
}

// lines reads the text of the page with a handle.
func (d *document) lines(handle uint64, out *Page) error {
	d.measure(handle, out)
	t := &textPage{document: d, handle: d.call(d.loadText, handle)}
	if t.handle == 0 {
		return cmp.Or(d.trap, errors.New("read the text of a page: PDFium found none"))
	}
	defer d.call(d.closeText, t.handle)
	if count := int32(d.call(d.countChars, t.handle)); count > 0 {
		if err := t.load(int(count)); err != nil {
			return err
		}
		t.repair()
		t.split(out)
		out.Rules = d.rules(handle)
	}
	out.Scanned = t.scanned(handle, out)
	return d.trap
}

// load loads the text of the page.
func (t *textPage) load(count int) error {
	size := 4*count + 2 // a character may take two units of UTF-16
	buffer := t.malloc(size)
	if buffer == 0 {
		return cmp.Or(t.trap, errors.New("read the text of a page: PDFium has no memory for it"))
	}
	defer t.free(buffer)
	units := int(int32(t.call(t.getText, t.handle, 0, uint64(count), buffer))) - 1 // the last one is 0
	b, _ := t.memory.Read(uint32(buffer), uint32(max(0, min(2*units, size))))
	t.text = t.engine.text[:0]
	for ; len(b) >= 2; b = b[2:] {
		r := rune(binary.LittleEndian.Uint16(b))
		if utf16.IsSurrogate(r) && len(b) >= 4 {
			if pair := utf16.DecodeRune(r, rune(binary.LittleEndian.Uint16(b[2:]))); pair != utf8.RuneError {
				r, b = pair, b[2:]
				t.pairs = append(t.pairs, len(t.text))
			}
		}
		t.text = append(t.text, r)
	}
	if t.engine.text = t.text; cap(t.text) > maxKept {
		t.engine.text, t.engine.glyphs, t.engine.bytes, t.engine.spans = nil, nil, nil, nil
	}
	t.mapped = len(t.text)+len(t.pairs) == count
	return t.trap
}

// measure sets the size of the page, and the document's frame.
func (d *document) measure(page uint64, out *Page) {
	out.Width = api.DecodeF32(d.call(d.pageWidth, page))
	out.Height = api.DecodeF32(d.call(d.pageHeight, page))
	d.frame = frame{w: out.Width, h: out.Height, rotation: int(d.call(d.pageRotation, page)) & 3}
	if d.rotation%2 == 1 {
		d.w, d.h = d.h, d.w
	}
	if d.fills(d.boundingBox, page, d.scratch) {
		box := d.floats(4)
		d.x, d.y = box[0], box[3]
	}
}

// split splits a page's text into lines of words, and locates them.
func (t *textPage) split(out *Page) {
	words := make([]Word, 0, len(t.text)/4)
	for start := 0; start < len(t.text); {
		end, hyphen := start, false
		for ; end < len(t.text); end++ {
			if r := t.text[end]; r == '\r' || r == '\n' || r == hyphenMark {
				hyphen = r == hyphenMark
				break
			}
		}
		from := len(words)
		var l Line
		if words = t.line(&l, words, start, end, hyphen); len(words) > from {
			if l.Direction == Stacked && !strings.ContainsFunc(l.Text, isIdeographic) {
				words = t.linesOfPrint(out, words[:from], start, end)
			} else {
				l.Words = words[from:len(words):len(words)]
				out.Lines = append(out.Lines, l)
			}
		}
		start = end + 1
	}
	arrange(out.Lines)
}

// linesOfPrint adds the text between two indexes to the page, with a line for each line of print: PDFium makes one of the cells of a column if
// it takes the page for one with vertical writing.
func (t *textPage) linesOfPrint(out *Page, words []Word, start, end int) []Word {
	var last Word
	for i := start; i <= end; i++ {
		if i < end {
			if printable(t.text[i]) <= ' ' {
				continue
			}
			box := t.boxOf(i)
			if middle := (box.Top + box.Bottom) / 2; last.Bottom == 0 && last.Top == 0 || middle > last.Top && middle < last.Bottom {
				last = box
				continue
			}
			last = box
		}
		from := len(words)
		var l Line
		if words = t.line(&l, words, start, i, false); len(words) > from {
			l.Words = words[from:len(words):len(words)]
			out.Lines = append(out.Lines, l)
		}
		start = i
	}
	return words
}

// isIdeographic reports whether a character is of a script that is written vertically.
func isIdeographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo)
}

// line makes a line of the text between two indexes, and appends its words to words. hyphen
// means that the last word continues on the next line.
func (t *textPage) line(l *Line, words []Word, start, end int, hyphen bool) []Word {
	glyphs, has := t.glyphs(t.engine.glyphs[:0], start, end)
	t.engine.glyphs = glyphs
	if has.accents {
		glyphs = t.compose(glyphs)
	}
	if has.rightToLeft {
		glyphs = t.order(glyphs)
	}
	if has.singles >= minSpaced {
		glyphs = t.joinSpaced(glyphs)
	}
	from := len(words)
	words = t.words(l, words, glyphs, hyphen)
	if all := t.respace(glyphs, words[from:]); !has.rightToLeft && len(all) != len(glyphs) {
		words = t.words(l, words[:from], all, hyphen)
	}
	if len(words) > from {
		t.locate(l, t.charIndexOf(t.engine.spans[0].first), words[from:])
	}
	return words
}

// words sets the text of a line, and appends its words.
func (t *textPage) words(l *Line, words []Word, glyphs []glyph, hyphen bool) []Word {
	bytes, spans := t.engine.bytes[:0], t.engine.spans[:0]
	for i, g := range glyphs {
		if g.r == ' ' {
			bytes = append(bytes, ' ')
			continue
		}
		if i == 0 || glyphs[i-1].r == ' ' {
			spans = append(spans, span{from: len(bytes), first: g.at})
		}
		bytes = utf8.AppendRune(bytes, g.r)
		w := &spans[len(spans)-1]
		w.to, w.last = len(bytes), g.at
	}
	t.engine.bytes, t.engine.spans = bytes, spans
	if len(spans) == 0 {
		return words
	}
	if hyphen {
		bytes = append(bytes, softHyphen...)
		spans[len(spans)-1].to = len(bytes)
	}
	l.Text = string(bytes)
	for _, s := range spans {
		w := Word{Text: l.Text[s.from:s.to]}
		t.box(&w, t.charIndexOf(s.first), t.charIndexOf(s.last))
		words = append(words, w)
	}
	return words
}

// span is where a word is: its bytes in the line's text, and its characters in the page's.
type span struct{ from, to, first, last int }

// printable drops NUL padding, control characters and layout marks, and makes every kind of
// space a plain one. A soft hyphen that is drawn is a hyphen: many fonts name theirs so.
func printable(r rune) rune {
	switch {
	case r == '\u00ad':
		return '-'
	case r == '\t', r == '\u00a0', r > 0x7f && unicode.IsSpace(r):
		return ' '
	case r < ' ', r >= 0x7f && r < 0xa0, r == '\ufeff', r == dropped:
		return -1
	}
	return r
}

// box sets the box of a word to that of its first and last characters.
func (t *textPage) box(w *Word, first, last int) {
	for i, c := range [2]int{first, last} {
		if c < 0 || i > 0 && c == first || !t.fills(t.looseBox, t.handle, uint64(c), t.scratch) {
			continue
		}
		r := t.floats(4) // left, top, right, bottom
		b := t.displayedBox(r[0], r[1], r[2], r[3])
		if i > 0 {
			b.X, b.Top, b.Right, b.Bottom = min(b.X, w.X), min(b.Top, w.Top), max(b.Right, w.Right), max(b.Bottom, w.Bottom)
		}
		b.Text = w.Text
		*w = b
	}
}

// locate sets a line's position and font. It takes them from the line's first letter and its
// words.
func (t *textPage) locate(l *Line, first int, words []Word) {
	left, right := words[0].X, words[0].Right
	for i := range words {
		left, right = min(left, words[i].X), max(right, words[i].Right)
	}
	l.X, l.Y, l.Right = left, words[0].Bottom, right
	if first < 0 {
		return
	}
	index := uint64(first)
	size := api.DecodeF64(t.call(t.fontSize, t.handle, index))
	l.Weight = float32(max(0, int32(t.call(t.fontWeight, t.handle, index))))
	if !t.fills(t.charMatrix, t.handle, index, t.scratch) {
		return
	}
	m := t.floats(4)
	l.Size = float32(size * math.Hypot(float64(m[2]), float64(m[3])))
	dx, dy := t.turn(m[0], m[1])
	l.Direction = directionOf(dx, dy, l.Size, words[0], words[len(words)-1])
	l.Turned = l.Direction != Rightwards
	if t.fills(t.charOrigin, t.handle, index, t.scratch, t.scratch+8) {
		at := t.doubles(2)
		x, y := t.displayed(float32(at[0]), float32(at[1]))
		l.Y = y
		if l.Turned || x < left+l.Size {
			l.X = x
		}
	}
}

// charIndexOf returns the index of the character for rune n of the text, or -1.
func (t *textPage) charIndexOf(n int) int {
	if t.chars != nil {
		return t.chars[n]
	}
	before, _ := slices.BinarySearch(t.pairs, n)
	if n += before; t.mapped {
		return n
	}
	return int(int32(t.call(t.charIndex, t.handle, uint64(n))))
}

// displayed converts a point of the page before rotation to a point of the page as displayed,
// measured from the top left.
func (f *frame) displayed(x, y float32) (float32, float32) {
	x, y = x-f.x, y-f.y
	switch f.rotation {
	case 1:
		return y, x
	case 2:
		return f.w - x, y
	case 3:
		return f.h - y, f.w - x
	}
	return x, f.h - y
}

// displayedBox is like displayed, but for the opposite corners of a box.
func (f *frame) displayedBox(x0, y0, x1, y1 float32) Word {
	x0, y0 = f.displayed(x0, y0)
	x1, y1 = f.displayed(x1, y1)
	return Word{X: min(x0, x1), Right: max(x0, x1), Top: min(y0, y1), Bottom: max(y0, y1)}
}

// turn is like displayed, but for a direction instead of a point.
func (f *frame) turn(dx, dy float32) (float32, float32) {
	switch f.rotation {
	case 1:
		return dy, dx
	case 2:
		return -dx, dy
	case 3:
		return -dy, -dx
	}
	return dx, -dy
}
