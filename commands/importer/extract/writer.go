package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"annals/events/fault"

	"golang.org/x/text/unicode/norm"
)

// Bounds on the titles of sections.
const (
	MaxTitle = 1 << 10 // bytes of a section's title; a longer one is cut
	MaxLevel = 16      // deepest level of a section; deeper ones become siblings there
)

// Writer turns a stream of headings, text and page starts into
// sections, and hands each part to emit as soon as it is full. It never holds
// more than one part and one write. The parts of a section, put together,
// are its text byte for byte.
//
// A caller starts pages with Page, sections with Begin, and adds text with
// Write; text before the first Begin makes an untitled section of level 0.
// Close ends the last section. After an error it must not be used again.
type Writer struct {
	emit     func(Section) error
	maxBytes int64 // of all text; 0 means no limit
	budget   budget

	written int64
	titled  int64     // bytes of titles with their markup
	count   int       // sections begun
	page    int       // the page that the next text is on; 0 for formats without pages
	cur     Section   // the open part, without its text
	path    []heading // titles above and of the open section
	open    bool
	buf     []byte // text of the open part
	blank   int    // line ends that count only if more text follows
}

type heading struct {
	level int
	title string
}

// NewWriter returns a writer that emits at most maxBytes of text; 0 means
// no limit.
func NewWriter(emit func(Section) error, maxBytes int64) *Writer {
	return &Writer{emit: emit, maxBytes: maxBytes}
}

// Sections returns the number of sections so far, the open one included.
func (w *Writer) Sections() int { return w.count }

// Page begins page n, counted from 1. A page that is not after the current one is
// ignored. Empty pages at the end of a section are not counted to it.
func (w *Writer) Page(n int) {
	if n > w.page {
		w.page = n
	}
}

// Begin ends the open section and starts one with this title, level levels
// deep, from 1. An empty title keeps the text of the open section together
// and starts nothing. A title beyond the budget becomes text.
func (w *Writer) Begin(level int, title string) error {
	title = CleanTitle(title)
	if title == "" {
		return nil
	}
	level = min(max(level, 1), MaxLevel)
	if !w.affords(level, title) {
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

// affords reports whether the budget has room for a section with this title.
func (w *Writer) affords(level int, title string) bool {
	if !w.budget.bounded {
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
	w.open, w.buf, w.blank = true, w.buf[:0], 0
	return nil
}

// Write adds text to the open section, normalised to NFC and "\n" line ends.
// Line ends at the beginning and the end of a section are left out. If the
// budget is used up the error is ErrFull, and nothing of the text is added.
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
	if !w.budget.spend(w.textCost(body)) {
		return ErrFull
	}
	if len(w.buf) > 0 {
		for range min(w.blank, 64) {
			w.buf = append(w.buf, '\n')
		}
	}
	pages := len(w.cur.PageBreaks)
	for w.cur.StartPage+len(w.cur.PageBreaks) < w.page {
		w.cur.PageBreaks = append(w.cur.PageBreaks, len(w.buf))
	}
	trimmed := strings.TrimRight(body, "\n")
	w.blank = len(body) - len(trimmed)
	if w.written += int64(len(trimmed)); w.maxBytes > 0 && w.written > w.maxBytes {
		return fault.Errorf(fault.Invalid, "the file holds more than %d bytes of text", w.maxBytes)
	}
	switch {
	case isASCII(trimmed): // already normal: the fast path for most text
		w.buf = append(w.buf, trimmed...)
	case pages == len(w.cur.PageBreaks):
		w.buf = norm.NFC.AppendString(w.buf, trimmed)
	default: // a mark must not move onto the letter before the page's beginning
		w.buf = append(w.buf, norm.NFC.String(trimmed)...)
	}
	return w.cut()
}

// textCost returns what the budget is charged for a text.
func (w *Writer) textCost(body string) int {
	if !w.budget.bounded {
		return 0
	}
	n := JSONSize(body) - JSONSize("") + 2*min(w.blank, 64)
	if turned := w.page - w.cur.StartPage - len(w.cur.PageBreaks); turned > 0 {
		n += breakCost * turned
	}
	if all := len(w.buf) + len(body); all > MaxPart { // each part is an event of its own, and holds half of MaxPart at least
		n += all / (MaxPart / 2) * w.cur.cost()
	}
	if !isASCII(body) { // NFC makes some characters longer
		n += max(0, len(norm.NFC.String(body))-len(body))
	}
	return n
}

// cut emits full parts until what is left fits into one.
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

// part emits text, the first n bytes of the open part. The rest becomes the open part.
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

// cutPoint returns where to end a part within b: after the last paragraph in its
// second half, or else the last line, sentence or word there.
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

// cleanText makes text valid UTF-8 with "\n" line ends and without NUL.
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

// isASCII reports whether all bytes of the text are.
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
