// Package pagemark writes a document's Markdown with a mark before the text of each
// page, so that who reads it can cite: a comment of HTML, which is not shown where
// Markdown is.
//
// A mark can be believed: what looks like one in the document's own text is written
// with an entity in place of its first character, which shows the same and is none.
package pagemark

import (
	"bytes"
	"io"
	"strconv"
)

// Mark returns the mark of a page.
func Mark(page int) string { return "<!-- page " + strconv.Itoa(page) + " -->" }

// Writer writes texts and the marks between them. A text may come in any pieces.
type Writer struct {
	W io.Writer
	// Turned is called before a mark is written. It may be nil.
	Turned func(page int)

	page   int    // of the last mark
	inLine bool   // what was written does not end a line
	held   []byte // the end of the text, which may be the beginning of what looks like a mark
	out    bytes.Buffer
}

// Text writes text of the document. Close writes the last of it.
func (w *Writer) Text(text []byte) error {
	w.escape(text)
	return w.flush()
}

// Page says that what comes is on a page, 0 for one of a document without any. The
// mark stands on a line of its own where it can without breaking one in two.
func (w *Writer) Page(page int) error {
	if page == 0 || page == w.page {
		return nil
	}
	w.release()
	if err := w.flush(); err != nil {
		return err
	}
	if w.page = page; w.Turned != nil {
		w.Turned(page)
	}
	w.out.WriteString(Mark(page))
	if !w.inLine {
		w.out.WriteByte('\n')
	}
	return w.flush()
}

// Part writes a text that begins on a page; breaks are where in it the pages after
// that begin, in bytes. Pages without text get no mark.
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
		if err := w.piece(text[from:to], page+i); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// piece writes the text of one page. Line ends before it belong to the page before.
func (w *Writer) piece(text []byte, page int) error {
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

// Close writes what was held back.
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

// release writes what was held back as it is: with what comes it makes no mark.
func (w *Writer) release() {
	w.out.Write(w.held)
	w.held = w.held[:0]
}

// escape writes text but for its end where that may yet become a mark.
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
		switch like(text) {
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
	open // more is needed to say
)

// maxBlanks is how many blanks what looks like a mark may have before its word.
const maxBlanks = 64

// like reports whether a text begins like a mark: with any blanks, in any case.
func like(text []byte) verdict {
	const begin, word = "<!--", "page"
	for i := range len(begin) {
		if i == len(text) {
			return open
		}
		if text[i] != begin[i] {
			return no
		}
	}
	text = text[len(begin):]
	blanks := 0
	for blanks < len(text) && blanks <= maxBlanks && bytes.IndexByte([]byte(" \t\r\n\v\f"), text[blanks]) >= 0 {
		blanks++
	}
	if blanks > maxBlanks {
		return no
	}
	text = text[blanks:]
	for i := range len(word) {
		if i == len(text) {
			return open
		}
		if text[i]|0x20 != word[i] {
			return no
		}
	}
	return yes
}
