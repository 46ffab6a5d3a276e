package readmodel

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"annals/events"
	"annals/events/sqldb"

	"github.com/google/uuid"
)

// Vault is the read model of folders, permissions, documents and tags.
type Vault struct{}

func init() {
	Register(Model{Projection: Vault{}})
}

// Name is "vault".
func (Vault) Name() string { return "vault" }

// Version of the vault's tables.
func (Vault) Version() int { return 10 }

// Oldest is 8: tables of that version only lack indexes.
func (Vault) Oldest() int { return 8 }

// Types returns the events of folders and documents.
func (Vault) Types() []string {
	return []string{
		"FolderCreated", "FolderRenamed", "FolderMoved", "FolderShared", "FolderDeleted",
		"FolderInvitationAccepted", "FolderInvitationDeclined", "FolderLeft", "InviterUnblocked",
		"DocumentImported", "DocumentRenamed", "DocumentMoved", "DocumentTagged", "DocumentRevised", "DocumentReread", "DocumentDeleted",
	}
}

// Apply changes the vault.
func (v Vault) Apply(ctx context.Context, tx Tx, e events.Event) error {
	if e.Stream == events.Folders {
		return v.applyFolder(ctx, tx, e)
	}
	return v.applyDocument(ctx, tx, e)
}

func (v Vault) applyFolder(ctx context.Context, tx Tx, e events.Event) error {
	at := stamp(e.Metadata.Time)
	switch d := e.Data.(type) {
	case events.FolderCreated:
		err := tx.Exec(ctx, `INSERT INTO folders (id, parent, name, sort_name, created_at, updated_at, version, revision) VALUES ($1, $2, $3, $4, $5, $5, 1, $6)
			ON CONFLICT (id) DO NOTHING`,
			d.Folder.String(), IDText(d.Parent), d.Name, strings.ToLower(d.Name), at, e.Revision)
		return errors.Join(err, v.own(ctx, tx, d.Folder, d.Owner))
	case events.FolderRenamed:
		return tx.Exec(ctx, `UPDATE folders SET name = $2, sort_name = $3, updated_at = $4, version = version + 1, revision = $5 WHERE id = $1 AND revision < $5`,
			d.Folder.String(), d.Name, strings.ToLower(d.Name), at, e.Revision)
	case events.FolderMoved:
		return errors.Join(
			tx.Exec(ctx, `UPDATE folders SET parent = $2, updated_at = $3, version = version + 1, revision = $4 WHERE id = $1 AND revision < $4`, d.Folder.String(), IDText(d.Parent), at, e.Revision),
			tx.Exec(ctx, `INSERT INTO moved (folder, position) VALUES ($1, $2) ON CONFLICT (folder) DO UPDATE SET position = excluded.position`, d.Folder.String(), int64(e.Position)),
			v.own(ctx, tx, d.Folder, d.Owner),
		)
	case events.FolderShared:
		if changed, err := v.listed(ctx, tx, d.Folder, e); !changed || err != nil {
			return err
		}
		return errors.Join(v.share(ctx, tx, d), v.invite(ctx, tx, d, at))
	case events.FolderInvitationAccepted:
		if changed, err := v.listed(ctx, tx, d.Folder, e); !changed || err != nil {
			return err
		}
		return v.accept(ctx, tx, d)
	case events.FolderLeft:
		if changed, err := v.listed(ctx, tx, d.Folder, e); !changed || err != nil {
			return err
		}
		return tx.Exec(ctx, `DELETE FROM permissions WHERE folder = $1 AND principal = $2 AND owner = 0`, d.Folder.String(), string(d.Principal))
	case events.FolderInvitationDeclined:
		return v.decline(ctx, tx, d, at)
	case events.InviterUnblocked:
		return v.unblock(ctx, tx, d)
	case events.FolderDeleted:
		return errors.Join(
			tx.Exec(ctx, `UPDATE folders SET updated_at = $2, version = version + 1, revision = $3 WHERE id = $1 AND revision < $3`, d.Folder.String(), at, e.Revision),
			v.empty(ctx, tx, d.Folder),
		)
	}
	return nil
}

