package vault

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"annals/events"
	"annals/queries/pagemark"

	"github.com/google/uuid"
)

// MarkdownPage is a range of a document's Markdown.
type MarkdownPage struct {
	Document Document
	Text     string
	Next     int64 // byte offset of the next part; 0 after the last one
}

// MarkdownPage returns the part of a document's Markdown that begins at byte from, up to
// limit bytes. The part ends at a line end if possible, and never within a character. If
// it begins within a page, the mark of that page is put in front of it. Only parts of
// the same document version can be joined.
func (q *Vault) MarkdownPage(ctx context.Context, user events.User, id uuid.UUID, from int64, limit int) (p MarkdownPage, err error) {
	if p.Document, err = q.Describe(ctx, user, id); err != nil {
		return p, err
	}
	write, err := q.markdownOf(ctx, p.Document)
	if err != nil {
		return p, err
	}
	w := &window{skip: from, limit: limit}
	if err := write(w); err != nil && !errors.Is(err, errCapped) {
		return p, err
	}
	text := w.text
	if len(text) > limit {
		text = text[:lastEnd(text, limit)]
		p.Next = from + int64(len(text))
	}
	p.Text = strings.ToValidUTF8(string(text), "\uFFFD")
	if w.page > 0 && p.Text != "" { // the mark of its page is in an earlier part
		p.Text = pagemark.Mark(w.page) + "\n" + p.Text
	}
	return p, nil
}

// lastEnd returns the offset, at most n, at which to cut text: after the last line end,
// or between characters if there is no line end.
func lastEnd(text []byte, n int) int {
	if end := bytes.LastIndexByte(text[:n], '\n'); end >= 0 {
		return end + 1
	}
	end := n
	for end > 1 && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// window is a writer that skips the first skip bytes and keeps the bytes after them. It
// fails with errCapped once it has more than limit bytes.
type window struct {
	skip  int64
	limit int
	text  []byte
	page  int // page on which the kept text begins, if the page's mark was skipped; else 0
}

// notePage is called with a page before its mark is written.
func (w *window) notePage(page int) {
	switch {
	case w.skip > 0:
		w.page = page
	case len(w.text) == 0:
		w.page = 0 // the kept text begins with the page's mark
	}
}

func (w *window) Write(p []byte) (int, error) {
	skipped := min(w.skip, int64(len(p)))
	w.skip -= skipped
	rest := p[skipped:]
	w.text = append(w.text, rest[:min(len(rest), w.limit+1-len(w.text))]...)
	if len(w.text) > w.limit {
		return len(p), errCapped
	}
	return len(p), nil
}
