package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"annals/events/fault"

	"golang.org/x/text/unicode/norm"
)

// Limits of the titles of sections.
const (
	MaxTitle = 1 << 10 // bytes of a title; longer ones are truncated
	MaxLevel = 16      // level of a section; deeper sections get this level
)

// Writer turns a stream of headings, text and page numbers into sections. A long section has
// several parts, whose texts together are the text of the section, and so has one of which only
// some text was recognised, or with clearly different confidences. The Writer emits each part when
// it is full, when recognised text begins or ends, or at a page of another confidence. It buffers
// at most one part and one write.
//
// Call Page at the start of a page, Begin for a section, and Write for its text; text before
// the first Begin becomes a section of level 0 without title. Close ends the last section. A
// Writer must not be used after an error.
type Writer struct {
	emit     func(Section) error
	maxBytes int64 // maximum bytes of the whole text; 0 means no limit
	budget   budget

	written int64
	titled  int64     // bytes of titles, including their markup
	count   int       // sections begun
	page    int       // page of the next text; 0 for formats without pages
	cur     Section   // the open part, without its text
	path    []heading // titles of the open section and of the sections around it
	open    bool
	buf     []byte // text of the open part
	ocr     recognition
	blank   int // trailing line ends, which are dropped unless more text follows
}

type heading struct {
	level int
	title string
}

// NewWriter returns a Writer that emits at most maxBytes of text; 0 means no limit.
func NewWriter(emit func(Section) error, maxBytes int64) *Writer {
	return &Writer{emit: emit, maxBytes: maxBytes}
}

// Sections returns the number of sections so far, including the open one.
func (w *Writer) Sections() int { return w.count }

// Page starts page n, counted from 1. It does nothing if page n is not after the current
// page. Empty pages at the end of a section do not belong to the section.
func (w *Writer) Page(n int) {
	if n > w.page {
		w.page = n
	}
}

// Recognised says that the titles and text that follow were recognised in a picture of the
// page, with this confidence, from 0 to 1. A confidence of 0 or less ends that; text that is
// recognised without any confidence must have a very small one.
func (w *Writer) Recognised(confidence float64) { w.ocr.set(confidence) }

// RecognisedPage sets the mean confidence of all text of the page that was recognised, or 0 if that
// is unknown. It applies until it is set again. Parts end before a page whose confidence differs
// from those of their pages by more than maxSpread.
func (w *Writer) RecognisedPage(confidence float64) { w.ocr.page = min(confidence, 1) }

// Begin ends the open section and starts one with this title and level, from 1. It does
// nothing if the title is empty. If the budget is too small, or after MaxSections, the title
// becomes text of the open section.
func (w *Writer) Begin(level int, title string) error {
	title = CleanTitle(title)
	if title == "" {
		return nil
	}
	level = min(max(level, 1), MaxLevel)
	if w.count >= MaxSections || !w.affords(level, title) {
		w.budget.merged++
		return w.Write(headingLine(level, title))
	}
	if err := w.end(); err != nil {
		return err
	}
	for len(w.path) > 0 && w.path[len(w.path)-1].level >= level {
		w.path = w.path[:len(w.path)-1]
	}
	w.path = append(w.path, heading{level, title})
	w.titled += int64(len(title) + len("# \n"))
	return w.start(level, title)
}

// affords reports whether the budget allows a section with this title.
func (w *Writer) affords(level int, title string) bool {
	if !w.budget.limited {
		return true
	}
	if w.count >= w.budget.sections {
		return false
	}
	s := Section{Title: title, Path: []string{title}}
	for _, h := range w.path {
		if h.level < level {
			s.Path = append(s.Path, h.title)
		}
	}
	return w.budget.affords(s.cost())
}

func (w *Writer) start(level int, title string) error {
	w.cur = Section{Index: w.count, Level: level, Title: title, StartPage: w.page}
	for _, h := range w.path {
		w.cur.Path = append(w.cur.Path, h.title)
	}
	if !w.budget.spend(w.cur.cost()) {
		return ErrFull
	}
	w.count++
	w.ocr.begin(title)
	w.open, w.buf, w.blank = true, w.buf[:0], 0
	return nil
}

