package projections

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"annals/events"

	"github.com/google/uuid"
)

// Vault is the read model of folders, permissions, documents and tags.
type Vault struct{}

// Name is "vault".
func (Vault) Name() string { return "vault" }

// Version of the vault's tables.
func (Vault) Version() int { return 2 }

// Types are the events of folders and documents.
func (Vault) Types() []string {
	return []string{
		"FolderCreated", "FolderRenamed", "FolderMoved", "FolderShared", "FolderDeleted",
		"DocumentImported", "DocumentRenamed", "DocumentMoved", "DocumentTagged", "DocumentRevised", "DocumentReread", "DocumentDeleted",
	}
}

// Apply changes the vault as e says.
func (v Vault) Apply(ctx context.Context, tx Tx, e events.Event) error {
	if e.Stream == events.Folders {
		return v.applyFolder(ctx, tx, e)
	}
	return v.applyDocument(ctx, tx, e)
}

func (Vault) applyFolder(ctx context.Context, tx Tx, e events.Event) error {
	at := stamp(e.Metadata.Time)
	switch d := e.Data.(type) {
	case events.FolderCreated:
		err := tx.Exec(ctx, `INSERT INTO folders (id, parent, name, sort_name, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
			ON CONFLICT (id) DO UPDATE SET parent = excluded.parent, name = excluded.name, sort_name = excluded.sort_name`,
			d.Folder.String(), idText(d.Parent), d.Name, strings.ToLower(d.Name), at)
		if err != nil || d.Owner == "" {
			return err
		}
		return tx.Exec(ctx, `INSERT INTO permissions (principal, folder, access, owner) VALUES ($1, $2, $3, 1) ON CONFLICT DO NOTHING`,
			string(d.Owner), d.Folder.String(), int(events.Own))
	case events.FolderRenamed:
		return tx.Exec(ctx, `UPDATE folders SET name = $2, sort_name = $3, updated_at = $4 WHERE id = $1`, d.Folder.String(), d.Name, strings.ToLower(d.Name), at)
	case events.FolderMoved:
		return tx.Exec(ctx, `UPDATE folders SET parent = $2, updated_at = $3 WHERE id = $1`, d.Folder.String(), idText(d.Parent), at)
	case events.FolderShared:
		if err := tx.Exec(ctx, `DELETE FROM permissions WHERE folder = $1 AND owner = 0`, d.Folder.String()); err != nil {
			return err
		}
		for _, p := range d.Permissions {
			access, ok := events.ParseAccess(p.Access)
			if !ok {
				continue
			}
			err := tx.Exec(ctx, `INSERT INTO permissions (principal, folder, access, owner) VALUES ($1, $2, $3, 0)
				ON CONFLICT (principal, folder, owner) DO UPDATE SET access = excluded.access`,
				string(p.Principal), d.Folder.String(), int(access))
			if err != nil {
				return err
			}
		}
		return tx.Exec(ctx, `UPDATE folders SET updated_at = $2 WHERE id = $1`, d.Folder.String(), at)
	case events.FolderDeleted:
		return tx.Exec(ctx, `UPDATE folders SET deleted = 1, updated_at = $2 WHERE id = $1`, d.Folder.String(), at)
	}
	return nil
}

func (v Vault) applyDocument(ctx context.Context, tx Tx, e events.Event) error {
	id, at := events.StreamID(e.Stream).String(), stamp(e.Metadata.Time)
	switch d := e.Data.(type) {
	case events.DocumentImported:
		err := tx.Exec(ctx, `INSERT INTO documents (id, folder, name, sort_name, title, description, media_type, sha256, size, pages, version, content, owner, created_at, updated_at, tags)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $13, $14) ON CONFLICT (id) DO NOTHING`,
			id, d.Folder.String(), d.Name, strings.ToLower(d.Name), d.Title, d.Description, d.MediaType, d.SHA256, d.Size, d.Pages, d.Version,
			string(e.Metadata.Actor), at, jsonText(d.Tags))
		if err != nil || len(d.Tags) == 0 {
			return err
		}
		return v.tag(ctx, tx, id, d.Tags)
	case events.DocumentRenamed:
		return tx.Exec(ctx, `UPDATE documents SET name = $2, sort_name = $3, version = $4, updated_at = $5 WHERE id = $1`, id, d.Name, strings.ToLower(d.Name), d.Version, at)
	case events.DocumentMoved:
		return tx.Exec(ctx, `UPDATE documents SET folder = $2, version = $3, updated_at = $4 WHERE id = $1`, id, d.Folder.String(), d.Version, at)
	case events.DocumentTagged:
		if err := tx.Exec(ctx, `UPDATE documents SET tags = $2, version = $3, updated_at = $4 WHERE id = $1`, id, jsonText(d.Tags), d.Version, at); err != nil {
			return err
		}
		return v.tag(ctx, tx, id, d.Tags)
	case events.DocumentRevised:
		return v.content(ctx, tx, id, d.Version, at, d.Content)
	case events.DocumentReread:
		return v.content(ctx, tx, id, d.Version, at, d.Content)
	case events.DocumentDeleted:
		if err := tx.Exec(ctx, `DELETE FROM documents WHERE id = $1`, id); err != nil {
			return err
		}
		return v.tag(ctx, tx, id, nil)
	}
	return nil
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

func (Vault) content(ctx context.Context, tx Tx, id string, version int, at string, c events.Content) error {
	return tx.Exec(ctx, `UPDATE documents SET title = $2, description = $3, media_type = $4, sha256 = $5, size = $6, pages = $7, version = $8, content = $8, updated_at = $9 WHERE id = $1`,
		id, c.Title, c.Description, c.MediaType, c.SHA256, c.Size, c.Pages, version, at)
}

// stamp writes a time as read models keep it: sortable, UTC, microseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// idText writes an id, "" for none.
func idText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

func jsonText[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic("projections: a list of strings or numbers cannot be encoded: " + err.Error())
	}
	return string(b)
}
