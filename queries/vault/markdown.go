package vault

import (
	"bytes"
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
	"annals/queries/freshness"
	"annals/queries/pagemark"

	"github.com/google/uuid"
)

// Limits of the text in one response, which is built in memory. Longer text is truncated,
// with a note. Method Markdown has no limit.
const (
	maxContent      = 8 << 20
	maxBatchContent = 32 << 20
)

// isText reports whether a document's text is shown as its content.
func isText(mediaType string) bool { return strings.HasPrefix(mediaType, "text/") }

// addContent sets the Content of a text document, up to limit bytes. If it truncates the
// text, it adds a note that names whole, the URL path of the full text.
func (q *Vault) addContent(ctx context.Context, d *Document, limit int, whole string) error {
	var b strings.Builder
	err := q.writeMarkdown(ctx, *d, &capped{w: &b, left: limit})
	if errors.Is(err, errCapped) {
		fmt.Fprintf(&b, "\n\n[The text is cut here. All of it: GET %s]\n", whole)
		err = nil
	}
	content := b.String()
	d.Content = &content
	return freshness.Wrap(err, "text of document "+d.ID.String())
}

// markdownPath returns the URL path of a document's full text.
func (d *Document) markdownPath() string { return "/documents/" + d.ID.String() + "/markdown" }

// lacksContent reports whether a text document's Content was not read yet.
func (d *Document) lacksContent() bool { return isText(d.MediaType) && d.Content == nil }

// hasText reports whether a document's text can be read. It cannot be read if the read
// model of passages is behind the vault, or has already applied the document's deletion.
// A stopped read model can be read, because texts never change.
func (q *Vault) hasText(ctx context.Context, d Document) (ok bool, err error) {
	err = q.Models.Passages.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM texts WHERE stream = $1 AND named = 1)
		AND EXISTS (SELECT 1 FROM documents WHERE id = $2)`, d.textStream, d.ID.String()).Scan(&ok)
	return ok, freshness.Wrap(err, "text of document "+d.ID.String())
}

// awaitTexts waits until the read model of passages has passed the vault's current
// position. The error is of kind fault.Unavailable if that takes too long.
func (q *Vault) awaitTexts(ctx context.Context) error {
	at, err := freshness.Passed(ctx, q.Models.Vault)
	if err != nil {
		return err
	}
	return q.Models.AwaitTables(ctx, q.Models.Passages, at)
}

// awaitText waits until a document's text can be read. The error is fault.Unavailable if
// that takes too long.
func (q *Vault) awaitText(ctx context.Context, d Document) error {
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

var errCapped = errors.New("the text exceeds the limit of the response")

// capped writes up to left bytes and then fails.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		keep := p[:c.left]
		for len(keep) > 0 && keep[len(keep)-1]&0xC0 == 0x80 {
			keep = keep[:len(keep)-1] // do not split a character
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

// Markdown returns a writer of the extracted Markdown of a document that the user may
// read, of any type and length, with a front matter that names its type and title.
func (q *Vault) Markdown(ctx context.Context, user events.User, id uuid.UUID) (write func(io.Writer) error, err error) {
	d, err := q.Describe(ctx, user, id)
	if err != nil {
		return nil, err
	}
	return q.markdownOf(ctx, d)
}

// markdownOf is like Markdown, for a document that was already looked up. It writes the
// text of the version d, even if the document gets new text in the meantime.
func (q *Vault) markdownOf(ctx context.Context, d Document) (write func(io.Writer) error, err error) {
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
		return freshness.Wrap(q.writeMarkdown(ctx, d, w), "text of document "+d.ID.String())
	}, nil
}

// frontMatter returns a YAML header. more has further lines.
func frontMatter(kind, title, more string) string {
	return "---\ntype: " + kind + "\ntitle: " + strconv.Quote(title) + "\n" + more + "---\n\n"
}

// readingLines returns the lines of the front matter that say how a document was read.
func (d *Document) readingLines() (lines string) {
	if d.OCRPages > 0 {
		lines += fmt.Sprintf("ocr_pages: %d\nconfidence: %.3f\n", d.OCRPages, d.Confidence)
	}
	if d.UnreadPages > 0 {
		lines += fmt.Sprintf("unread_pages: %d\n", d.UnreadPages)
	}
	return lines
}

type sectionRow struct {
	section, part, level, page int
	confidence                 int // in thousandths
	title, breaks              string
	text                       []byte
}

// pageNoter is implemented by writers that need the page of the text they write.
type pageNoter interface{ notePage(page int) }

// writeMarkdown writes a document's text with page marks. Each query identifies the text
// by its stream, because row ids differ between generations.
func (q *Vault) writeMarkdown(ctx context.Context, d Document, to io.Writer) error {
	w := &pagemark.Writer{W: to}
	if n, ok := to.(pageNoter); ok {
		w.OnPage = n.notePage
	}
	if err := w.Text([]byte(frontMatter("document", d.Title, d.readingLines()))); err != nil {
		return err
	}
	at := sectionRow{section: -1, part: -1}
	for {
		rows, err := projections.List(ctx, q.Models.Passages.DB(), func(s *sectionRow) []any {
			return []any{&s.section, &s.part, &s.level, &s.title, &s.page, &s.breaks, &s.text, &s.confidence}
		},
			`SELECT section, part, level, title, start_page, breaks, text, confidence FROM sections
			 WHERE text_id = (SELECT id FROM texts WHERE stream = $1 AND named = 1) AND (section, part) > ($2, $3) ORDER BY section, part LIMIT 50`, d.textStream, at.section, at.part)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return w.Close()
		}
		for _, s := range rows {
			if err := s.write(w, at); err != nil {
				return err
			}
			at = s
		}
	}
}

// Heading returns a section's title as a line of Markdown.
func Heading(level int, title string) string {
	return strings.Repeat("#", min(max(level, 1), 6)) + " " + title
}

// write writes a part of a section as Markdown, with the heading if it is the first
// part. before is the part before, whose section is -1 if there is none. An empty line separates
// a section from that, and text from a part that is just a heading.
func (s sectionRow) write(w *pagemark.Writer, before sectionRow) error {
	var breaks []int
	if err := json.Unmarshal([]byte(s.breaks), &breaks); err != nil {
		return fmt.Errorf("decode the page breaks of section %d: %w", s.section, err)
	}
	if before.section >= 0 && (s.part == 0 || before.part == 0 && len(before.text) == 0) {
		if err := w.Text([]byte("\n\n")); err != nil {
			return err
		}
	}
	if s.confidence > 0 {
		if err := w.Recognised(s.pages(breaks), float64(s.confidence)/1000); err != nil {
			return err
		}
	}
	if s.part == 0 {
		if s.title != "" {
			if err := w.Page(s.page); err != nil {
				return err
			}
			title := Heading(s.level, s.title)
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

// pages returns the pages of a part that have text or its title. It is nil if the document has no pages.
func (s sectionRow) pages(breaks []int) (pages []int) {
	if s.page == 0 {
		return nil
	}
	from := 0
	for i := range len(breaks) + 1 {
		to := len(s.text)
		if i < len(breaks) {
			to = min(max(breaks[i], from), to)
		}
		if i == 0 && s.part == 0 && s.title != "" || len(bytes.TrimSpace(s.text[from:to])) > 0 {
			pages = append(pages, s.page+i)
		}
		from = to
	}
	return pages
}
