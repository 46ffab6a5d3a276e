package pdfium

import (
	"strings"

	"annals/commands/importer/extract/process"
)

// The kinds of frames. A process handles one request at a time. Its response to opening a file
// is opened and done; to reading pages, the pages and done; to drawing a page, picture, pieces
// and done; and to closing the file, done. The response to any request may be failed instead.
const (
	requestFrame process.Kind = process.Ready + 1 + iota
	openedFrame
	pageFrame
	doneFrame
	failedFrame
	pictureFrame
	pieceFrame
)

// Document describes an open PDF.
type Document struct {
	Pages   int
	Title   string // in the document's metadata
	Outline []Bookmark
}

// Bookmark is an entry of a document's outline.
type Bookmark struct {
	Level int // from 1
	Title string
	Page  int     // page number from 1; 0 if the bookmark points to no page of the document
	Y     float32 // from the top of its page, in points; negative if unknown
}

// Page is the text of a page.
type Page struct {
	Number        int     // from 1
	Width, Height float32 // as displayed, in points
	Lines         []Line  // in reading order
	// Notes are the filled-in form fields as "name: value", the comments, and the names
	// of attached files.
	Notes  []string
	Blank  bool   // the page has neither text nor images
	Broken bool   // the page could not be read completely
	Rules  []Rule // lines that the page draws; none if it has too few for a table, or too many
	// Scanned means that pictures cover much of the page, and that it has no text there or none
	// that can be used.
	Scanned bool
	// Typed means that the lines of a scanned page are beside the text of its pictures, as stamps
	// and typed parts of a letter are, so that both are its text.
	Typed bool
}

// Line is a line of a page. X, Y and Right are in points from the left and top of the page as
// displayed; Y is the baseline.
type Line struct {
	Text        string
	X, Y, Right float32
	Size        float32 // size of the first letter's font as displayed, in points; 0 if unknown
	Weight      float32 // weight of the first letter's font: 400 is regular, 700 bold; 0 if unknown
	Turned      bool    // the text does not run from left to right, or from right to left
	Direction   Direction
	Words       []Word  // in reading order; separated by spaces, they are Text
	Confidence  float32 // of the recognition, from 0 to 1; 0 if the line is text of the file
}

// Word is a word of a line. Its box is in points from the left and top of the page as displayed.
type Word struct {
	Text                  string
	X, Right, Top, Bottom float32
}

// Rule is a drawn line, horizontal or vertical. Its box is in points from the left and top of the page as displayed.
type Rule struct{ X, Right, Top, Bottom float32 }

// Across reports whether a rule is horizontal.
func (r Rule) Across() bool { return r.Right-r.X > r.Bottom-r.Top }

// request is the request to open a file, to read pages of the open file, or to draw one. A
// request with none of these closes the open file.
type request struct {
	open        bool   // open the file that is passed with the request
	path        string // path of the file to open
	maxPages    int    // of the file to open; 0 means no limit
	bare        bool   // describe the file to open by its number of pages only
	first, last int
	scans       bool // end the response after a scanned page, so that it can be drawn
	draw        Drawing
}

func (r request) encode() []byte {
	e := new(process.Encoder).Bool(r.open).Text(r.path).Int(r.maxPages).Bool(r.bare).Int(r.first).Int(r.last).Bool(r.scans)
	return e.Int(r.draw.Page).Int(r.draw.Width).Bool(r.draw.Grey).Bool(r.draw.Raw).Int(r.draw.Pixels).B
}

func decodeRequest(b []byte) (request, error) {
	d := process.Decoder{B: b}
	r := request{open: d.Bool(), path: d.Text(), maxPages: d.Int(), bare: d.Bool(), first: d.Int(), last: d.Int(), scans: d.Bool()}
	r.draw = Drawing{Page: d.Int(), Width: d.Int(), Grey: d.Bool(), Raw: d.Bool(), Pixels: d.Int()}
	return r, d.End()
}

// Encode returns the document as a payload.
func (doc Document) Encode() []byte {
	e := new(process.Encoder).Int(doc.Pages).Text(doc.Title).Int(len(doc.Outline))
	for _, b := range doc.Outline {
		e.Int(b.Level).Text(b.Title).Int(b.Page).Float(b.Y)
	}
	return e.B
}

