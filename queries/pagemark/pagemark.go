// Package pagemark writes a document's Markdown with a mark before the text of each
// page, so that readers can cite pages. A mark is an HTML comment, which rendered
// Markdown does not show.
//
// A second mark precedes text of which words were recognised in pictures of pages. It names
// their pages and the confidence.
//
// Marks cannot be forged: if a comment in the document's own text contains the word
// page, in any spelling, its first character is replaced by an entity. The comment is
// then shown as text; in code the entity itself is shown.
package pagemark

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark returns the mark of a page.
func Mark(page int) string { return "<!-- page " + strconv.Itoa(page) + " -->" }

// Writer writes texts and the marks between them. A text may be written in pieces of
// any size.
type Writer struct {
	W io.Writer
	// OnPage, if not nil, is called before a mark is written.
	OnPage func(page int)

	page   int    // of the last mark
	inLine bool   // the output does not end with a line end
	held   []byte // end of the text so far, not yet written because it may begin a forged mark
	out    bytes.Buffer
}

// Text writes text of the document. It may buffer the end of the text until more text
// follows or Close is called.
func (w *Writer) Text(text []byte) error {
	w.escape(text)
	return w.flush()
}

// Page sets the page of the text that follows, 0 if the document has no pages. The mark
// gets its own line unless that would split a line of text.
func (w *Writer) Page(page int) error {
	if page == 0 || page == w.page {
		return nil
	}
	if err := w.endComment(); err != nil {
		return err
	}
	if w.page = page; w.OnPage != nil {
		w.OnPage(page)
	}
	return w.mark(Mark(page))
}

// Recognised marks the text that follows: words of it were recognised in pictures of these pages,
// which rise, with this confidence. There are no pages if the document has none.
func (w *Writer) Recognised(pages []int, confidence float64) error {
	of := "the page"
	if len(pages) > 0 {
		if err := w.Page(pages[0]); err != nil {
			return err
		}
		of = "page " + ranges(pages)
		if len(pages) > 1 {
			of = "pages " + ranges(pages)
		}
	}
	if err := w.endComment(); err != nil {
		return err
	}
	return w.mark(fmt.Sprintf("<!-- recognised in a picture of %s, confidence %.3f -->", of, confidence))
}

// maxRanges is the number of ranges of pages that a mark names. What follows is "some from 70 to 95".
const maxRanges = 10