// Write adds text to the open section, in NFC and with line feeds as line ends. It drops line
// ends at the start and end of the section. If the budget is used up, the error is ErrFull, and
// nothing of the text is added.
func (w *Writer) Write(text string) error {
	text = cleanText(text)
	body := strings.TrimLeft(text, "\n")
	w.blank += len(text) - len(body)
	if body == "" {
		return nil
	}
	if !w.open {
		if err := w.start(0, ""); err != nil {
			return err
		}
	}
	cost, turns := w.textCost(body), w.turns()
	if turns {
		cost += w.cur.cost()
	}
	if !w.budget.spend(cost) {
		return ErrFull
	}
	if len(w.buf) > 0 {
		for range min(w.blank, 64) {
			w.buf = append(w.buf, '\n')
		}
	}
	if turns {
		if err := w.turn(); err != nil {
			return err
		}
	}
	pages := len(w.cur.PageBreaks)
	for w.cur.StartPage+len(w.cur.PageBreaks) < w.page {
		w.cur.PageBreaks = append(w.cur.PageBreaks, len(w.buf))
	}
	trimmed, from := strings.TrimRight(body, "\n"), len(w.buf)
	w.blank = len(body) - len(trimmed)
	if w.written += int64(len(trimmed)); w.maxBytes > 0 && w.written > w.maxBytes {
		return fault.Errorf(fault.Invalid, "the file contains more than %d bytes of text (--max-text-bytes): split it, and upload the parts", w.maxBytes)
	}
	switch {
	case isASCII(trimmed): // already in NFC
		w.buf = append(w.buf, trimmed...)
	case pages == len(w.cur.PageBreaks):
		w.buf = norm.NFC.AppendString(w.buf, trimmed)
	default: // a combining mark must not join the last letter of the previous page
		w.buf = append(w.buf, norm.NFC.String(trimmed)...)
	}
	w.ocr.wrote(from, len(w.buf))
	return w.cut()
}

// turns reports whether the text that follows was recognised and the open part was not, or the
// other way round, or was recognised with clearly another confidence.
func (w *Writer) turns() bool {
	return (len(w.buf) > 0 || w.cur.Part == 0 && w.cur.Title != "") && w.ocr.turns()
}

// turn ends the open part, so that no part has both recognised and other text, and its confidence
// is about that of each of its pages. The part may be just a title, of the page before or above a
// note.
func (w *Writer) turn() error {
	if err := w.cut(); err != nil {
		return err
	}
	err := w.part(w.buf, len(w.buf))
	w.buf, w.cur.StartPage = w.buf[:0], w.page
	w.ocr.turn()
	return err
}

// textCost returns how many bytes of the budget a text costs.
func (w *Writer) textCost(body string) int {
	if !w.budget.limited {
		return 0
	}
	n := JSONSize(body) - JSONSize("") + 2*min(w.blank, 64)
	if breaks := w.page - w.cur.StartPage - len(w.cur.PageBreaks); breaks > 0 {
		n += breakCost * breaks
	}
	if all := len(w.buf) + len(body); all > MaxPart { // each part is an event, of at least MaxPart/2 bytes
		n += all / (MaxPart / 2) * w.cur.cost()
	}
	if !isASCII(body) { // NFC makes some characters longer
		n += max(0, len(norm.NFC.String(body))-len(body))
	}
	return n
}

// cut emits full parts until the rest fits into one.
func (w *Writer) cut() error {
	rest := w.buf
	for len(rest) > MaxPart {
		n := cutPoint(rest[:MaxPart])
		if err := w.part(rest[:n], n); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if len(rest) < len(w.buf) {
		w.buf = append(w.buf[:0], rest...)
	}
	return nil
}

// part emits text, which is the first n bytes of the open part. The rest becomes the open
// part.
func (w *Writer) part(text []byte, n int) error {
	out, next := w.cur, w.cur
	next.Part++
	next.PageBreaks = nil
	out.PageBreaks = nil
	for _, b := range w.cur.PageBreaks {
		switch {
		case b < n:
			out.PageBreaks = append(out.PageBreaks, b)
			next.StartPage++
		case b == n:
			next.StartPage++
		default:
			next.PageBreaks = append(next.PageBreaks, b-n)
		}
	}
	out.EndPage = out.StartPage + len(out.PageBreaks)
	out.Text = string(text)
	out.Confidence = w.ocr.cut(text)
	out.OCR = out.Confidence > 0
	w.cur = next
	return w.emit(out)
}

// end emits the open part, if any.
func (w *Writer) end() error {
	if !w.open {
		return nil
	}
	w.open = false
	return w.part(w.buf, len(w.buf))
}

// Close ends the last section.
func (w *Writer) Close() error { return w.end() }

// cutPoint returns where in b to end a part: in the second half of b, after the last
// paragraph, or else the last line, sentence or word.
func cutPoint(b []byte) int {
	half := len(b) / 2
	for _, sep := range []string{"\n\n", "\n", ". ", " "} {
		if i := bytes.LastIndex(b[half:], []byte(sep)); i >= 0 {
			return half + i + len(sep)
		}
	}
	n := len(b) - 1
	for !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// cleanText returns text as valid UTF-8 with "\n" line ends and without NULs.
func cleanText(text string) string {
	if strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, 0) >= 0 {
		text = textCleaner.Replace(text)
	}
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

var textCleaner = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "")

func isASCII(text string) bool {
	for ; len(text) >= 8; text = text[8:] {
		if (text[0]|text[1]|text[2]|text[3]|text[4]|text[5]|text[6]|text[7])&0x80 != 0 {
			return false
		}
	}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
