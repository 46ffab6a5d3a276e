package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/charset"
)

const (
	maxLine    = 64 << 10 // bytes; longer lines are read in pieces
	blockBytes = 32 << 10 // bytes of text written at a time

	bufferBytes = 256 << 10 // bytes of a file that are read at a time
)

// readPlain reads plain text in constant memory.
func readPlain(ctx context.Context, f *charset.File, w *extract.Writer) (extract.Info, error) {
	r, err := f.Decode(ctx)
	if err != nil {
		return extract.Info{}, err
	}
	lines := newLines(ctx, r, f.Size)
	t := textReader{out: textBlock{w: w}, blankBefore: 1}
	for err == nil && lines.next() {
		err = t.line(lines.text, lines.whole)
	}
	if err == nil {
		err = lines.err()
	}
	if err == nil {
		err = t.finish()
	}
	return extract.Info{Title: t.title}, err
}

// textReader finds headings in plain text. It buffers a line, the candidate, because only the next
// line shows whether the candidate is a heading.
type textReader struct {
	out         textBlock
	title       string
	lines       int    // number of lines read so far
	blankBefore int    // number of blank lines before the next line
	candidate   []byte // candidate without its line end; empty if there is none
	level       int    // level of the candidate if a blank line follows; 0 if the candidate must be underlined
	code        bool   // the last line that is not blank was indented like code
}

func (t *textReader) line(b []byte, whole bool) error {
	t.lines++
	trimmed := bytes.TrimSpace(b)
	if len(t.candidate) > 0 {
		level := t.level
		under := underline(trimmed, len(t.candidate))
		if under > 0 {
			level = under
		} else if len(trimmed) > 0 {
			level = 0
		}
		heading := string(t.candidate)
		t.candidate = t.candidate[:0]
		if level > 0 && t.out.w.Sections() < extract.MaxSections {
			if t.out.w.Sections() == 0 && t.out.empty() { // a heading at the start is the title
				t.title, level = cmp.Or(t.title, heading), 1
			}
			if err := t.out.begin(level, heading); err != nil {
				return err
			}
			t.blankBefore, t.code = 1, false
			if under > 0 {
				return nil
			}
		} else if err := t.out.line([]byte(heading), true); err != nil {
			return err
		}
	}
	if len(trimmed) == 0 {
		t.blankBefore++
		return t.out.line(nil, true)
	}
	after := t.blankBefore
	if bytes.IndexByte(b, '\f') >= 0 { // a page begins
		after++
	}
	t.blankBefore = 0
	inCode := t.code
	t.code = bytes.HasPrefix(b, []byte("    ")) || b[0] == '\t'
	if t.title == "" && t.lines <= 40 {
		t.title = titleField(trimmed)
	}
	if whole && after > 0 && len(trimmed) <= maxTextHeading && !(inCode && t.code) {
		if level, possible := textHeading(b, trimmed); possible {
			t.candidate, t.level = append(t.candidate, trimmed...), level
			return nil
		}
	}
	return t.out.line(b, whole)
}

// finish writes the candidate, if any, and flushes.
func (t *textReader) finish() error {
	if len(t.candidate) > 0 {
		if err := t.out.line(t.candidate, true); err != nil {
			return err
		}
	}
	return t.out.flush()
}

// titleField returns the title in a line such as "Title: Moby Dick", which electronic books have
// near their start. It returns "" for other lines.
func titleField(line []byte) string {
	if name, value, ok := bytes.Cut(line, []byte(":")); ok && strings.EqualFold(string(name), "title") {
		return strings.TrimSpace(string(value))
	}
	return ""
}

// lines reads text line by line. It splits lines that are longer than maxLine, if possible after a
// space. Lines end in a line feed with or without a carriage return before it, or in a carriage
// return alone if there is no line feed near the start of the text.
type lines struct {
	ctx     context.Context
	scanner *bufio.Scanner
	end     byte // last byte of a line end; 0 if not known yet
	count   int
	stopped error
	text    []byte // the line without its end, valid until the next call of next
	whole   bool   // false if the next text continues the same line
}

