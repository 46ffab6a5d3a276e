package extract

import (
	"errors"
	"slices"
	"unicode/utf8"

	"annals/commands/importer/extract/process"
)

// The kinds of frames between a Reader and its processes. A request is answered
// by sections and steps, and last by done or failed. While a PDF is read, its
// pages follow the request, as another process read them.
const (
	requestFrame process.Kind = process.Ready + 1 + iota
	documentFrame
	pageFrame
	endFrame
	sectionFrame
	stepFrame
	doneFrame
	failedFrame
)

// request asks for a file to be read that comes beside it.
type request struct {
	path, name string
	pages      int
	textBytes  int64
}

func (r request) encode() []byte {
	return new(process.Encoder).Text(r.path).Text(r.name).Int(r.pages).Int(int(r.textBytes)).B
}

func decodeRequest(b []byte) (request, error) {
	d := process.Decoder{B: b}
	r := request{path: d.Text(), name: d.Text(), pages: d.Int(), textBytes: d.Long()}
	return r, d.End()
}

func encodeSection(e *process.Encoder, s Section) {
	e.Int(s.Index).Int(s.Part).Int(s.Level).Text(s.Title).Int(len(s.Path))
	for _, title := range s.Path {
		e.Text(title)
	}
	e.Int(s.StartPage).Int(s.EndPage).Int(len(s.PageBreaks))
	for _, b := range s.PageBreaks {
		e.Int(b)
	}
	e.Text(s.Text)
}

func decodeSection(b []byte) (Section, error) {
	d := process.Decoder{B: b}
	s := Section{Index: d.Int(), Part: d.Int(), Level: d.Int(), Title: d.Text()}
	for range d.Count(1) {
		s.Path = append(s.Path, d.Text())
	}
	s.StartPage, s.EndPage = d.Int(), d.Int()
	for range d.Count(1) {
		s.PageBreaks = append(s.PageBreaks, d.Int())
	}
	s.Text = d.Text()
	return s, d.End()
}

// encode returns the Info of an answer, and whether that is the last one of its
// process.
func (i Info) encode(last bool) []byte {
	e := new(process.Encoder).Text(i.Title).Int(i.Pages).Int(int(i.XML)).Int(len(i.Warnings))
	for _, w := range i.Warnings {
		e.Text(w)
	}
	return e.Bool(last).B
}

func decodeInfo(b []byte) (i Info, last bool, err error) {
	d := process.Decoder{B: b}
	i = Info{Title: d.Text(), Pages: d.Int(), XML: d.Long()}
	for range d.Count(1) {
		i.Warnings = append(i.Warnings, d.Text())
	}
	last = d.Bool()
	return i, last, d.End()
}

// failure is why a file was not read to its end.
type failure struct {
	text string
	file bool // it is the file's own fault
	last bool // no other answer follows of its process
}

func (f failure) encode() []byte {
	return new(process.Encoder).Text(f.text).Bool(f.file).Bool(f.last).B
}

func decodeFailure(b []byte) (failure, error) {
	d := process.Decoder{B: b}
	f := failure{text: d.Text(), file: d.Bool(), last: d.Bool()}
	return f, d.End()
}

// checker holds what comes from a process against what a reader of files may
// send, so that whatever a file made of that process, no more than one part of
// a section is held of it, and no more than the limits allow is passed on.
type checker struct {
	limits Limits
	last   Section // without its text
	begun  bool
	parts  int64
	bytes  int64
}

const (
	maxSectionFrame = 1 << 20 // bytes of a part with its titles and pages
	maxWarnings     = 100
	maxWarning      = 4 << 10 // bytes of a warning or of why a file was not read
	maxPageBreaks   = 100_000 // of a part
)

var errUnfit = errors.New("what its reader sent cannot be of a file")

// section judges the next part of a section.
func (c *checker) section(s Section) error {
	titles := append([]string{s.Title}, s.Path...)
	switch {
	case s.Part == 0 && (c.begun && s.Index != c.last.Index+1 || !c.begun && s.Index != 0),
		s.Part > 0 && (!c.begun || s.Index != c.last.Index || s.Part != c.last.Part+1 || s.Title != c.last.Title || s.Text == ""),
		s.Index > maxSections+1, s.Level > maxLevel, len(s.Path) > maxLevel, len(s.Text) > MaxPart,
		s.EndPage != s.StartPage+len(s.PageBreaks), s.StartPage < c.last.EndPage, len(s.PageBreaks) > maxPageBreaks,
		!slices.IsSorted(s.PageBreaks), len(s.PageBreaks) > 0 && s.PageBreaks[len(s.PageBreaks)-1] > len(s.Text),
		!utf8.ValidString(s.Text),
		slices.ContainsFunc(titles, func(t string) bool { return len(t) > maxTitle || !utf8.ValidString(t) }):
		return errUnfit
	}
	c.parts++
	c.bytes += int64(len(s.Text))
	// Composing letters may lengthen a text a little; a part is at least half of what it may be.
	if c.bytes > 3*c.limits.TextBytes || c.parts > maxSections+8+c.bytes/(MaxPart/8) {
		return errUnfit
	}
	c.last, c.begun = s, true
	c.last.Text = ""
	return nil
}

// info judges what is said at the end.
func (c *checker) info(i *Info) error {
	if len(i.Title) > maxTitle || !utf8.ValidString(i.Title) || len(i.Warnings) > maxWarnings ||
		slices.ContainsFunc(i.Warnings, func(w string) bool { return len(w) > maxWarning || !utf8.ValidString(w) }) {
		return errUnfit
	}
	i.Sections = 0
	if c.begun {
		i.Sections = c.last.Index + 1
	}
	return nil
}