// DecodeDocument decodes a payload that Document.Encode has returned.
func DecodeDocument(b []byte) (Document, error) {
	d := process.Decoder{B: b}
	doc := Document{Pages: d.Int(), Title: d.Text()}
	for range d.Count(7) {
		doc.Outline = append(doc.Outline, Bookmark{Level: d.Int(), Title: d.Text(), Page: d.Int(), Y: d.Float()})
	}
	return doc, d.End()
}

// Encode appends the page to a payload.
func (p *Page) Encode(e *process.Encoder) {
	e.Int(p.Number)
	e.Float(p.Width)
	e.Float(p.Height)
	e.Bool(p.Blank)
	e.Bool(p.Broken)
	e.Bool(p.Scanned)
	e.Bool(p.Typed)
	e.Int(len(p.Lines))
	for _, l := range p.Lines {
		e.Text(l.Text)
		e.Float(l.X)
		e.Float(l.Y)
		e.Float(l.Right)
		e.Float(l.Size)
		e.Float(l.Weight)
		e.Bool(l.Turned)
		e.Int(int(l.Direction))
		e.Float(l.Confidence)
		l.encodeWords(e)
	}
	e.Int(len(p.Notes))
	for _, n := range p.Notes {
		e.Text(n)
	}
	e.Int(len(p.Rules))
	for _, r := range p.Rules {
		e.Float(r.X).Float(r.Right).Float(r.Top).Float(r.Bottom)
	}
}

// DecodePage decodes a payload to which Page.Encode has appended one page.
func DecodePage(b []byte) (Page, error) {
	d := process.Decoder{B: b}
	p := Page{Number: d.Int(), Width: d.Float(), Height: d.Float(), Blank: d.Bool(), Broken: d.Bool(), Scanned: d.Bool(), Typed: d.Bool()}
	if n := d.Count(28); n > 0 {
		p.Lines = make([]Line, 0, n)
		for range n {
			l := Line{Text: d.Text(), X: d.Float(), Y: d.Float(), Right: d.Float(), Size: d.Float(), Weight: d.Float(), Turned: d.Bool(), Direction: min(Direction(d.Int()&0x7f), Stacked), Confidence: d.Float()}
			l.decodeWords(&d)
			p.Lines = append(p.Lines, l)
		}
	}
	for range d.Count(1) {
		p.Notes = append(p.Notes, d.Text())
	}
	for range d.Count(16) {
		p.Rules = append(p.Rules, Rule{d.Float(), d.Float(), d.Float(), d.Float()})
	}
	return p, d.End()
}

// encodeWords appends the line's words to a payload: of each word that the line's text contains
// after the word before, the number of bytes between the two, plus one, and its length; of any
// other word 0 and its text.
func (l *Line) encodeWords(e *process.Encoder) {
	e.Int(len(l.Words))
	rest := l.Text
	for _, w := range l.Words {
		if at := strings.Index(rest, w.Text); at >= 0 {
			e.Int(at + 1).Int(len(w.Text))
			rest = rest[at+len(w.Text):]
		} else {
			e.Int(0).Text(w.Text)
		}
		e.Float(w.X).Float(w.Right).Float(w.Top).Float(w.Bottom)
	}
}

// decodeWords decodes what encodeWords has appended.
func (l *Line) decodeWords(d *process.Decoder) {
	n := d.Count(18)
	if n == 0 {
		return
	}
	l.Words = make([]Word, 0, n)
	rest := l.Text
	for range n {
		var w Word
		if at := d.Int(); at > 0 {
			from := min(at-1, len(rest))
			to := from + min(d.Int(), len(rest)-from)
			w.Text, rest = rest[from:to], rest[to:]
		} else {
			w.Text = d.Text()
		}
		w.X, w.Right, w.Top, w.Bottom = d.Float(), d.Float(), d.Float(), d.Float()
		l.Words = append(l.Words, w)
	}
}

// failure tells the owner of a file why the file could not be read. fatal means that the
// process must not be reused.
type failure struct {
	text  string
	fatal bool
}

func (f failure) encode() []byte {
	return new(process.Encoder).Text(f.text).Bool(f.fatal).B
}

func decodeFailure(b []byte) (failure, error) {
	d := process.Decoder{B: b}
	f := failure{text: d.Text(), fatal: d.Bool()}
	return f, d.End()
}
