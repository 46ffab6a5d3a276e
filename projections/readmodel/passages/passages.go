// Package passages is the read model of texts: their sections, and the passages that a
// search engine indexes and ranks. The package registers the read model with readmodel,
// and may import readmodel, searchindex and events.
package passages

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// Projection is the read model of texts: the sections of every document, and
// the passages that they are cut into, which a search engine ranks.
type Projection struct {
	Engine searchindex.Engine

	begun   *begunDocument // nil if Later begins with a whole document
	working *inWork        // what the engine is applying, or nil
}

// begunDocument is a document of which the index has only the passages up to the row
// through. These passages were indexed with the folders, title and tags of whole.
type begunDocument struct {
	whole   searchindex.Passage
	version int
	through passageRow
}

func init() {
	readmodel.Register(readmodel.Model{Projection: new(Projection), NotAwaited: "a search finds a change once it is indexed, and a reader of a new text waits for that itself"})
}

// Name is "passages".
func (*Projection) Name() string { return Name }

// Name is the name of the read model.
const Name = "passages"

// Version of the passages' tables, of how they are cut, and of the index.
func (*Projection) Version() int { return 8 }

// Oldest returns Version: this program cannot read older tables.
func (p *Projection) Oldest() int { return p.Version() }

// Types returns the events of texts, and the events of documents and folders that
// change how passages are found.
func (*Projection) Types() []string {
	return []string{
		"SectionExtracted", "FolderCreated", "FolderMoved", "FolderDeleted",
		"DocumentImported", "DocumentMoved", "DocumentTagged", "DocumentRevised", "DocumentReread", "DocumentDeleted",
	}
}

// Apply changes texts and passages, and records what has to be added to the index and
// what deleted from it.
func (p *Projection) Apply(ctx context.Context, tx readmodel.Tx, e events.Event) error {
	switch d := e.Data.(type) {
	case events.SectionExtracted:
		return addSection(ctx, tx, e.Stream, d)
	case events.FolderCreated:
		return tx.Exec(ctx, `INSERT INTO folders (id, parent) VALUES ($1, $2) ON CONFLICT DO NOTHING`, d.Folder.String(), readmodel.IDText(d.Parent))
	case events.FolderMoved:
		return moveFolder(ctx, tx, d, e.Position)
	case events.FolderDeleted:
		return removeFolder(ctx, tx, d.Folder, e.Position)
	}
	return p.applyDocument(ctx, tx, events.StreamID(e.Stream).String(), e)
}

func (p *Projection) applyDocument(ctx context.Context, tx readmodel.Tx, id string, e events.Event) error {
	switch d := e.Data.(type) {
	case events.DocumentImported:
		n, err := tx.Changed(ctx, `INSERT INTO documents (id, folder, title, media_type, version, tags, text) VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT DO NOTHING`,
			id, d.Folder.String(), d.Title, d.MediaType, d.Version, readmodel.JSONText(d.Tags))
		if err != nil {
			return err
		}
		if n == 0 { // the event was applied before
			return dropAttempts(ctx, tx, id)
		}
		if gone, err := removeArrived(ctx, tx, id, d.Folder, e.Position); gone || err != nil {
			return err
		}
		return setText(ctx, tx, id, d.Version, d.Content)
	case events.DocumentRevised:
		return replaceText(ctx, tx, id, d.Version, d.Content)
	case events.DocumentReread:
		return replaceText(ctx, tx, id, d.Version, d.Content)
	case events.DocumentMoved:
		if gone, err := removeArrived(ctx, tx, id, d.Folder, e.Position); gone || err != nil {
			return err
		}
		return relabel(ctx, tx, id, `UPDATE documents SET folder = $2 WHERE id = $1`, d.Folder.String())
	case events.DocumentTagged:
		return relabel(ctx, tx, id, `UPDATE documents SET tags = $2 WHERE id = $1`, readmodel.JSONText(d.Tags))
	case events.DocumentDeleted:
		return removeDocuments(ctx, tx, []string{id})
	}
	return nil
}

