package reader

import (
	"errors"
	"slices"
	"unicode/utf8"

	"annals/commands/importer/extract"
)

// checker validates the responses of a process, because a hostile file may have taken
// control of the process. It checks every part of a section, the order of the parts, and
// their totals.
type checker struct {
	limits extract.Limits
	last   extract.Section // the last section received, without its text
	begun  bool            // a section was received
	parts  int64
	bytes  int64
}

const (
	maxSectionFrame = 1 << 20 // bytes of an encoded part
	maxWarnings     = 100
	maxWarning      = 4 << 10 // bytes of a warning or of the reason for a failure
	maxPageBreaks   = 100_000 // page breaks of a part
)

var errInvalidResponse = errors.New("the process that read it sent an invalid response: save it again, and upload the new file")

// section validates the next part of a section.
func (c *checker) section(s extract.Section) error {
	titles := append([]string{s.Title}, s.Path...)
	switch {
	case s.Part == 0 && (c.begun && s.Index != c.last.Index+1 || !c.begun && s.Index != 0),
		s.Part > 0 && (!c.begun || s.Index != c.last.Index || s.Part != c.last.Part+1 || s.Title != c.last.Title || s.Text == ""),
		s.Index > extract.MaxSections+1, s.Level > extract.MaxLevel, len(s.Path) > extract.MaxLevel, len(s.Text) > extract.MaxPart,
		s.EndPage != s.StartPage+len(s.PageBreaks), s.StartPage < c.last.EndPage, len(s.PageBreaks) > maxPageBreaks,
		!slices.IsSorted(s.PageBreaks), len(s.PageBreaks) > 0 && s.PageBreaks[len(s.PageBreaks)-1] > len(s.Text),
		!utf8.ValidString(s.Text), s.OCR != (s.Confidence > 0), s.Confidence > 1,
		slices.ContainsFunc(titles, func(t string) bool { return len(t) > extract.MaxTitle || !utf8.ValidString(t) }):
		return errInvalidResponse
	}
	c.parts++
	c.bytes += int64(len(s.Text))
	// NFC may lengthen a text a little. A part that does not begin a section follows one of at least
	// MaxPart/2 bytes, or begins where recognised text begins or ends, or a page with another
	// confidence: twice on a page at most.
	if c.bytes > 3*c.limits.TextBytes || c.parts > extract.MaxSections+8+c.bytes/(extract.MaxPart/8)+2*int64(c.limits.Pages) {
		return errInvalidResponse
	}
	c.last, c.begun = s, true
	c.last.Text = ""
	return nil
}

// info validates the Info at the end of a response, and sets its number of sections.
func (c *checker) info(i *extract.Info) error {
	if i.OCRPages > i.Pages || i.UnreadPages > i.Pages || i.Confidence > 1 || i.Confidence > 0 && i.OCRPages == 0 ||
		len(i.Title) > extract.MaxTitle || !utf8.ValidString(i.Title) || len(i.Warnings) > maxWarnings ||
		slices.ContainsFunc(i.Warnings, func(w string) bool { return len(w) > maxWarning || !utf8.ValidString(w) }) {
		return errInvalidResponse
	}
	i.Sections = 0
	if c.begun {
		i.Sections = c.last.Index + 1
	}
	return nil
}
