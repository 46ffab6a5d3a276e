package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"annals/events"

	"github.com/google/uuid"
)

// Usage is the read model of what users and folders take: what is stored, by
// who uploaded it, and what is in work. Sums are kept where they are of many
// rows. Each is changed by the same condition as the rows it is the sum of, so
// that an event that is applied twice counts once.
type Usage struct{}

// Name is "usage".
func (Usage) Name() string { return "usage" }

// Version of the usage's tables.
func (Usage) Version() int { return 2 }

// Oldest is Version: what changed last cannot be read in older tables.
func (u Usage) Oldest() int { return u.Version() }

// Types are the events of folders, documents and jobs that change what is kept.
func (Usage) Types() []string {
	return []string{
		"FolderCreated", "FolderMoved", "FolderShared", "FolderLeft", "FolderDeleted",
		"DocumentImported", "DocumentMoved", "DocumentRevised", "DocumentDeleted",
		"FileAccepted", "ImportRequested", "FileImported", "FileFailed",
	}
}

// Apply changes the usage as e says.
func (u Usage) Apply(ctx context.Context, tx Tx, e events.Event) error {
	id, by, at := events.StreamID(e.Stream).String(), string(e.Metadata.Actor), stamp(e.Metadata.Time)
	switch d := e.Data.(type) {
	case events.FolderCreated:
		return u.create(ctx, tx, d, by)
	case events.FolderMoved:
		return u.moveFolder(ctx, tx, d)
	case events.FolderShared:
		return u.share(ctx, tx, d, by)
	case events.FolderLeft:
		return tx.Exec(ctx, `DELETE FROM shares WHERE folder = $1 AND principal = $2`, d.Folder.String(), string(d.Principal))
	case events.FolderDeleted:
		folder := d.Folder.String()
		return errors.Join(
			tx.Exec(ctx, below+`UPDATE folders SET deleted = 1 WHERE id IN (SELECT id FROM below)`, folder),
			tx.Exec(ctx, below+`DELETE FROM shares WHERE folder IN (SELECT id FROM below)`, folder),
			u.remove(ctx, tx, at, below, `folder IN (SELECT id FROM below)`, folder),
		)
	case events.DocumentImported:
		return u.file(ctx, tx, id, by, at, d)
	case events.DocumentMoved:
		return u.moveDocument(ctx, tx, id, at, d.Folder)
	case events.DocumentRevised:
		return u.revise(ctx, tx, id, by, d)
	case events.DocumentDeleted:
		return u.remove(ctx, tx, at, "", `id = $1`, id)
	case events.FileAccepted:
		return u.accept(ctx, tx, id, d)
	case events.ImportRequested:
		return tx.Exec(ctx, `UPDATE work SET owner = $2 WHERE job = $1`, id, string(d.User))
	case events.FileImported:
		return tx.Exec(ctx, `DELETE FROM work WHERE job = $1 AND file = $2`, id, d.File)
	case events.FileFailed:
		return errors.Join(
			tx.Exec(ctx, `INSERT INTO failed (job, file, owner, size, ended) SELECT job, file, owner, size, $3 FROM work WHERE job = $1 AND file = $2 ON CONFLICT DO NOTHING`,
				id, d.File, at),
			tx.Exec(ctx, `DELETE FROM work WHERE job = $1 AND file = $2`, id, d.File),
		)
	}
	return nil
}

// create adds a folder, whose space is that of its parent, or itself at the top
// level and in the inbox.
func (Usage) create(ctx context.Context, tx Tx, d events.FolderCreated, by string) error {
	space := d.Folder.String()
	if d.Parent == uuid.Nil && d.Name == events.Inbox {
		space = ""
	}
	return tx.Exec(ctx, `INSERT INTO folders (id, parent, space, maker, deleted)
		VALUES ($1, $2, coalesce((SELECT CASE WHEN p.space = '' THEN $3 ELSE p.space END FROM folders p WHERE p.id = $2), $3), $4, coalesce((SELECT p.deleted FROM folders p WHERE p.id = $2), 0))
		ON CONFLICT (id) DO NOTHING`, d.Folder.String(), idText(d.Parent), space, by)
}

