package pdfium

// Document is what a file says of itself before its pages are read.
type Document struct {
	Pages   int
	Title   string // of the document's own metadata, as it stands there
	Outline []Bookmark
}

// Bookmark is one entry of a document's outline, in the order of the outline.
type Bookmark struct {
	Level int // from 1
	Title string
	Page  int     // from 1; 0 where it leads nowhere within the document
	Y     float32 // from the top of its page, in points; negative where it is not told
}

// Page is one page's text.
type Page struct {
	Number        int     // from 1
	Width, Height float32 // as it is shown, in points
	Lines         []Line  // in reading order
	// Notes are what stands on the page beside its text: filled-in form
	// fields as "name: value", comments, and names of attached files.
	Notes []string
	Blank bool // neither text nor image is on the page
	// Broken tells that the page could not be read, or only in part.
	Broken bool
}

// Line is one line of a page. X, Y and Right are measured in points from the
// left and the top of the page as it is shown; Y is its baseline.
type Line struct {
	Text        string
	X, Y, Right float32
	Size        float32 // of its first letter's font as it is shown, in points; 0 if unknown
	Weight      float32 // of that font, 400 is regular and 700 bold; 0 if unknown
	Turned      bool    // it does not run from left to right
}

// request asks for a file to be opened, or for pages of the open file, or,
// empty, for this to be closed.
type request struct {
	path        string
	maxPages    int
	first, last int
}

func (r request) encode() []byte {
	var e encoder
	e.text(r.path)
	e.int(r.maxPages)
	e.int(r.first)
	e.int(r.last)
	return e.b
}

func decodeRequest(b []byte) (request, error) {
	d := decoder{b: b}
	r := request{path: d.text(), maxPages: d.int(), first: d.int(), last: d.int()}
	return r, d.end()
}

func (doc Document) encode() []byte {
	var e encoder
	e.int(doc.Pages)
	e.text(doc.Title)
	e.int(len(doc.Outline))
	for _, b := range doc.Outline {
		e.int(b.Level)
		e.text(b.Title)
		e.int(b.Page)
		e.float(b.Y)
	}
	return e.b
}

func decodeDocument(b []byte) (Document, error) {
	d := decoder{b: b}
	doc := Document{Pages: d.int(), Title: d.text()}
	for range d.count(7) {
		doc.Outline = append(doc.Outline, Bookmark{Level: d.int(), Title: d.text(), Page: d.int(), Y: d.float()})
	}
	return doc, d.end()
}

func (p *Page) encode(e *encoder) {
	e.int(p.Number)
	e.float(p.Width)
	e.float(p.Height)
	e.bool(p.Blank)
	e.bool(p.Broken)
	e.int(len(p.Lines))
	for _, l := range p.Lines {
		e.text(l.Text)
		e.float(l.X)
		e.float(l.Y)
		e.float(l.Right)
		e.float(l.Size)
		e.float(l.Weight)
		e.bool(l.Turned)
	}
	e.int(len(p.Notes))
	for _, n := range p.Notes {
		e.text(n)
	}
}

func decodePage(b []byte) (Page, error) {
	d := decoder{b: b}
	p := Page{Number: d.int(), Width: d.float(), Height: d.float(), Blank: d.bool(), Broken: d.bool()}
	if n := d.count(22); n > 0 {
		p.Lines = make([]Line, 0, n)
		for range n {
			p.Lines = append(p.Lines, Line{Text: d.text(), X: d.float(), Y: d.float(), Right: d.float(), Size: d.float(), Weight: d.float(), Turned: d.bool()})
		}
	}
	for range d.count(1) {
		p.Notes = append(p.Notes, d.text())
	}
	return p, d.end()
}

// failure says why a file could not be read, as a sentence for its owner.
// Where the process must not be used again, fatal is set.
type failure struct {
	text  string
	fatal bool
}

func (f failure) encode() []byte {
	var e encoder
	e.text(f.text)
	e.bool(f.fatal)
	return e.b
}

func decodeFailure(b []byte) (failure, error) {
	d := decoder{b: b}
	f := failure{text: d.text(), fatal: d.bool()}
	return f, d.end()
}
