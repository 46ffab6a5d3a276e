package queries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/pagemark"

	"github.com/google/uuid"
)

// Bounds of the text that one reply carries in memory. What is longer is cut
// and says so; Markdown has no bound.
const (
	maxContent      = 8 << 20
	maxBatchContent = 32 << 20
)

func itoa(n int) string { return strconv.Itoa(n) }

// isText reports whether a document's text is shown as its content.
func isText(mediaType string) bool { return strings.HasPrefix(mediaType, "text/") }

// addContent gives a text document its Markdown, up to limit bytes; where it is
// cut, it says where all of it is.
func (q *Queries) addContent(ctx context.Context, d *Document, limit int, whole string) error {
	var b strings.Builder
	err := q.writeMarkdown(ctx, *d, &capped{w: &b, left: limit})
	if errors.Is(err, errCapped) {
		fmt.Fprintf(&b, "\n\n[The text is cut here. All of it: GET %s]\n", whole)
		err = nil
	}
	content := b.String()
	d.Content = &content
	return wrap(err, "text of document "+d.ID.String())
}

// markdownPath is where all of a document's text is read.
func (d *Document) markdownPath() string { return "/documents/" + d.ID.String() + "/markdown" }

// lacksContent reports whether a document's content is a text that is yet to
// be read.
func (d *Document) lacksContent() bool { return isText(d.MediaType) && d.Content == nil }

// hasText reports whether a document's text is there; it is not while the read
// model of texts is behind the vault that told of the document, or where it
// knows already that the document is gone.
func (q *Queries) hasText(ctx context.Context, d Document) (ok bool, err error) {
	err = q.Models.Passages.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM texts WHERE stream = $1 AND named = 1)
		AND EXISTS (SELECT 1 FROM documents WHERE id = $2)`, d.textStream, d.ID.String()).Scan(&ok)
	return ok, wrap(err, "text of document "+d.ID.String())
}

// awaitTexts returns once the read model of texts has passed all that the
// vault held when it was called, or with an error of kind fault.Unavailable.
func (q *Queries) awaitTexts(ctx context.Context) error {
	at, err := passed(ctx, q.Models.Vault)
	if err != nil {
		return err
	}
	texts := q.Models.Passages
	return q.awaitBy(ctx, texts, texts.WaitTables, at)
}

// awaitText waits for a document's text where it must. A text that is still not
// there is fault.Unavailable.
func (q *Queries) awaitText(ctx context.Context, d Document) error {
	if ok, err := q.hasText(ctx, d); ok || err != nil {
		return err
	}
	if err := q.awaitTexts(ctx); err != nil {
		return err
	}
	if ok, err := q.hasText(ctx, d); ok || err != nil {
		return err
	}
	return fault.Errorf(fault.Unavailable, "the text of document %s cannot be read at the moment", d.ID)
}

var errCapped = errors.New("longer than the reply may be")

// capped writes up to left bytes and then fails.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		keep := p[:c.left]
		for len(keep) > 0 && keep[len(keep)-1]&0xC0 == 0x80 {
			keep = keep[:len(keep)-1] // not within a character
		}
		if len(keep) > 0 && keep[len(keep)-1]&0xC0 == 0xC0 {
			keep = keep[:len(keep)-1]
		}
		n, err := c.w.Write(keep)
		c.left = 0
		return n, errors.Join(err, errCapped)
	}
	c.left -= len(p)
	return c.w.Write(p)
}

// Markdown returns what writes the extracted Markdown of a document that the
// user may read, whatever its type and length, with a front matter that names
// its type and title.
func (q *Queries) Markdown(ctx context.Context, user events.User, id uuid.UUID) (write func(io.Writer) error, err error) {
	d, err := q.Describe(ctx, user, id)
	if err != nil {
		return nil, err
	}
	return q.markdownOf(ctx, d)
}

// markdownOf is Markdown of a document that was described before: should its
// text change meanwhile, nothing of the new one is written.
func (q *Queries) markdownOf(ctx context.Context, d Document) (write func(io.Writer) error, err error) {
	if d.Content != nil {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, *d.Content)
			return err
		}, nil
	}
	if err := q.awaitText(ctx, d); err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		return wrap(q.writeMarkdown(ctx, d, w), "text of document "+d.ID.String())
	}, nil
}

func frontMatter(kind, title string) string {
	return "---\ntype: " + kind + "\ntitle: " + strconv.Quote(title) + "\n---\n\n"
}

type sectionRow struct {
	section, part, level, page int
	title, breaks              string
	text                       []byte
}

// turned is implemented by writers that need to know on which page the text is.
type turned interface{ turned(page int) }

// writeMarkdown writes a document's text with the marks of its pages. It names the
// text by its stream in every statement, since row numbers differ between generations.
func (q *Queries) writeMarkdown(ctx context.Context, d Document, to io.Writer) error {
	w := &pagemark.Writer{W: to}
	if t, ok := to.(turned); ok {
		w.Turned = t.turned
	}
	if err := w.Text([]byte(frontMatter("document", d.Title))); err != nil {
		return err
	}
	at := sectionRow{section: -1, part: -1}
	for {
		rows, err := projections.List(ctx, q.Models.Passages.DB(), func(s *sectionRow) []any {
			return []any{&s.section, &s.part, &s.level, &s.title, &s.page, &s.breaks, &s.text}
		},
			`SELECT section, part, level, title, start_page, breaks, text FROM sections
			 WHERE text_id = (SELECT id FROM texts WHERE stream = $1 AND named = 1) AND (section, part) > ($2, $3) ORDER BY section, part LIMIT 50`, d.textStream, at.section, at.part)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return w.Close()
		}
		for _, s := range rows {
			if err := s.write(w, at.section >= 0); err != nil {
				return err
			}
			at = s
		}
	}
}

// heading writes a section's title as a line of Markdown.
func heading(level int, title string) string {
	return strings.Repeat("#", min(max(level, 1), 6)) + " " + title
}

// write writes a part as Markdown: its heading, where it is a section's first,
// and its text, set off from what came before.
func (s sectionRow) write(w *pagemark.Writer, more bool) error {
	var breaks []int
	if err := json.Unmarshal([]byte(s.breaks), &breaks); err != nil {
		return fmt.Errorf("the page breaks of section %d: %w", s.section, err)
	}
	if s.part == 0 {
		if more {
			if err := w.Text([]byte("\n\n")); err != nil {
				return err
			}
		}
		if s.title != "" {
			if err := w.Page(s.page); err != nil {
				return err
			}
			title := heading(s.level, s.title)
			if len(s.text) > 0 {
				title += "\n\n"
			}
			if err := w.Text([]byte(title)); err != nil {
				return err
			}
		}
	}
	return w.Part(s.text, s.page, breaks)
}