func (Usage) moveFolder(ctx context.Context, tx Tx, d events.FolderMoved) error {
	return errors.Join(
		tx.Exec(ctx, `UPDATE folders SET parent = $2 WHERE id = $1`, d.Folder.String(), idText(d.Parent)),
		tx.Exec(ctx, below+`UPDATE folders SET space = coalesce((SELECT CASE WHEN p.space = '' THEN $1 ELSE p.space END FROM folders p WHERE p.id = $2), $1)
			WHERE id IN (SELECT id FROM below)`, d.Folder.String(), idText(d.Parent)),
	)
}

// share keeps who made the entries that stay, invitations among them.
func (Usage) share(ctx context.Context, tx Tx, d events.FolderShared, by string) error {
	folder := d.Folder.String()
	var principals []string
	for _, p := range d.Permissions {
		principals = append(principals, string(p.Principal))
	}
	for _, i := range d.Invitations {
		principals = append(principals, string(i.Principal))
	}
	list := jsonText(principals)
	return errors.Join(
		tx.Exec(ctx, `DELETE FROM shares WHERE folder = $1 AND principal NOT IN (SELECT value FROM json_each($2))`, folder, list),
		tx.Exec(ctx, `INSERT INTO shares (folder, principal, maker) SELECT DISTINCT $1, l.value, $3 FROM json_each($2) l
			WHERE NOT EXISTS (SELECT 1 FROM folders WHERE id = $1 AND deleted = 1) ON CONFLICT DO NOTHING`, folder, list, by),
	)
}

// file adds a document with its first content, unless its folder was deleted
// while it was on its way: of such a file, which fails, the text is kept.
func (Usage) file(ctx context.Context, tx Tx, id, by, at string, d events.DocumentImported) error {
	const isNew = `NOT EXISTS (SELECT 1 FROM documents WHERE id = $1) AND NOT EXISTS (SELECT 1 FROM folders WHERE id = $2 AND deleted = 1)`
	folder := d.Folder.String()
	return errors.Join(
		tx.Exec(ctx, `INSERT INTO users (principal) VALUES ($1) ON CONFLICT DO NOTHING`, by),
		tx.Exec(ctx, `UPDATE users SET bytes = bytes + $3, documents = documents + 1 WHERE principal = $4 AND `+isNew, id, folder, d.Stored(), by),
		tx.Exec(ctx, `UPDATE folders SET bytes = bytes + $3, documents = documents + 1 WHERE id = $2 AND `+isNew, id, folder, d.Stored()),
		tx.Exec(ctx, `INSERT INTO contents (document, version, owner, size) SELECT $1, $3, $4, $5 WHERE `+isNew+` ON CONFLICT DO NOTHING`, id, folder, d.Version, by, d.Stored()),
		tx.Exec(ctx, `INSERT INTO removed (document, version, owner, size, ended) SELECT $1, $3, $4, $5, $6 WHERE EXISTS (SELECT 1 FROM folders WHERE id = $2 AND deleted = 1) ON CONFLICT DO NOTHING`,
			id, folder, d.Version, by, d.Stored()-d.Size, at),
		tx.Exec(ctx, `INSERT INTO documents (id, folder, owner, bytes) SELECT $1, $2, $3, $4 WHERE `+isNew, id, folder, by, d.Stored()),
	)
}