// removeArrived removes a document that was imported or moved into a folder after the
// folder was deleted, and reports whether it did. It compares positions: if events are
// applied again, the folder may already be marked as deleted by a later event.
func removeArrived(ctx context.Context, tx readmodel.Tx, document string, folder uuid.UUID, at events.Position) (gone bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM folders WHERE id = $1 AND deleted > 0 AND deleted < $2)`, folder.String(), int64(at)).Scan(&gone)
	if err != nil || !gone {
		return false, err
	}
	return true, removeDocuments(ctx, tx, []string{document})
}

// moveFolder defers the documents below the folder, because the index has to store their
// new folders. A document that is already deferred keeps its position in the queue.
func moveFolder(ctx context.Context, tx readmodel.Tx, d events.FolderMoved, at events.Position) error {
	if err := tx.Exec(ctx, `UPDATE folders SET parent = $2 WHERE id = $1`, d.Folder.String(), readmodel.IDText(d.Parent)); err != nil {
		return err
	}
	return tx.Exec(ctx, readmodel.Below+`INSERT INTO deferred (document, position) SELECT id, $2 FROM documents WHERE folder IN (SELECT id FROM below) ON CONFLICT DO NOTHING`,
		d.Folder.String(), int64(at))
}

// relabel runs the statement update, which changes the folder, title or tags of a
// document. A document that was deleted with its folder stays deleted.
func relabel(ctx context.Context, tx readmodel.Tx, document, update string, value any) error {
	n, err := tx.Changed(ctx, update, document, value)
	if err != nil || n == 0 {
		return err
	}
	return unindex(ctx, tx, document)
}

// unindex lists a document that has to be indexed again. A document that is listed already
// gets a new row, because the engine may be working on the earlier one.
func unindex(ctx context.Context, tx readmodel.Tx, document string) error {
	return tx.Exec(ctx, `INSERT INTO unindexed (document) VALUES ($1) ON CONFLICT (document) DO UPDATE SET id = excluded.id`, document)
}

// replaceText sets the text of a new version. Searches find the earlier text until all of
// the new text is indexed. Earlier texts can be read as long as the document exists.
func replaceText(ctx context.Context, tx readmodel.Tx, document string, version int, c events.Content) error {
	var made int
	err := tx.QueryRow(ctx, `SELECT version FROM documents WHERE id = $1`, document).Scan(&made)
	if errors.Is(err, sql.ErrNoRows) || err == nil && made >= version {
		return dropAttempts(ctx, tx, document) // the document was deleted with its folder, or the event was applied before
	}
	if err != nil {
		return fmt.Errorf("replace the text of document %s: %w", document, err)
	}
	return setText(ctx, tx, document, version, c)
}

// removeFolder removes all documents in and below a folder, in pages, so that memory
// does not grow with the folder.
func removeFolder(ctx context.Context, tx readmodel.Tx, folder uuid.UUID, at events.Position) error {
	const page = 2000
	err := tx.Exec(ctx, readmodel.Below+`UPDATE folders SET deleted = $2 WHERE id IN (SELECT id FROM below) AND deleted = 0`, folder.String(), int64(at))
	for err == nil {
		var ids []string
		ids, err = sqldb.Column[string](ctx, tx, readmodel.Below+`SELECT id FROM documents WHERE folder IN (SELECT id FROM below) LIMIT CAST($2 AS INTEGER)`, folder.String(), page)
		if err != nil || len(ids) == 0 {
			break
		}
		err = removeDocuments(ctx, tx, ids)
	}
	return err
}

// removeDocuments removes documents with the texts of all their versions.
func removeDocuments(ctx context.Context, tx readmodel.Tx, documents []string) error {
	prefixes := make([]string, len(documents))
	for i, id := range documents {
		var err error
		if prefixes[i], err = textPrefix(id); err != nil {
			return err
		}
	}
	const texts = `(SELECT t.id FROM json_each($1) k CROSS JOIN texts t WHERE t.stream >= k.value AND t.stream < k.value || '~')`
	for _, query := range []string{
		`DELETE FROM sections WHERE text_id IN ` + texts,
		`DELETE FROM texts WHERE id IN ` + texts,
		`INSERT INTO texts (stream, named) SELECT value, 1 FROM json_each($1)`, // so that sections which arrive later are ignored
	} {
		if err := tx.Exec(ctx, query, readmodel.JSONText(prefixes)); err != nil {
			return err
		}
	}
	const listed = `(SELECT value FROM json_each($1))`
	for _, query := range []string{
		`INSERT INTO forgotten (passage) SELECT ` + IDSQL + ` FROM passages WHERE document IN ` + listed + ` ON CONFLICT DO NOTHING`,
		`DELETE FROM passages WHERE document IN ` + listed,
		`DELETE FROM unindexed WHERE document IN ` + listed,
		`DELETE FROM deferred WHERE document IN ` + listed,
		`DELETE FROM documents WHERE id IN ` + listed,
	} {
		if err := tx.Exec(ctx, query, readmodel.JSONText(documents)); err != nil {
			return err
		}
	}
	return nil
}

// textPrefix returns the prefix of the names of a document's text streams. In the table
// texts, a row with that prefix marks a deleted document.
func textPrefix(document string) (string, error) {
	id, err := uuid.Parse(document)
	return strings.TrimSuffix(events.TextStream(id, 0), "0"), err
}

// With returns a projection with the index of a generation.
func (*Projection) With(index searchindex.Engine) readmodel.Projection {
	return &Projection{Engine: index}
}

// Index returns the index passed to With.
func (p *Projection) Index() searchindex.Engine { return p.Engine }

// Reached returns a query for two values. The first is the position of the tables or, if
// the index lacks some of their changes, the position of the index. The second is the
// number of parked events.
func (*Projection) Reached() string {
	return `SELECT CASE WHEN EXISTS (SELECT 1 FROM unindexed) OR EXISTS (SELECT 1 FROM forgotten) THEN i.position ELSE c.position END,
		(SELECT count(*) FROM parked) FROM checkpoint c CROSS JOIN indexed i`
}
