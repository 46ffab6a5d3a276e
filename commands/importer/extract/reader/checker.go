package reader

import (
	"errors"
	"slices"
	"unicode/utf8"

	"annals/commands/importer/extract"
)

// checker validates the answers of a process, because a hostile file may have taken the
// process over. It checks each part of a section, their order, and their sums against the
// limits.
type checker struct {
	limits extract.Limits
	last   extract.Section // without its text
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

var errInvalidAnswer = errors.New("the process that read it sent an invalid answer; save it again and upload that")

// section validates the next part of a section.
func (c *checker) section(s extract.Section) error {
	titles := append([]string{s.Title}, s.Path...)
	switch {
	case s.Part == 0 && (c.begun && s.Index != c.last.Index+1 || !c.begun && s.Index != 0),
		s.Part > 0 && (!c.begun || s.Index != c.last.Index || s.Part != c.last.Part+1 || s.Title != c.last.Title || s.Text == ""),
		s.Index > extract.MaxSections+1, s.Level > extract.MaxLevel, len(s.Path) > extract.MaxLevel, len(s.Text) > extract.MaxPart,
		s.EndPage != s.StartPage+len(s.PageBreaks), s.StartPage < c.last.EndPage, len(s.PageBreaks) > maxPageBreaks,
		!slices.IsSorted(s.PageBreaks), len(s.PageBreaks) > 0 && s.PageBreaks[len(s.PageBreaks)-1] > len(s.Text),
		!utf8.ValidString(s.Text),
		slices.ContainsFunc(titles, func(t string) bool { return len(t) > extract.MaxTitle || !utf8.ValidString(t) }):
		return errInvalidAnswer
	}
	c.parts++
	c.bytes += int64(len(s.Text))
	// Normalising may lengthen a text a little; a part is at least half of MaxPart long.
	if c.bytes > 3*c.limits.TextBytes || c.parts > extract.MaxSections+8+c.bytes/(extract.MaxPart/8) {
		return errInvalidAnswer
	}
	c.last, c.begun = s, true
	c.last.Text = ""
	return nil
}

// info validates the Info that ends an answer, and counts its sections.
func (c *checker) info(i *extract.Info) error {
	if len(i.Title) > extract.MaxTitle || !utf8.ValidString(i.Title) || len(i.Warnings) > maxWarnings ||
		slices.ContainsFunc(i.Warnings, func(w string) bool { return len(w) > maxWarning || !utf8.ValidString(w) }) {
		return errInvalidAnswer
	}
	i.Sections = 0
	if c.begun {
		i.Sections = c.last.Index + 1
	}
	return nil
}
