package extract

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The size of the upload bounds the size of a file's events: at most BytesPerByte for each
// of its bytes, or LeastBytes for a small file. For a Word document the bytes of its
// inflated XML count, up to MaxInflation times its size, or LeastXML.
const (
	BytesPerByte = 8
	LeastBytes   = 64 << 10
	MaxInflation = 32
	LeastXML     = 2 << 20

	// otherEvents is how many bytes a file's events besides its sections may take:
	// its acceptance, progress, title, summary, warnings and outcome.
	otherEvents = 24 << 10
	// sectionCost is how many bytes the event of a section or part takes besides its
	// titles, page breaks and text: metadata, field names and numbers.
	sectionCost = 448
	breakCost   = 9 // of one page break

	// A file may have one section for each bytesPerSection of its bytes, and at least
	// leastSections. They are limited because each is a passage in the search index,
	// whose cost does not depend on its length.
	bytesPerSection = 32
	leastSections   = 500
)

// Allowance returns how many bytes the events of a file's sections may take, with their
// metadata. source is the size of the file or of its XML.
func Allowance(source int64) int64 {
	return max(LeastBytes, BytesPerByte*source) - otherEvents
}

// MostXML returns the most bytes of XML that count for a Word document of this size.
func MostXML(size int64) int64 { return max(MaxInflation*size, LeastXML) }

// ErrFull ends the reading of a file whose text has reached its allowance. The text
// written before is kept.
var ErrFull = errors.New("the text has reached its allowance")

// UnlessFull returns err, or nil if it is ErrFull.
func UnlessFull(err error) error {
	if errors.Is(err, ErrFull) {
		return nil
	}
	return err
}

// JSONSize returns the most bytes that encoding/json writes for a string.
func JSONSize(text string) int {
	const least = len(`"",`)
	if !utf8.ValidString(text) {
		return least + len(escape)*len(text)
	}
	n := least + len(text)
	for i := 0; i < len(text); i++ {
		n += int(escapes[text[i]])
	}
	return n
}

// escape is a JSON escape of a character by its number.
const escape = `\u003c`

// escapes has, for each byte, how many bytes its JSON escape adds. U+2028 and U+2029 are
// escaped too; they are counted at their first byte, as are other characters that begin
// with it, so the sum is an upper bound.
var escapes = func() (more [256]uint8) {
	for c := range more {
		switch {
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r':
			more[c] = 1
		case c == '<', c == '>', c == '&', c < ' ', c == 0x7f:
			more[c] = uint8(len(escape) - 1)
		case c == 0xe2:
			more[c] = uint8(len(escape) - len("\u2028"))
		}
	}
	return more
}()

// cost returns the most bytes of a section's event besides its text, for the length of
// most users' metadata.
func (s *Section) cost() int {
	n := sectionCost + JSONSize(s.Title) + breakCost*len(s.PageBreaks)
	for _, title := range s.Path {
		n += JSONSize(title)
	}
	return n
}

// budget is how much a Writer may write. Its zero value is unlimited.
type budget struct {
	bounded  bool
	sections int // most with titles
	// source returns how many bytes of the file, or of its XML, were read so far.
	// rest returns how many bytes headings must leave in the budget, for the text
	// to come.
	source func() int64
	rest   func() int64

	spent  int64 // by all sections, the open one included
	full   bool
	merged int // headings without a section because the budget is too small
}

// Bound gives the writer the budget of a file of size bytes that has about as many bytes
// of text.
func (w *Writer) Bound(size int64) {
	w.budget = budget{
		bounded:  true,
		sections: int(max(leastSections, size/bytesPerSection)),
		source:   func() int64 { return size },
		rest:     func() int64 { return 3 * max(0, size-w.written-w.titled) },
	}
}

// BoundBy lets the budget grow with the result of source, for a file whose text is
// compressed. Headings then leave nothing for the text to come.
func (w *Writer) BoundBy(source func() int64) {
	w.budget.source, w.budget.rest = source, func() int64 { return 0 }
}

// LeaveFor makes headings leave rest bytes of the budget for the text to come.
func (w *Writer) LeaveFor(rest int64) { w.budget.rest = func() int64 { return rest } }

// spend takes n bytes. It returns false if too few are left, and always from then on.
func (b *budget) spend(n int) bool {
	if b.bounded && !b.full && b.spent+int64(n) > Allowance(b.source()) {
		b.full = true
	}
	if b.full {
		return false
	}
	b.spent += int64(n)
	return true
}

// affords reports whether a heading that costs n bytes leaves enough for the
// text to come.
func (b *budget) affords(n int) bool {
	if !b.bounded {
		return true
	}
	return b.spent+int64(n)+b.rest() <= Allowance(b.source())
}

// Warnings returns sentences for the user about text and headings that the budget left out.
func (w *Writer) Warnings() (all []string) {
	if w.budget.merged > 0 {
		all = append(all, fmt.Sprintf("The file has more headings than its size allows sections: %d of them are in the text of the section before them.", w.budget.merged))
	}
	if w.budget.full {
		all = append(all, fmt.Sprintf("The text was cut off: at most %[1]d times the bytes of a file are kept, of a Word document %[1]d times those of its XML, and %[2]d KiB of a small file.", BytesPerByte, LeastBytes>>10))
	}
	return all
}

// headingLine returns a heading that begins no section, as text.
func headingLine(level int, title string) string {
	return "\n" + strings.Repeat("#", min(level, 6)) + " " + title + "\n"
}
