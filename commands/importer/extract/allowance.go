package extract

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What the events of a file may take is bounded by what was uploaded: at most
// BytesPerByte for each of its bytes, or LeastBytes for a small file. Of a
// Word document the bytes of its XML count, as they inflate: up to MaxInflation
// times its size, or LeastXML. Text that compresses better than any that people
// write is still less than its XML, of which eight times are allowed.
const (
	BytesPerByte = 8
	LeastBytes   = 64 << 10
	MaxInflation = 32
	LeastXML     = 2 << 20

	// aside is what the other events of a file may take: that it was accepted,
	// how far the work is, its title, summary and warnings, how it ended.
	aside = 24 << 10
	// sectionCost is what the event of a section or part takes beside its
	// titles, page breaks and text: metadata, field names and numbers.
	sectionCost = 448
	breakCost   = 9 // of one page break

	// A file may have a section for each of so many of its own bytes, or
	// leastSections: each is a passage for the search index, whose cost is not
	// measured in bytes.
	bytesPerSection = 32
	leastSections   = 500
)

// Allowance returns how many bytes the events of a file's sections may take,
// payloads and metadata, for so many bytes of the file or of its XML.
func Allowance(source int64) int64 {
	return max(LeastBytes, BytesPerByte*source) - aside
}

// MostXML returns how many bytes of XML count of a Word document of a size.
func MostXML(size int64) int64 { return max(MaxInflation*size, LeastXML) }

// errFull ends the reading of a file whose text has reached its allowance. What
// was written before stays.
var errFull = errors.New("the text has reached its allowance")

// unlessFull returns the error of a reading, or nil if that only says that the
// allowance is used up.
func unlessFull(err error) error {
	if errors.Is(err, errFull) {
		return nil
	}
	return err
}

// JSONSize returns how many bytes a text takes in JSON, as encoding/json
// writes it, at most.
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

// escape is how JSON writes a character by its number.
const escape = `\u003c`

// escapes is by how many bytes JSON writes more for a byte of a text. For U+2028
// and U+2029, which it escapes, their first byte stands, as others share it.
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

// cost returns how many bytes a section's event takes, at most, beside its text:
// with the metadata of most users.
func (s *Section) cost() int {
	n := sectionCost + JSONSize(s.Title) + breakCost*len(s.PageBreaks)
	for _, title := range s.Path {
		n += JSONSize(title)
	}
	return n
}

// budget is what a sectionWriter may spend. The zero value knows no bound.
type budget struct {
	bounded  bool
	sections int // most with titles
	// source is how many bytes of the file, or of its XML, are known so far,
	// and later how many bytes of text may still come at most, which headings
	// leave room for. Nil is none.
	source func() int64
	later  func() int64

	spent  int64 // by all sections, the open one included
	full   bool
	merged int // headings that begin no section, for lack of room
}

// bound gives the writer the budget of a file of so many bytes whose text comes
// from those bytes, in about as many.
func (w *sectionWriter) bound(size int64) {
	w.budget = budget{
		bounded:  true,
		sections: int(max(leastSections, size/bytesPerSection)),
		source:   func() int64 { return size },
		later:    func() int64 { return 3 * max(0, size-w.written-w.titled) },
	}
}

// spend takes n bytes, or reports that too few are left. From then on it always
// does.
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

// roomFor reports whether a heading that costs n bytes leaves enough for the
// text that comes.
func (b *budget) roomFor(n int) bool {
	if !b.bounded {
		return true
	}
	later := int64(0)
	if b.later != nil {
		later = b.later()
	}
	return b.spent+int64(n)+later <= Allowance(b.source())
}

// warnings says what the bound has cost.
func (w *sectionWriter) warnings() (all []string) {
	if w.budget.merged > 0 {
		all = append(all, fmt.Sprintf("The file has more headings than its size allows sections: %d of them stand in the text of the sections before.", w.budget.merged))
	}
	if w.budget.full {
		all = append(all, fmt.Sprintf("The text was cut off: at most %[1]d times the bytes of a file are kept, of a Word document %[1]d times those of its XML, and %[2]d KiB of a small file.", BytesPerByte, LeastBytes>>10))
	}
	return all
}

// headingLine is a heading that begins no section.
func headingLine(level int, title string) string {
	return "\n" + strings.Repeat("#", min(level, 6)) + " " + title + "\n"
}