// own makes owner an owner of a folder, unless owner is empty. Sharing the folder later
// does not remove this owner.
func (Vault) own(ctx context.Context, tx Tx, folder uuid.UUID, owner events.Principal) error {
	if owner == "" {
		return nil
	}
	return tx.Exec(ctx, `INSERT INTO permissions (principal, folder, access, owner) VALUES ($1, $2, $3, 1) ON CONFLICT DO NOTHING`,
		string(owner), folder.String(), int(events.Own))
}

// share replaces a folder's list of permissions.
func (Vault) share(ctx context.Context, tx Tx, d events.FolderShared) error {
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
	return nil
}

// Below is a common table expression named below: folder $1, even if it does not exist,
// and all folders below it. If possible the id comes from a column and not from $1, so
// that every database compares it by its bytes.
const Below = `WITH RECURSIVE below (id) AS (SELECT coalesce(max(id), $1) FROM folders WHERE id = $1 UNION ALL SELECT folders.id FROM folders JOIN below ON folders.parent = below.id) `

// empty marks a folder and all folders below it as deleted. That hides their documents,
// including documents that are still imported into them. The documents are removed later,
// because there may be many.
func (Vault) empty(ctx context.Context, tx Tx, folder uuid.UUID) error {
	for _, query := range []string{
		`DELETE FROM moved WHERE folder IN (SELECT id FROM below)`,
		`INSERT INTO emptied (folder) SELECT id FROM below WHERE true ON CONFLICT DO NOTHING`,
		`DELETE FROM invitations WHERE folder IN (SELECT id FROM below)`,
		`UPDATE folders SET deleted = 1 WHERE id IN (SELECT id FROM below)`,
	} {
		if err := tx.Exec(ctx, Below+query, folder.String()); err != nil {
			return err
		}
	}
	return nil
}

// Later removes some of the documents of deleted folders, and reports whether there were
// deleted folders.
func (v Vault) Later(ctx context.Context, tables Tables) (more bool, err error) {
	const page = 500
	folders, err := sqldb.Column[string](ctx, tables, `SELECT folder FROM emptied ORDER BY folder LIMIT CAST($1 AS INTEGER)`, page)
	if err != nil || len(folders) == 0 {
		return false, err
	}
	return true, tables.Transaction(ctx, func(tx Tx) error {
		left := page
		for _, folder := range folders {
			documents, err := sqldb.Column[string](ctx, tx, `SELECT id FROM documents WHERE folder = $1 LIMIT CAST($2 AS INTEGER)`, folder, left)
			if err != nil {
				return err
			}
			for _, id := range documents {
				if err := v.remove(ctx, tx, id); err != nil {
					return err
				}
			}
			if left -= len(documents); left <= 0 {
				return nil
			}
			if err := tx.Exec(ctx, `DELETE FROM emptied WHERE folder = $1`, folder); err != nil {
				return err
			}
		}
		return nil
	})
}

// stamp returns a time in the format of read models: sortable, UTC, microseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Thousandths returns a confidence from 0 to 1 as stored in read models, in thousandths.
func Thousandths(confidence float64) int { return int(math.Round(1000 * confidence)) }

// IDText returns an id as text, or "" for uuid.Nil.
func IDText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// JSONText returns a list as JSON, and an empty or nil one as [].
func JSONText[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic("projections: a list of strings or numbers cannot be encoded: " + err.Error())
	}
	return string(b)
}

// Counting leaves out the content of deleted folders, which is removed later.
func (Vault) Counting() map[string]string {
	const kept = `NOT EXISTS (SELECT 1 FROM documents d JOIN emptied e ON e.folder = d.folder WHERE d.id = document)`
	return map[string]string{"emptied": "", "documents": `folder NOT IN (SELECT folder FROM emptied)`, "versions": kept, "tags": kept}
}
