package readmodel

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"annals/events"
	"annals/events/lookalike"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

func (v Vault) applyDocument(ctx context.Context, tx Tx, e events.Event) error {
	id := events.StreamID(e.Stream).String()
	switch d := e.Data.(type) {
	case events.DocumentImported:
		return v.file(ctx, tx, id, e, d)
	case events.DocumentRenamed:
		changed, err := v.changed(ctx, tx, e, d.Version, "renamed", `name = $6, sort_name = $7, look = $8`, d.Name, strings.ToLower(d.Name), lookalike.Key(d.Name))
		if err != nil || !changed {
			return err
		}
		return v.name(ctx, tx, id, d.Name)
	case events.DocumentMoved:
		return errors.Join(
			v.change(ctx, tx, e, d.Version, "moved", `folder = $6`, d.Folder.String()),
			tx.Exec(ctx, `UPDATE name_terms SET folder = (SELECT folder FROM documents WHERE id = $1) WHERE document = $1`, id),
			v.removeArrived(ctx, tx, id, d.Folder),
			labelled(ctx, tx, e),
		)
	case events.DocumentTagged:
		changed, err := v.changed(ctx, tx, e, d.Version, "tagged", `tags = $6`, JSONText(d.Tags))
		if err != nil || !changed {
			return err
		}
		return errors.Join(v.tag(ctx, tx, id, d.Tags), labelled(ctx, tx, e))
	case events.DocumentRevised:
		return v.content(ctx, tx, e, d.Version, "revised", d.Content)
	case events.DocumentReread:
		return v.content(ctx, tx, e, d.Version, "reread", d.Content)
	case events.DocumentDeleted:
		return v.remove(ctx, tx, id)
	}
	return nil
}

// labelled records that an event changed a document's folder or tags, which searches
// filter by.
func labelled(ctx context.Context, tx Tx, e events.Event) error {
	return tx.Exec(ctx, `UPDATE labels SET position = $1 WHERE position < $1`, int64(e.Position))
}

// file adds a document, unless its folder was deleted in the meantime. It reads no rows,
// so that many documents are added in one round trip. It inserts the tags and name terms
// before the document, and only if the document does not exist yet.
func (Vault) file(ctx context.Context, tx Tx, id string, e events.Event, d events.DocumentImported) error {
	const notDeleted = `NOT EXISTS (SELECT 1 FROM folders WHERE id = $2 AND deleted = 1)`
	folder := d.Folder.String()
	for _, tag := range d.Tags {
		err := tx.Exec(ctx, `INSERT INTO tags (tag, document) SELECT $3, $1 WHERE `+notDeleted+` AND NOT EXISTS (SELECT 1 FROM documents WHERE id = $1) ON CONFLICT DO NOTHING`, id, folder, tag)
		if err != nil {
			return err
		}
	}
	for _, term := range NameTerms(d.Name) {
		err := tx.Exec(ctx, `INSERT INTO name_terms (folder, term, document) SELECT $2, $3, $1 WHERE `+notDeleted+` AND NOT EXISTS (SELECT 1 FROM documents WHERE id = $1) ON CONFLICT DO NOTHING`, id, folder, term)
		if err != nil {
			return err
		}
	}
	return tx.Exec(ctx, `INSERT INTO documents (id, folder, name, sort_name, look, title, description, media_type, sha256, size, pages, version, content,
			owner, created_at, updated_at, tags, change, changed_by, text_stream,
			ocr_pages, confidence, unread, extractor)
		SELECT $1, $2, $3, $4, $16, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $13, $14, 'imported', $12, $15, $17, $18, $19, $20 WHERE `+notDeleted+` ON CONFLICT (id) DO NOTHING`,
		id, folder, d.Name, strings.ToLower(d.Name), d.Title, d.Description, d.MediaType, d.SHA256, d.Size, d.Pages, d.Version,
		string(e.Metadata.Actor), stamp(e.Metadata.Time), JSONText(d.Tags), d.TextStream, lookalike.Key(d.Name),
		d.OCRPages, Thousandths(d.Confidence), d.UnreadPages, d.Extractor)
}

// keepVersion stores a document as it was before version $2.
const keepVersion = `INSERT INTO versions (document, version, change, created_at, created_by, folder, name, tags, title, description, media_type, sha256, size, pages, content, text_stream, ocr_pages, confidence, unread, extractor)
	SELECT id, version, change, updated_at, changed_by, folder, name, tags, title, description, media_type, sha256, size, pages, content, text_stream, ocr_pages, confidence, unread, extractor
	FROM documents WHERE id = $1 AND version < $2 ON CONFLICT (document, version) DO NOTHING`

