package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"annals/events"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// Passages is the read model of texts: the sections of every document, and
// the passages that they are cut into, which a search engine ranks.
type Passages struct {
	Engine searchindex.Engine

	begun *begunDocument // nil where Later begins with a whole document
}

// begunDocument is one of which the engine holds some passages, up to a row of
// them, labelled as a whole.
type begunDocument struct {
	whole   searchindex.Passage
	version int
	through passageRow
}

// Name is "passages".
func (*Passages) Name() string { return passagesName }

const passagesName = "passages"

// Version of the passages' tables, of how they are cut, and of the index.
func (*Passages) Version() int { return 4 }

// Oldest is Version: what changed last cannot be read in older tables.
func (p *Passages) Oldest() int { return p.Version() }

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
		return moveFolder(ctx, tx, d, e.Position)
	case events.FolderDeleted:
		return removeFolder(ctx, tx, d.Folder, e.Position)
	}
	return p.applyDocument(ctx, tx, events.StreamID(e.Stream).String(), e)
}

func (p *Passages) applyDocument(ctx context.Context, tx Tx, id string, e events.Event) error {
	switch d := e.Data.(type) {
	case events.DocumentImported:
		n, err := tx.Changed(ctx, `INSERT INTO documents (id, folder, title, media_type, version, tags, text) VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT DO NOTHING`,
			id, d.Folder.String(), d.Title, d.MediaType, d.Version, jsonText(d.Tags))
		if err != nil {
			return err
		}
		if n == 0 { // applied before
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
		return relabel(ctx, tx, id, `UPDATE documents SET tags = $2 WHERE id = $1`, jsonText(d.Tags))
	case events.DocumentDeleted:
		return removeDocuments(ctx, tx, []string{id})
	}
	return nil
}

// removeArrived removes a document that at a position comes into a folder which
// was deleted before, and reports whether it did. Since what was applied may be
// applied again, the folder may be known to be deleted later on.
func removeArrived(ctx context.Context, tx Tx, document string, folder uuid.UUID, at events.Position) (gone bool, err error) {
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM folders WHERE id = $1 AND deleted > 0 AND deleted < $2)`, folder.String(), int64(at)).Scan(&gone)
	if err != nil || !gone {
		return false, err
	}
	return true, removeDocuments(ctx, tx, []string{document})
}

// moveFolder leaves the documents below the folder to be labelled anew. One
// that waits since an earlier move keeps its place.
func moveFolder(ctx context.Context, tx Tx, d events.FolderMoved, at events.Position) error {
	if err := tx.Exec(ctx, `UPDATE folders SET parent = $2 WHERE id = $1`, d.Folder.String(), idText(d.Parent)); err != nil {
		return err
	}
	return tx.Exec(ctx, below+`INSERT INTO deferred (document, position) SELECT id, $2 FROM documents WHERE folder IN (SELECT id FROM below) ON CONFLICT DO NOTHING`,
		d.Folder.String(), int64(at))
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

// replaceText gives a document another text. The one it had is found until the
// index holds all of the new one, and can be read as long as the document lives.
func replaceText(ctx context.Context, tx Tx, document string, version int, c events.Content) error {
	var made int
	err := tx.QueryRow(ctx, `SELECT version FROM documents WHERE id = $1`, document).Scan(&made)
	if errors.Is(err, sql.ErrNoRows) || err == nil && made >= version {
		return dropAttempts(ctx, tx, document) // gone with its folder, or applied before
	}
	if err != nil {
		return fmt.Errorf("text of document %s: %w", document, err)
	}
	return setText(ctx, tx, document, version, c)
}

// removeFolder forgets all documents in a folder and below it, so many at a
// time that memory does not grow with the folder.
func removeFolder(ctx context.Context, tx Tx, folder uuid.UUID, at events.Position) error {
	const page = 2000
	err := tx.Exec(ctx, below+`UPDATE folders SET deleted = $2 WHERE id IN (SELECT id FROM below) AND deleted = 0`, folder.String(), int64(at))
	for err == nil {
		var ids []string
		ids, err = Column(ctx, tx, below+`SELECT id FROM documents WHERE folder IN (SELECT id FROM below) LIMIT CAST($2 AS INTEGER)`, folder.String(), page)
		if err != nil || len(ids) == 0 {
			break
		}
		err = removeDocuments(ctx, tx, ids)
	}
	return err
}

// removeDocuments forgets documents with the texts of all their versions.
func removeDocuments(ctx context.Context, tx Tx, documents []string) error {
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
		`INSERT INTO texts (stream, named) SELECT value, 1 FROM json_each($1)`, // what is still being read comes too late
	} {
		if err := tx.Exec(ctx, query, jsonText(prefixes)); err != nil {
			return err
		}
	}
	const listed = `(SELECT value FROM json_each($1))`
	for _, query := range []string{
		`INSERT INTO forgotten (passage) SELECT ` + passageID + ` FROM passages WHERE document IN ` + listed + ` ON CONFLICT DO NOTHING`,
		`DELETE FROM passages WHERE document IN ` + listed,
		`DELETE FROM unindexed WHERE document IN ` + listed,
		`DELETE FROM deferred WHERE document IN ` + listed,
		`DELETE FROM documents WHERE id IN ` + listed,
	} {
		if err := tx.Exec(ctx, query, jsonText(documents)); err != nil {
			return err
		}
	}
	return nil
}

// textPrefix returns what the streams of a document's sections begin with. In
// texts it stands for a document that was deleted.
func textPrefix(document string) (string, error) {
	id, err := uuid.Parse(document)
	return strings.TrimSuffix(events.TextStream(id, 0), "0"), err
}
