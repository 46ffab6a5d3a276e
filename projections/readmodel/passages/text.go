package passages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections/readmodel"
)

// textID returns the id of the row of a text stream, and whether an event of a document
// has named the stream. It adds the row if there is none.
func textID(ctx context.Context, tx readmodel.Tx, stream string) (id int64, named bool, err error) {
	if err := tx.Exec(ctx, `INSERT INTO texts (stream) VALUES ($1) ON CONFLICT DO NOTHING`, stream); err != nil {
		return 0, false, err
	}
	err = tx.QueryRow(ctx, `SELECT id, named FROM texts WHERE stream = $1`, stream).Scan(&id, &named)
	return id, named, err
}

// addSection stores a section until a document names its stream. It ignores sections that
// arrive after that, or after the document was deleted.
func addSection(ctx context.Context, tx readmodel.Tx, stream string, d events.SectionExtracted) error {
	prefix := stream[:strings.LastIndexByte(stream, '-')+1]
	err := tx.Exec(ctx, `INSERT INTO texts (stream) SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM texts WHERE stream = $1 OR stream = $2) ON CONFLICT DO NOTHING`, stream, prefix)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, `INSERT INTO sections (text_id, section, part, level, title, path, start_page, breaks, text, confidence)
		SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM texts WHERE stream = $1 AND named = 0 ON CONFLICT DO NOTHING`,
		stream, d.Index, d.Part, d.Level, d.Title, readmodel.JSONText(d.Path), d.StartPage, readmodel.JSONText(d.PageBreaks), []byte(d.Text), readmodel.Thousandths(d.Confidence))
}

// setText sets a document's text and cuts it into passages.
func setText(ctx context.Context, tx readmodel.Tx, document string, version int, c events.Content) error {
	text, _, err := textID(ctx, tx, c.TextStream)
	if err != nil {
		return err
	}
	err = errors.Join(
		tx.Exec(ctx, `UPDATE texts SET named = 1 WHERE id = $1`, text),
		tx.Exec(ctx, `DELETE FROM sections WHERE text_id = $1 AND section >= $2`, text, c.Sections),
		tx.Exec(ctx, `UPDATE documents SET text = $2, version = $3, title = $4, media_type = $5 WHERE id = $1`, document, text, version, c.Title, c.MediaType),
		dropAttempts(ctx, tx, document),
	)
	if err != nil {
		return err
	}
	if err := cutText(ctx, tx, document, version, text); err != nil {
		return err
	}
	return unindex(ctx, tx, document)
}

// dropAttempts removes the sections of interrupted extractions of a document. It has to
// be called even if the event that names the text is applied a second time, because the
// earlier events have then added these sections again.
func dropAttempts(ctx context.Context, tx readmodel.Tx, document string) error {
	prefix, err := textPrefix(document)
	if err != nil {
		return err
	}
	err = tx.Exec(ctx, `DELETE FROM sections WHERE text_id IN (SELECT id FROM texts WHERE stream >= $1 AND stream < $2 AND named = 0)`, prefix, prefix+"~")
	if err != nil {
		return err
	}
	return tx.Exec(ctx, `DELETE FROM texts WHERE stream >= $1 AND stream < $2 AND named = 0`, prefix, prefix+"~")
}

// part is a row of the table sections: a section, or a part of a long one.
type part struct {
	row             int64
	section, number int
	startPage       int
	breaks          string
	text            []byte
}

// cutText adds the passages of a document's version.
func cutText(ctx context.Context, tx readmodel.Tx, document string, version int, text int64) error {
	const page = 32 // parts, of 64 KiB at most
	section, number := -1, 0
	after := struct{ section, part int }{-1, -1}
	for {
		parts, err := sqldb.List(ctx, tx, func(p *part) []any {
			return []any{&p.row, &p.section, &p.number, &p.startPage, &p.breaks, &p.text}
		}, `SELECT id, section, part, start_page, breaks, text FROM sections WHERE text_id = $1 AND (section, part) > ($2, $3) ORDER BY section, part LIMIT CAST($4 AS INTEGER)`,
			text, after.section, after.part, page)
		if err != nil || len(parts) == 0 {
			return err
		}
		for _, p := range parts {
			if p.section != section {
				section, number = p.section, 0
			}
			if number, err = cutPart(ctx, tx, document, version, p, number); err != nil {
				return err
			}
			after.section, after.part = p.section, p.number
		}
		if len(parts) < page {
			return nil
		}
	}
}

var passageColumns = []string{"document", "version", "section", "number", "row", "start", "length", "start_page", "end_page"}

// cutPart adds the passages of one part. Their numbers begin with number, and it returns
// the number after the last. A section without text gets one empty passage, which can be
// found by the section's title.
func cutPart(ctx context.Context, tx readmodel.Tx, document string, version int, p part, number int) (int, error) {
	var breaks []int
	if err := json.Unmarshal([]byte(p.breaks), &breaks); err != nil {
		return number, fmt.Errorf("read the page breaks of section %d: %w", p.section, err)
	}
	for _, s := range spansOf(string(p.text), p.number) {
		first, last := pageAt(p.startPage, breaks, s.start), pageAt(p.startPage, breaks, max(s.start, s.end-1))
		err := tx.Insert(ctx, "passages", passageColumns,
			document, version, p.section, number, p.row, s.start, s.end-s.start, first, last)
		if err != nil {
			return number, err
		}
		number++
	}
	return number, nil
}

// pageAt returns the page of the byte at offset, or 0 if the text has no pages.
func pageAt(startPage int, breaks []int, offset int) int {
	if startPage == 0 {
		return 0
	}
	n, _ := slices.BinarySearch(breaks, offset+1)
	return startPage + n
}