// change sets columns of a document. set is SQL whose values are numbered from $6. A
// document that was deleted, or has a later version, does not change. Several events may
// belong to one version.
func (Vault) change(ctx context.Context, tx Tx, e events.Event, version int, what, set string, values ...any) error {
	if err := tx.Exec(ctx, keepVersion, events.StreamID(e.Stream).String(), version); err != nil {
		return err
	}
	query, args := setColumns(e, version, what, set, values)
	return tx.Exec(ctx, query, args...)
}

// changed is like change, but also reports whether the document changed.
func (Vault) changed(ctx context.Context, tx Tx, e events.Event, version int, what, set string, values ...any) (bool, error) {
	if err := tx.Exec(ctx, keepVersion, events.StreamID(e.Stream).String(), version); err != nil {
		return false, err
	}
	query, args := setColumns(e, version, what, set, values)
	n, err := tx.Changed(ctx, query, args...)
	return n > 0, err
}

func setColumns(e events.Event, version int, what, set string, values []any) (query string, args []any) {
	args = []any{events.StreamID(e.Stream).String(), version, what, string(e.Metadata.Actor), stamp(e.Metadata.Time)}
	return `UPDATE documents SET ` + set + `, version = $2, changed_by = $4, updated_at = $5,
			change = CASE WHEN version < $2 THEN $3 WHEN change LIKE '%' || $3 || '%' THEN change ELSE change || ', ' || $3 END
		WHERE id = $1 AND version <= $2 AND NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = folder AND f.deleted = 1)`, append(args, values...)
}

func (v Vault) content(ctx context.Context, tx Tx, e events.Event, version int, what string, c events.Content) error {
	return v.change(ctx, tx, e, version, what,
		`title = $6, description = $7, media_type = $8, sha256 = $9, size = $10, pages = $11, text_stream = $12, content = $2,
			ocr_pages = $13, confidence = $14, unread = $15, extractor = $16`,
		c.Title, c.Description, c.MediaType, c.SHA256, c.Size, c.Pages, c.TextStream,
		c.OCRPages, Thousandths(c.Confidence), c.UnreadPages, c.Extractor)
}

func (Vault) tag(ctx context.Context, tx Tx, id string, tags []string) error {
	if err := tx.Exec(ctx, `DELETE FROM tags WHERE document = $1`, id); err != nil {
		return err
	}
	for _, tag := range tags {
		if err := tx.Exec(ctx, `INSERT INTO tags (tag, document) VALUES ($1, $2) ON CONFLICT DO NOTHING`, tag, id); err != nil {
			return err
		}
	}
	return nil
}

// NameTerms returns the search terms of a document's name, each once.
func NameTerms(name string) []string {
	terms := searchindex.Terms(strings.TrimSuffix(name, path.Ext(name)))
	slices.Sort(terms)
	return slices.Compact(terms)
}

// name replaces the terms of a document's name.
func (Vault) name(ctx context.Context, tx Tx, id, name string) error {
	if err := tx.Exec(ctx, `DELETE FROM name_terms WHERE document = $1`, id); err != nil {
		return err
	}
	for _, term := range NameTerms(name) {
		if err := tx.Exec(ctx, `INSERT INTO name_terms (folder, term, document) SELECT folder, $2, id FROM documents WHERE id = $1 ON CONFLICT DO NOTHING`, id, term); err != nil {
			return err
		}
	}
	return nil
}

// removeArrived removes a document that was moved or imported into a deleted folder.
func (Vault) removeArrived(ctx context.Context, tx Tx, id string, folder uuid.UUID) error {
	const gone = ` AND EXISTS (SELECT 1 FROM documents d JOIN folders f ON f.id = d.folder WHERE d.id = $1 AND f.id = $2 AND f.deleted = 1)`
	return errors.Join(
		tx.Exec(ctx, `DELETE FROM tags WHERE document = $1`+gone, id, folder.String()),
		tx.Exec(ctx, `DELETE FROM name_terms WHERE document = $1`+gone, id, folder.String()),
		tx.Exec(ctx, `DELETE FROM versions WHERE document = $1`+gone, id, folder.String()),
		tx.Exec(ctx, `DELETE FROM documents WHERE id = $1`+gone, id, folder.String()),
	)
}

func (Vault) remove(ctx context.Context, tx Tx, id string) error {
	return errors.Join(
		tx.Exec(ctx, `DELETE FROM tags WHERE document = $1`, id),
		tx.Exec(ctx, `DELETE FROM name_terms WHERE document = $1`, id),
		tx.Exec(ctx, `DELETE FROM versions WHERE document = $1`, id),
		tx.Exec(ctx, `DELETE FROM documents WHERE id = $1`, id),
	)
}
