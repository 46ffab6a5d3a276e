package projections

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"annals/events"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// Passages is the read model of texts: the sections of every document, and
// the passages that they are cut into, which a search engine ranks.
type Passages struct {
	Engine searchindex.Engine
}

// Name is "passages".
func (*Passages) Name() string { return "passages" }

// Version of the passages' tables, of how they are cut, and of the index.
func (*Passages) Version() int { return 2 }

// Types are the events of texts, and of documents and folders as far as
// passages are found by them.
func (*Passages) Types() []string {
	return []string{
		"SectionExtracted", "FolderCreated", "FolderMoved", "FolderDeleted",
		"DocumentImported", "DocumentMoved", "DocumentTagged", "DocumentRevised", "DocumentReread", "DocumentDeleted",
	}
}

// Apply changes texts and passages as e says, and notes what the index must
// take or forget.
func (p *Passages) Apply(ctx context.Context, tx Tx, e events.Event) error {
	switch d := e.Data.(type) {
	case events.SectionExtracted:
		return addSection(ctx, tx, e.Stream, d)
	case events.FolderCreated:
		return tx.Exec(ctx, `INSERT INTO folders (id, parent) VALUES ($1, $2) ON CONFLICT DO NOTHING`, d.Folder.String(), idText(d.Parent))
	case events.FolderMoved:
		if err := tx.Exec(ctx, `UPDATE folders SET parent = $2 WHERE id = $1`, d.Folder.String(), idText(d.Parent)); err != nil {
			return err
		}
		return tx.Exec(ctx, below+`INSERT INTO unindexed (document) SELECT id FROM documents WHERE folder IN below ON CONFLICT DO NOTHING`, d.Folder.String())
	case events.FolderDeleted:
		return removeFolder(ctx, tx, d.Folder)
	}
	return p.applyDocument(ctx, tx, events.StreamID(e.Stream).String(), e.Data)
}

// below names a folder ($1) and all folders under it.
const below = `WITH RECURSIVE below (id) AS (SELECT $1 UNION ALL SELECT folders.id FROM folders JOIN below ON folders.parent = below.id) `

func (p *Passages) applyDocument(ctx context.Context, tx Tx, id string, data events.Data) error {
	switch d := data.(type) {
	case events.DocumentImported:
		n, err := tx.Changed(ctx, `INSERT INTO documents (id, folder, title, media_type, version, tags, text) VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT DO NOTHING`,
			id, d.Folder.String(), d.Title, d.MediaType, d.Version, jsonText(d.Tags))
		if err != nil || n == 0 {
			return err
		}
		return setText(ctx, tx, id, d.Version, d.Content)
	case events.DocumentRevised:
		return replaceText(ctx, tx, id, d.Version, d.Content)
	case events.DocumentReread:
		return replaceText(ctx, tx, id, d.Version, d.Content)
	case events.DocumentMoved:
		return relabel(ctx, tx, id, `UPDATE documents SET folder = $2 WHERE id = $1`, d.Folder.String())
	case events.DocumentTagged:
		return relabel(ctx, tx, id, `UPDATE documents SET tags = $2 WHERE id = $1`, jsonText(d.Tags))
	case events.DocumentDeleted:
		return removeDocument(ctx, tx, id)
	}
	return nil
}

// relabel makes a change of a document that its passages carry too. A document
// that is gone, with its folder, stays gone.
func relabel(ctx context.Context, tx Tx, document, update string, value any) error {
	n, err := tx.Changed(ctx, update, document, value)
	if err != nil || n == 0 {
		return err
	}
	return unindex(ctx, tx, document)
}

func unindex(ctx context.Context, tx Tx, document string) error {
	return tx.Exec(ctx, `INSERT INTO unindexed (document) VALUES ($1) ON CONFLICT DO NOTHING`, document)
}

// textID returns the row of a stream of sections, made where it is new, and
// whether a document has named it.
func textID(ctx context.Context, tx Tx, stream string) (id int64, named bool, err error) {
	if err := tx.Exec(ctx, `INSERT INTO texts (stream) VALUES ($1) ON CONFLICT DO NOTHING`, stream); err != nil {
		return 0, false, err
	}
	err = tx.QueryRow(ctx, `SELECT id, named FROM texts WHERE stream = $1`, stream).Scan(&id, &named)
	return id, named, err
}

