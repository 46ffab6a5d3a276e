package extract

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The size of an upload limits the size of its events: to BytesPerByte bytes for each byte
// of the file, or to MinBytes if that is more. The size of a file that contains its text as
// compressed XML is that of its uncompressed XML, but at most maxInflation times the file's size
// or minXML, whichever is larger.
const (
	BytesPerByte = 8
	MinBytes     = 64 << 10
	maxInflation = 32
	minXML       = 2 << 20

	// otherEvents is the size of a file's events other than sections: acceptance,
	// progress, title, summary, warnings and outcome.
	otherEvents = 24 << 10
	// sectionCost is the size of a section's event without its titles, page breaks and
	// text: metadata, field names and numbers.
	sectionCost = 448
	breakCost   = 9 // bytes of a page break

	// A file may have one section per bytesPerSection bytes, but at least leastSections.
	// Each section becomes a passage of the search index, and even a short passage has
	// a fixed cost.
	bytesPerSection = 32
	leastSections   = 500
)

// Allowance returns the limit for the bytes of a file's section events, including their
// metadata. source is the size of the file or of its XML.
func Allowance(source int64) int64 {
	return max(MinBytes, BytesPerByte*source) - otherEvents
}

// MaxXML returns the limit of the uncompressed XML that counts as the size of a Word
// document; size is the size of the file.
func MaxXML(size int64) int64 { return max(maxInflation*size, minXML) }

// ErrFull stops the extraction of a file when its events have reached the allowance. The
// text written before is kept.
var ErrFull = errors.New("the text has reached its allowance")

// UnlessFull returns err, or nil if it is ErrFull.
func UnlessFull(err error) error {
	if errors.Is(err, ErrFull) {
		return nil
	}
	return err
}

// JSONSize returns an upper bound for the bytes that encoding/json writes for a string and
// a comma.
func JSONSize(text string) int {
	const quotes = len(`"",`)
	if !utf8.ValidString(text) {
		return quotes + len(escape)*len(text)
	}
	n := quotes + len(text)
	for i := 0; i < len(text); i++ {
		n += int(escapes[text[i]])
	}
	return n
}

// escape is a JSON escape sequence.
const escape = `\u003c`

// escapes is, for each byte, how many bytes its JSON escape adds. U+2028 and U+2029, which
// are escaped too, are counted at their first byte. Other characters with that first byte
// are counted alike, so the sum is an upper bound.
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

// cost returns the bytes of a section's event without its text. It assumes metadata of usual
// length.
func (s *Section) cost() int {
	n := sectionCost + JSONSize(s.Title) + breakCost*len(s.PageBreaks)
	for _, title := range s.Path {
		n += JSONSize(title)
	}
	return n
}

// budget limits how much a Writer writes. The zero value is unlimited.
type budget struct {
	limited  bool
	sections int // limit of sections with titles
	// source returns how many bytes of the file, or of the XML in it, were read so far.
	source func() int64
	// reserve returns how many bytes headings must leave for the text that follows.
	reserve func() int64

	spent  int64 // bytes spent by all sections, including the open one
	full   bool
	merged int // headings written as text because the budget was too small
}

// Limit sets the writer's budget for a file of size bytes. The text is assumed to have about
// as many bytes as the file.
func (w *Writer) Limit(size int64) {
	w.budget = budget{
		limited:  true,
		sections: int(max(leastSections, size/bytesPerSection)),
		source:   func() int64 { return size },
		reserve:  func() int64 { return 3 * max(0, size-w.written-w.titled) },
	}
}

// LimitBy sets the writer's budget for a file whose text is compressed: it grows with the
// result of source. Headings then need not leave any bytes for the text that follows.
func (w *Writer) LimitBy(source func() int64) {
	w.budget.source, w.budget.reserve = source, func() int64 { return 0 }
}

// Reserve makes headings leave a number of bytes for the text that follows.
func (w *Writer) Reserve(bytes int64) { w.budget.reserve = func() int64 { return bytes } }

// spend spends n bytes of the budget. If too few are left it returns false, and so do all
// later calls.
func (b *budget) spend(n int) bool {
	if b.limited && !b.full && b.spent+int64(n) > Allowance(b.source()) {
		b.full = true
	}
	if b.full {
		return false
	}
	b.spent += int64(n)
	return true
}

// affords reports whether n bytes for a heading leave enough of the budget for the text that
// follows.
func (b *budget) affords(n int) bool {
	if !b.limited {
		return true
	}
	return b.spent+int64(n)+b.reserve() <= Allowance(b.source())
}

// Warnings returns warnings for the user if text was cut off or headings became text because
// of the budget.
func (w *Writer) Warnings() (all []string) {
	if w.budget.merged > 0 {
		all = append(all, fmt.Sprintf("The file has too many headings for its size: %d of them do not start a section, and are part of the text.", w.budget.merged))
	}
	if w.budget.full {
		all = append(all, fmt.Sprintf("The file contains too much text for its size, and its end is missing: the limit is %d times the size of a file (of the XML in an Office or OpenDocument file), and %d KiB for small files.", BytesPerByte, MinBytes>>10))
	}
	return all
}

// headingLine returns a heading that does not start a section, as a line of text.
func headingLine(level int, title string) string {
	return "\n" + strings.Repeat("#", min(level, 6)) + " " + title + "\n"
}