// ranges returns pages such as "1-3, 5, 7-9".
func ranges(pages []int) string {
	var out []string
	for i := 0; i < len(pages); {
		first := i
		for i++; i < len(pages) && pages[i] == pages[i-1]+1; i++ {
		}
		text, last := strconv.Itoa(pages[first]), pages[i-1]
		if len(out) == maxRanges && i < len(pages) {
			return strings.Join(append(out, fmt.Sprintf("some from %d to %d", pages[first], pages[len(pages)-1])), ", ")
		}
		if last > pages[first] {
			text += "-" + strconv.Itoa(last)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// endComment escapes a comment that is still open. Otherwise a mark would be part of it.
func (w *Writer) endComment() error {
	for len(w.held) > 1 {
		rest := w.held[1:]
		w.held = nil
		w.out.WriteString("&lt;")
		w.escape(rest)
	}
	w.release()
	return w.flush()
}

func (w *Writer) mark(mark string) error {
	w.out.WriteString(mark)
	if !w.inLine {
		w.out.WriteByte('\n')
	}
	return w.flush()
}

// Part writes a text that begins on a page; breaks are the byte offsets in the text at
// which the following pages begin. Pages without text get no mark.
func (w *Writer) Part(text []byte, page int, breaks []int) error {
	if page == 0 {
		return w.Text(text)
	}
	from := 0
	for i := range len(breaks) + 1 {
		to := len(text)
		if i < len(breaks) {
			to = min(max(breaks[i], from), to)
		}
		if err := w.piece(text[from:to], page+i, lastLine(text[:from])); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// lastLine returns the last line of text with its end, or nothing if it has none.
func lastLine(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		return text[bytes.LastIndexByte(text[:n-1], '\n')+1:]
	}
	return nil
}

// piece writes the text of one page, which follows the line before. Leading line ends belong to the
// previous page.
func (w *Writer) piece(text []byte, page int, before []byte) error {
	if len(text) > 0 && text[0] == '|' && bytes.HasPrefix(before, []byte("|")) && page != w.page {
		// A mark on a line of its own would end the table.
		if err := w.Text(text[:1]); err != nil {
			return err
		}
		text = text[1:]
	}
	rest := bytes.TrimLeft(text, "\r\n")
	if err := w.Text(text[:len(text)-len(rest)]); err != nil {
		return err
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		if err := w.Page(page); err != nil {
			return err
		}
	}
	return w.Text(rest)
}

// Close writes the buffered text.
func (w *Writer) Close() error {
	w.release()
	return w.flush()
}

func (w *Writer) flush() error {
	defer w.out.Reset()
	if w.out.Len() == 0 {
		return nil
	}
	w.inLine = w.out.Bytes()[w.out.Len()-1] != '\n'
	_, err := w.W.Write(w.out.Bytes())
	return err
}

// release writes the buffered text unchanged.
func (w *Writer) release() {
	w.out.Write(w.held)
	w.held = w.held[:0]
}

// escape writes text with forged marks escaped. It buffers the end of the text if that
// may be the beginning of a forged mark.
func (w *Writer) escape(text []byte) {
	if len(w.held) > 0 {
		text = append(w.held, text...)
		w.held = nil
	}
	for {
		at := bytes.IndexByte(text, '<')
		if at < 0 {
			w.out.Write(text)
			return
		}
		w.out.Write(text[:at])
		text = text[at:]
		switch forged(text) {
		case yes:
			w.out.WriteString("&lt;")
		case no:
			w.out.WriteByte('<')
		case open:
			w.held = append([]byte(nil), text...)
			return
		}
		text = text[1:]
	}
}

type verdict int

const (
	no verdict = iota
	yes
	open // more text is needed to decide
)

// maxComment is how many bytes of a comment are examined. A longer comment is always
// escaped, because its rest may contain a mark.
const maxComment = 1024

// forged reports whether text begins with a comment that a person or a tolerant parser
// could take for a mark, because the word page is in it. It ignores invisible characters,
// blanks and punctuation. A non-ASCII letter matches any letter, because many look alike.
func forged(text []byte) verdict {
	i, v := opening(text)
	if v != yes {
		return v
	}
	if i < len(text) && text[i] == '-' { // "<!--->" does not end the comment
		i++
	}
	var last [4]byte // letters
	for i <= maxComment {
		rest := text[i:]
		if bytes.HasPrefix(rest, []byte("-->")) {
			return no
		}
		if bytes.HasPrefix([]byte("-->"), rest) {
			return open
		}
		if rest[0] == '<' { // a nested comment is checked, too
			if _, v := opening(rest); v != no {
				return v
			}
		}
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && !utf8.FullRune(rest) {
			return open
		}
		i += size
		letter := letterOf(r)
		if letter == 0 {
			continue
		}
		last = [4]byte{last[1], last[2], last[3], letter}
		if spells(last, "page") {
			return yes
		}
	}
	return yes
}

// opening reports whether text begins with the start of a comment, and its length.
func opening(text []byte) (n int, v verdict) {
	for at, want := range "<!-" {
		for {
			if n == len(text) {
				return n, open
			}
			r, size := utf8.DecodeRune(text[n:])
			if r == utf8.RuneError && !utf8.FullRune(text[n:]) {
				return n, open
			}
			n += size
			if r == want || at == 2 && (unicode.Is(unicode.Pd, r) || r == '\u2212') {
				break
			}
			if at == 0 || !unseen(r) && (at == 1 || !unicode.IsSpace(r)) {
				return n, no
			}
			if n > maxComment {
				return n, yes
			}
		}
	}
	return n, yes
}

// letterOf returns an ASCII letter in lower case, anyLetter for a character that may
// look like a letter, other for a character that cannot, and 0 for a character to skip.
func letterOf(r rune) byte {
	switch {
	case 'a' <= r|0x20 && r|0x20 <= 'z':
		return byte(r | 0x20)
	case r < utf8.RuneSelf || unseen(r) || unicode.IsPunct(r):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return other
	}
	return anyLetter
}

const (
	anyLetter = '?'
	other     = '-'
)

// spells reports whether the letters can be read as a word.
func spells(letters [4]byte, word string) bool {
	for i, l := range letters {
		if l != word[i] && l != anyLetter {
			return false
		}
	}
	return true
}

// unseen reports whether r has no width, or is a non-ASCII blank.
func unseen(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r':
		return false
	case '\u2800', utf8.RuneError: // empty Braille pattern; invalid UTF-8
		return true
	}
	return unicode.IsSpace(r) || unicode.In(r, unicode.C, unicode.M, unicode.Other_Default_Ignorable_Code_Point)
}