// revise adds content to a document that is there.
func (Usage) revise(ctx context.Context, tx Tx, id, by string, d events.DocumentRevised) error {
	const isNew = `EXISTS (SELECT 1 FROM documents WHERE id = $1) AND NOT EXISTS (SELECT 1 FROM contents WHERE document = $1 AND version = $2)`
	return errors.Join(
		tx.Exec(ctx, `INSERT INTO users (principal) VALUES ($1) ON CONFLICT DO NOTHING`, by),
		tx.Exec(ctx, `UPDATE users SET bytes = bytes + $3 WHERE principal = $4 AND `+isNew, id, d.Version, d.Stored(), by),
		tx.Exec(ctx, `UPDATE folders SET bytes = bytes + $3 WHERE id = (SELECT folder FROM documents WHERE id = $1) AND `+isNew, id, d.Version, d.Stored()),
		tx.Exec(ctx, `UPDATE documents SET bytes = bytes + $3 WHERE id = $1 AND `+isNew, id, d.Version, d.Stored()),
		tx.Exec(ctx, `INSERT INTO contents (document, version, owner, size) SELECT $1, $2, $4, $3 WHERE `+isNew+` ON CONFLICT DO NOTHING`, id, d.Version, d.Stored(), by),
	)
}

// moveDocument takes a document's sums with it. One that comes into a folder
// which was deleted before is removed.
func (u Usage) moveDocument(ctx context.Context, tx Tx, id, at string, to uuid.UUID) error {
	const moved = `(SELECT folder, bytes FROM documents WHERE id = $1 AND folder <> $2) d`
	return errors.Join(
		tx.Exec(ctx, `UPDATE folders SET bytes = folders.bytes - d.bytes, documents = documents - 1 FROM `+moved+` WHERE folders.id = d.folder`, id, to.String()),
		tx.Exec(ctx, `UPDATE folders SET bytes = folders.bytes + d.bytes, documents = documents + 1 FROM `+moved+` WHERE folders.id = $2`, id, to.String()),
		tx.Exec(ctx, `UPDATE documents SET folder = $2 WHERE id = $1`, id, to.String()),
		u.remove(ctx, tx, at, "", `id = $1 AND folder IN (SELECT f.id FROM folders f WHERE f.id = documents.folder AND f.deleted = 1)`, id),
	)
}

// remove removes the documents for which a condition holds, with its arguments,
// at a time; with is what comes before the statements. What they took counts on
// until it is swept.
func (Usage) remove(ctx context.Context, tx Tx, at, with, condition string, args ...any) error {
	these := `SELECT id FROM documents WHERE ` + condition
	err := tx.Exec(ctx, with+fmt.Sprintf(`INSERT INTO removed (document, version, owner, size, ended) SELECT document, version, owner, size, $%d FROM contents
		WHERE document IN (`+these+`) ON CONFLICT DO NOTHING`, len(args)+1), append(slices.Clone(args), at)...)
	if err != nil {
		return err
	}
	for _, query := range []string{
		`UPDATE users SET bytes = users.bytes - x.bytes FROM (SELECT owner, sum(size) AS bytes FROM contents WHERE document IN (` + these + `) GROUP BY owner) x WHERE users.principal = x.owner`,
		`UPDATE users SET documents = users.documents - x.n FROM (SELECT owner, count(*) AS n FROM documents WHERE ` + condition + ` GROUP BY owner) x WHERE users.principal = x.owner`,
		`UPDATE folders SET bytes = folders.bytes - x.bytes, documents = folders.documents - x.n
			FROM (SELECT folder, sum(bytes) AS bytes, count(*) AS n FROM documents WHERE ` + condition + ` GROUP BY folder) x WHERE folders.id = x.folder`,
		`DELETE FROM contents WHERE document IN (` + these + `)`,
		`DELETE FROM documents WHERE ` + condition,
	} {
		if err := tx.Exec(ctx, with+query, args...); err != nil {
			return err
		}
	}
	return nil
}

// accept notes what a file will take.
func (Usage) accept(ctx context.Context, tx Tx, job string, d events.FileAccepted) error {
	if d.Refused != "" {
		return nil
	}
	makes, rest := 1, d.Rest
	if d.Document != uuid.Nil {
		makes = 0
	} else if d.Under == uuid.Nil {
		rest = d.Folder
	}
	folders := 0
	if rest != "" {
		folders = strings.Count(rest, "/") + 1
	}
	return tx.Exec(ctx, `INSERT INTO work (job, file, size, makes, under, path, space, folders) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
		job, d.File, d.Size, makes, idText(d.Under), d.Folder, events.SpaceName(d.Folder), folders)
}