// addSection keeps a section until a document names its stream; what comes
// after that does not count.
func addSection(ctx context.Context, tx Tx, stream string, d events.SectionExtracted) error {
	text, named, err := textID(ctx, tx, stream)
	if err != nil || named {
		return err
	}
	return tx.Exec(ctx, `INSERT INTO sections (text_id, section, part, level, title, path, start_page, breaks, text) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		text, d.Index, d.Part, d.Level, d.Title, jsonText(d.Path), d.StartPage, jsonText(d.PageBreaks), []byte(d.Text))
}

// setText makes a document's text count and cuts it into passages.
func setText(ctx context.Context, tx Tx, document string, version int, c events.Content) error {
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
	if err := cutText(ctx, tx, document, text); err != nil {
		return err
	}
	return unindex(ctx, tx, document)
}

// dropAttempts removes what readings of the document left that were cut off.
func dropAttempts(ctx context.Context, tx Tx, document string) error {
	id, err := uuid.Parse(document)
	if err != nil {
		return err
	}
	prefix := strings.TrimSuffix(events.TextStream(id, 0), "0")
	err = tx.Exec(ctx, `DELETE FROM sections WHERE text_id IN (SELECT id FROM texts WHERE stream >= $1 AND stream < $2 AND named = 0)`, prefix, prefix+"~")
	if err != nil {
		return err
	}
	return tx.Exec(ctx, `DELETE FROM texts WHERE stream >= $1 AND stream < $2 AND named = 0`, prefix, prefix+"~")
}

// replaceText gives a document another text and forgets the one it had.
func replaceText(ctx context.Context, tx Tx, document string, version int, c events.Content) error {
	var made int
	err := tx.QueryRow(ctx, `SELECT version FROM documents WHERE id = $1`, document).Scan(&made)
	if errors.Is(err, sql.ErrNoRows) || err == nil && made >= version {
		return nil // gone with its folder, or applied before
	}
	if err != nil {
		return fmt.Errorf("text of document %s: %w", document, err)
	}
	if err := dropText(ctx, tx, document); err != nil {
		return err
	}
	return setText(ctx, tx, document, version, c)
}

// dropText forgets a document's passages and sections.
func dropText(ctx context.Context, tx Tx, document string) error {
	for _, query := range []string{
		`INSERT INTO forgotten (passage) SELECT p.document || '/' || d.version || '/' || p.section || '/' || p.number FROM passages p JOIN documents d ON d.id = p.document WHERE p.document = $1 ON CONFLICT DO NOTHING`,
		`DELETE FROM passages WHERE document = $1`,
		`DELETE FROM sections WHERE text_id = (SELECT text FROM documents WHERE id = $1)`,
	} {
		if err := tx.Exec(ctx, query, document); err != nil {
			return err
		}
	}
	return nil
}

func removeDocument(ctx context.Context, tx Tx, document string) error {
	if err := dropText(ctx, tx, document); err != nil {
		return err
	}
	if err := tx.Exec(ctx, `DELETE FROM unindexed WHERE document = $1`, document); err != nil {
		return err
	}
	return tx.Exec(ctx, `DELETE FROM documents WHERE id = $1`, document)
}

// removeFolder forgets all documents in a folder and below it.
func removeFolder(ctx context.Context, tx Tx, folder uuid.UUID) error {
	const page = 500
	for {
		ids, err := Column(ctx, tx, below+`SELECT id FROM documents WHERE folder IN below LIMIT +$2`, folder.String(), page)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := removeDocument(ctx, tx, id); err != nil {
				return err
			}
		}
	}
}

// part is one row of sections.
type part struct {
	row             int64
	section, number int
	startPage       int
	breaks          string
	text            []byte
}

// cutText fills the passages of a document from its sections.
func cutText(ctx context.Context, tx Tx, document string, text int64) error {
	const page = 32 // parts, of 64 KiB at most
	section, number := -1, 0
	after := struct{ section, part int }{-1, -1}
	for {
		parts, err := List(ctx, tx, func(p *part) []any {
			return []any{&p.row, &p.section, &p.number, &p.startPage, &p.breaks, &p.text}
		}, `SELECT id, section, part, start_page, breaks, text FROM sections WHERE text_id = $1 AND (section, part) > ($2, $3) ORDER BY section, part LIMIT +$4`,
			text, after.section, after.part, page)
		if err != nil || len(parts) == 0 {
			return err
		}
		for _, p := range parts {
			if p.section != section {
				section, number = p.section, 0
			}
			if number, err = cutPart(ctx, tx, document, p, number); err != nil {
				return err
			}
			after.section, after.part = p.section, p.number
		}
	}
}

// cutPart adds the passages of one part, numbered from number on, and returns
// the next number. A section without text is found by its title alone.
func cutPart(ctx context.Context, tx Tx, document string, p part, number int) (int, error) {
	var breaks []int
	if err := json.Unmarshal([]byte(p.breaks), &breaks); err != nil {
		return number, fmt.Errorf("page breaks of section %d: %w", p.section, err)
	}
	spans := cutPassages(string(p.text))
	if len(spans) == 0 && p.number == 0 {
		spans = []span{{}}
	}
	for _, s := range spans {
		first, last := pageAt(p.startPage, breaks, s.start), pageAt(p.startPage, breaks, max(s.start, s.end-1))
		err := tx.Exec(ctx, `INSERT INTO passages (document, section, number, row, start, length, start_page, end_page) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			document, p.section, number, p.row, s.start, s.end-s.start, first, last)
		if err != nil {
			return number, err
		}
		number++
	}
	return number, nil
}

// pageAt returns the page that holds the byte at offset, 0 where there are no
// pages.
func pageAt(startPage int, breaks []int, offset int) int {
	if startPage == 0 {
		return 0
	}
	n, _ := slices.BinarySearch(breaks, offset+1)
	return startPage + n
}
