// Package vectors is the read model of the vectors of passages, by which a search finds
// passages that say the same in other words. It is optional: a service has it if an endpoint
// makes vectors. The package registers the read model with readmodel, and may import
// readmodel, readmodel/passages, searchindex and events.
package vectors

import (
	"context"
	"time"

	"annals/events"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"

	"github.com/google/uuid"
)

// Projection is the read model of vectors. Apply only records which documents have new
// texts. Later reads the texts from the log, cuts them into passages like the read model of
// passages, and stores their vectors, so a slow endpoint delays nothing else.
type Projection struct {
	embedding readmodel.Embedding
	indexed   time.Time // when Later last asked whether an index is lacking
}

func init() {
	readmodel.Register(readmodel.Model{Projection: new(Projection), Optional: true, NotAwaited: "a search finds a change by its words, with or without its vectors"})
}

// Name is the name of the read model.
const Name = "vectors"

// Name is "vectors".
func (*Projection) Name() string { return Name }

// tablesVersion is the version of the tables alone.
const tablesVersion = 2

// Version changes with the tables and with the cutting of passages.
func (*Projection) Version() int {
	return 1000*tablesVersion + new(passages.Projection).Version()
}

// Oldest returns the oldest version with the same tables. Their vectors may be of passages
// that are cut otherwise, but rank well enough until the read model is rebuilt.
func (*Projection) Oldest() int { return 1000 * tablesVersion }

// Types returns the events that change the text, folder or tags of a document.
func (*Projection) Types() []string {
	return []string{
		"FolderCreated", "FolderMoved", "FolderDeleted",
		"DocumentImported", "DocumentMoved", "DocumentTagged", "DocumentRevised", "DocumentReread", "DocumentDeleted",
	}
}

// With returns a projection that makes vectors.
func (*Projection) With(e readmodel.Embedding) readmodel.Projection {
	return &Projection{embedding: e}
}

// Reached returns a query for the position up to which all passages have vectors, and for
// the number of parked events.
func (*Projection) Reached() string {
	return `SELECT coalesce((SELECT min(waiting) - 1 FROM documents WHERE waiting > 0), position), (SELECT count(*) FROM parked) FROM checkpoint`
}

// Apply records new, changed and deleted documents.
func (p *Projection) Apply(ctx context.Context, tx readmodel.Tx, e events.Event) error {
	switch d := e.Data.(type) {
	case events.FolderCreated:
		return tx.Exec(ctx, `INSERT INTO folders (id, parent) VALUES ($1, $2) ON CONFLICT DO NOTHING`, d.Folder.String(), readmodel.IDText(d.Parent))
	case events.FolderMoved:
		return tx.Exec(ctx, `UPDATE folders SET parent = $2 WHERE id = $1`, d.Folder.String(), readmodel.IDText(d.Parent))
	case events.FolderDeleted:
		return removeFolder(ctx, tx, d.Folder)
	}
	return applyDocument(ctx, tx, events.StreamID(e.Stream).String(), e)
}

func applyDocument(ctx context.Context, tx readmodel.Tx, id string, e events.Event) error {
	switch d := e.Data.(type) {
	case events.DocumentImported:
		// If the folder was deleted in the meantime, the document is deleted with it.
		return tx.Exec(ctx, `INSERT INTO documents (id, folder, title, tags, version, text, sections, waiting)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE NOT EXISTS (SELECT 1 FROM folders WHERE id = $2 AND deleted = 1) ON CONFLICT (id) DO NOTHING`,
			id, d.Folder.String(), d.Title, readmodel.JSONText(d.Tags), d.Version, d.TextStream, d.Sections, int64(e.Position))
	case events.DocumentRevised:
		return replaceText(ctx, tx, id, d.Version, d.Content, e.Position)
	case events.DocumentReread:
		return replaceText(ctx, tx, id, d.Version, d.Content, e.Position)
	case events.DocumentMoved:
		var gone bool
		err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM folders WHERE id = $1 AND deleted = 1)`, d.Folder.String()).Scan(&gone)
		if err != nil {
			return err
		}
		if gone {
			return remove(ctx, tx, `id = $1`, id)
		}
		return tx.Exec(ctx, `UPDATE documents SET folder = $2 WHERE id = $1`, id, d.Folder.String())
	case events.DocumentTagged:
		return tx.Exec(ctx, `UPDATE documents SET tags = $2 WHERE id = $1`, id, readmodel.JSONText(d.Tags))
	case events.DocumentDeleted:
		return remove(ctx, tx, `id = $1`, id)
	}
	return nil
}

func replaceText(ctx context.Context, tx readmodel.Tx, id string, version int, c events.Content, at events.Position) error {
	return tx.Exec(ctx, `UPDATE documents SET version = $2, title = $3, text = $4, sections = $5, waiting = $6, revision = 0, section = -1, passages = 0 WHERE id = $1 AND version < $2`,
		id, version, c.Title, c.TextStream, c.Sections, int64(at))
}

// removeFolder removes all documents in and below a folder.
func removeFolder(ctx context.Context, tx readmodel.Tx, folder uuid.UUID) error {
	err := tx.Exec(ctx, readmodel.Below+`UPDATE folders SET deleted = 1 WHERE id IN (SELECT id FROM below)`, folder.String())
	if err != nil {
		return err
	}
	return remove(ctx, tx, `folder IN (SELECT id FROM folders WHERE deleted = 1)`)
}

// remove removes the documents that match a condition, with their vectors.
func remove(ctx context.Context, tx readmodel.Tx, condition string, args ...any) error {
	for _, query := range []string{
		`DELETE FROM signs WHERE document IN (SELECT row FROM documents WHERE ` + condition + `)`,
		`DELETE FROM vectors WHERE document IN (SELECT row FROM documents WHERE ` + condition + `)`,
		`DELETE FROM documents WHERE ` + condition,
	} {
		if err := tx.Exec(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// Comparisons leaves out how far the vectors are, and the vectors themselves: they come from
// the endpoint, and not from the log.
func (*Projection) Comparisons() []readmodel.Comparison {
	return []readmodel.Comparison{
		{Table: "folders", Query: `SELECT id, parent, deleted FROM folders ORDER BY id`, Keys: 1},
		{Table: "documents", Query: `SELECT id, folder, title, tags, version, text, sections FROM documents ORDER BY id`, Keys: 1},
		{Table: "vectors of no document", Query: `SELECT row FROM vectors WHERE document NOT IN (SELECT row FROM documents) ORDER BY row`, Keys: 1},
		{Table: "signs of no vector", Query: `SELECT row FROM signs WHERE row NOT IN (SELECT row FROM vectors) ORDER BY row`, Keys: 1},
	}
}
