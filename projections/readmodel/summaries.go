package readmodel

import (
	"context"
	"errors"

	"annals/events"

	"github.com/google/uuid"
)

// Summaries is the read model of summaries: the content of each folder, with a line for
// each document, and the folders that jobs import into.
type Summaries struct{}

func init() {
	Register(Model{Projection: Summaries{}})
}

// Name is "summaries".
func (Summaries) Name() string { return "summaries" }

// Version of the summaries' tables.
func (Summaries) Version() int { return 3 }

// Oldest returns Version: this program cannot read older tables.
func (s Summaries) Oldest() int { return s.Version() }

// Types returns the events of folders, documents and jobs that change a summary.
func (Summaries) Types() []string {
	return []string{
		"FolderCreated", "FolderRenamed", "FolderMoved", "FolderDeleted",
		"DocumentImported", "DocumentRenamed", "DocumentMoved", "DocumentRevised", "DocumentReread", "DocumentDeleted",
		"FileAccepted", "ImportRequested", "FileImported", "FileFailed",
	}
}

// Apply changes the summaries.
func (s Summaries) Apply(ctx context.Context, tx Tx, e events.Event) error {
	id := events.StreamID(e.Stream).String()
	switch d := e.Data.(type) {
	case events.FolderCreated:
		return tx.Exec(ctx, `INSERT INTO folders (id, parent, name, summary) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			d.Folder.String(), IDText(d.Parent), d.Name, events.SummaryID(d.Folder).String())
	case events.FolderRenamed:
		return tx.Exec(ctx, `UPDATE folders SET name = $2 WHERE id = $1`, d.Folder.String(), d.Name)
	case events.FolderMoved:
		return tx.Exec(ctx, `UPDATE folders SET parent = $2 WHERE id = $1`, d.Folder.String(), IDText(d.Parent))
	case events.FolderDeleted:
		return errors.Join(
			tx.Exec(ctx, Below+`DELETE FROM documents WHERE folder IN (SELECT id FROM below)`, d.Folder.String()),
			tx.Exec(ctx, Below+`UPDATE folders SET deleted = 1 WHERE id IN (SELECT id FROM below)`, d.Folder.String()),
		)
	case events.DocumentImported:
		return tx.Exec(ctx, `INSERT INTO documents (id, folder, name, title, description, summary) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
			id, d.Folder.String(), d.Name, d.Title, d.Description, d.Summary)
	case events.DocumentRenamed:
		return tx.Exec(ctx, `UPDATE documents SET name = $2 WHERE id = $1`, id, d.Name)
	case events.DocumentMoved:
		return tx.Exec(ctx, `UPDATE documents SET folder = $2 WHERE id = $1`, id, d.Folder.String())
	case events.DocumentRevised:
		return s.content(ctx, tx, id, d.Content)
	case events.DocumentReread:
		return s.content(ctx, tx, id, d.Content)
	case events.DocumentDeleted:
		return tx.Exec(ctx, `DELETE FROM documents WHERE id = $1`, id)
	case events.FileAccepted:
		if d.Refused != "" {
			return nil
		}
		rest := d.Rest
		if d.Under == uuid.Nil {
			rest = d.Folder
		}
		return tx.Exec(ctx, `INSERT INTO busy (job, file, under, rest) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, id, d.File, IDText(d.Under), rest)
	case events.ImportRequested:
		return tx.Exec(ctx, `UPDATE busy SET owner = $2 WHERE job = $1`, id, string(d.User))
	case events.FileImported:
		return tx.Exec(ctx, `DELETE FROM busy WHERE job = $1 AND file = $2`, id, d.File)
	case events.FileFailed:
		return tx.Exec(ctx, `DELETE FROM busy WHERE job = $1 AND file = $2`, id, d.File)
	}
	return nil
}

func (Summaries) content(ctx context.Context, tx Tx, id string, c events.Content) error {
	return tx.Exec(ctx, `UPDATE documents SET title = $2, description = $3, summary = $4 WHERE id = $1`, id, c.Title, c.Description, c.Summary)
}