// newLines returns a lines that reads from r, which has about size bytes.
func newLines(ctx context.Context, r io.Reader, size int64) *lines {
	l := &lines{ctx: ctx, scanner: bufio.NewScanner(r)}
	buffer := min(max(size+1, 512), bufferBytes)
	l.scanner.Buffer(make([]byte, buffer), bufferBytes)
	l.scanner.Split(l.split)
	return l
}

func (l *lines) split(data []byte, atEOF bool) (int, []byte, error) {
	if l.end == 0 {
		switch {
		case bytes.IndexByte(data, '\n') >= 0:
			l.end = '\n'
		case !atEOF && len(data) < maxLine:
			return 0, nil, nil
		case bytes.IndexByte(data, '\r') >= 0:
			l.end = '\r'
		default:
			l.end = '\n'
		}
	}
	if i := bytes.IndexByte(data[:min(len(data), maxLine)], l.end); i >= 0 {
		l.whole = true
		return i + 1, data[:i], nil
	}
	if len(data) > maxLine {
		l.whole = false
		n := bytes.LastIndexByte(data[maxLine/2:maxLine], ' ') + maxLine/2 + 1
		if n == maxLine/2 {
			n = maxLine - charset.IncompleteRune(data[:maxLine])
		}
		return n, data[:n], nil
	}
	if atEOF && len(data) > 0 {
		l.whole = true
		return len(data), data, nil
	}
	return 0, nil, nil
}

func (l *lines) next() bool {
	if l.count++; l.count&1023 == 0 {
		if l.stopped = l.ctx.Err(); l.stopped != nil {
			return false
		}
	}
	if !l.scanner.Scan() {
		return false
	}
	l.text = l.scanner.Bytes()
	if n := len(l.text); n > 0 && l.whole && l.text[n-1] == '\r' {
		l.text = l.text[:n-1]
	}
	return true
}

func (l *lines) err() error {
	if l.stopped != nil {
		return l.stopped
	}
	return l.scanner.Err()
}

// textBlock collects lines into blocks for an extract.Writer.
type textBlock struct {
	w   *extract.Writer
	buf []byte
}

func (b *textBlock) empty() bool { return len(bytes.TrimSpace(b.buf)) == 0 }

func (b *textBlock) line(text []byte, whole bool) error {
	b.buf = append(b.buf, text...)
	if whole {
		b.buf = append(b.buf, '\n')
	}
	if len(b.buf) < blockBytes {
		return nil
	}
	return b.flush()
}

// add adds text in pieces, so that not all of it is copied at the same time.
func (b *textBlock) add(ctx context.Context, text []byte) error {
	for len(text) > 0 {
		n := len(text)
		if n > blockBytes {
			n = blockBytes - charset.IncompleteRune(text[:blockBytes])
		}
		b.buf = append(b.buf, text[:n]...)
		text = text[n:]
		if len(b.buf) < blockBytes {
			continue
		}
		if err := b.flush(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (b *textBlock) begin(level int, title string) error {
	if err := b.flush(); err != nil {
		return err
	}
	return b.w.Begin(level, title)
}

func (b *textBlock) flush() error {
	err := b.w.Write(withoutControls(b.buf))
	b.buf = b.buf[:0]
	return err
}

// withoutControls removes control characters other than tabs and line ends. Form feeds become line
// ends.
func withoutControls(b []byte) string {
	if !hasControls(b) {
		return string(b)
	}
	var out strings.Builder
	out.Grow(len(b))
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == '\f' || r == '\v':
			out.WriteByte('\n')
		case !isControl(b[i]):
			out.Write(b[i : i+n])
		}
		i += n
	}
	return out.String()
}

func isControl(c byte) bool { return c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f }

// hasControls reports whether b has control characters. It checks eight bytes at a time, because
// it is called for all text.
func hasControls(b []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		del := x ^ 0x7f*ones
		if ((x-' '*ones)&^x|(del-ones)&^del)&tops == 0 { // no byte is below a space or equal to DEL
			continue
		}
		if slices.ContainsFunc(b[:8], isControl) {
			return true
		}
	}
	return slices.ContainsFunc(b, isControl)
}
