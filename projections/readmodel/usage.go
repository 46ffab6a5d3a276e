package readmodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"annals/events"

	"github.com/google/uuid"
)

// Usage is the read model of the storage that users and folders use, by stored content
// and by imports in progress. A space is a top-level folder, or a folder directly in an
// inbox, with everything below it. Usage stores sums, because every upload and every
// extracted file reads them. Each sum changes under the same condition as the rows that
// it sums up.
type Usage struct{}

func init() {
	Register(Model{Projection: Usage{}})
}

// Name is "usage".
func (Usage) Name() string { return "usage" }

// Version of the usage's tables.
func (Usage) Version() int { return 4 }

// Oldest returns Version: this program cannot read older tables.
func (u Usage) Oldest() int { return u.Version() }

// Types returns the events of folders, documents and jobs that change the usage.
func (Usage) Types() []string {
	return []string{
		"FolderCreated", "FolderMoved", "FolderShared", "FolderLeft", "FolderDeleted",
		"DocumentImported", "DocumentMoved", "DocumentRevised", "DocumentReread", "DocumentDeleted",
		"FileAccepted", "ImportRequested", "FileImported", "FileFailed",
	}
}

// Apply changes the usage.
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
			tx.Exec(ctx, Below+`UPDATE folders SET deleted = 1 WHERE id IN (SELECT id FROM below)`, folder),
			tx.Exec(ctx, Below+`DELETE FROM shares WHERE folder IN (SELECT id FROM below)`, folder),
			u.remove(ctx, tx, at, Below, `folder IN (SELECT id FROM below)`, folder),
		)
	case events.DocumentImported:
		return u.file(ctx, tx, id, by, at, d)
	case events.DocumentMoved:
		return u.moveDocument(ctx, tx, id, at, d.Folder)
	case events.DocumentRevised:
		return u.revise(ctx, tx, id, by, d)
	case events.DocumentReread:
		return u.reread(ctx, tx, id, d)
	case events.DocumentDeleted:
		return u.remove(ctx, tx, at, "", `id = $1`, id)
	case events.FileAccepted:
		return u.accept(ctx, tx, id, d)
	case events.ImportRequested:
		return u.begin(ctx, tx, id, string(d.User))
	case events.FileImported:
		return u.end(ctx, tx, id, d.File)
	case events.FileFailed:
		return errors.Join(
			tx.Exec(ctx, `INSERT INTO unswept (owner, hour, failed, deleted) SELECT owner, $3, size, 0 FROM work WHERE job = $1 AND file = $2 AND owner <> ''
				ON CONFLICT (owner, hour) DO UPDATE SET failed = unswept.failed + excluded.failed`, id, d.File, hour(at)),
			u.end(ctx, tx, id, d.File),
		)
	}
	return nil
}

// create adds a folder. It belongs to the space of its parent. At the top level and
// directly in the inbox it begins a new space.
func (Usage) create(ctx context.Context, tx Tx, d events.FolderCreated, by string) error {
	space := d.Folder.String()
	if d.Parent == uuid.Nil && d.Name == events.Inbox {
		space = ""
	}
	return tx.Exec(ctx, `INSERT INTO folders (id, parent, space, maker, deleted)
		VALUES ($1, $2, coalesce((SELECT CASE WHEN p.space = '' THEN $3 ELSE p.space END FROM folders p WHERE p.id = $2), $3), $4, coalesce((SELECT p.deleted FROM folders p WHERE p.id = $2), 0))
		ON CONFLICT (id) DO NOTHING`, d.Folder.String(), IDText(d.Parent), space, by)
}

func (Usage) moveFolder(ctx context.Context, tx Tx, d events.FolderMoved) error {
	const content = `SELECT space, sum(bytes) AS bytes, sum(documents) AS documents FROM (
			SELECT f.space, f.bytes, f.documents FROM folders f WHERE f.id IN (SELECT id FROM below)
			UNION ALL SELECT f.space, w.size, w.makes FROM work w JOIN folders f ON f.id = w.under WHERE w.owner <> '' AND w.under IN (SELECT id FROM below)
		) all_below WHERE space <> '' GROUP BY space`
	return errors.Join(
		tx.Exec(ctx, Below+`UPDATE spaces SET bytes = spaces.bytes - x.bytes, documents = spaces.documents - x.documents FROM (`+content+`) x WHERE spaces.space = x.space`, d.Folder.String()),
		tx.Exec(ctx, `UPDATE folders SET parent = $2 WHERE id = $1`, d.Folder.String(), IDText(d.Parent)),
		tx.Exec(ctx, Below+`UPDATE folders SET space = coalesce((SELECT CASE WHEN p.space = '' THEN $1 ELSE p.space END FROM folders p WHERE p.id = $2), $1)
			WHERE id IN (SELECT id FROM below)`, d.Folder.String(), IDText(d.Parent)),
		tx.Exec(ctx, Below+`INSERT INTO spaces (space, bytes, documents) `+content+` `+addToSpace, d.Folder.String()),
	)
}

// addToSpace is the end of a statement that adds to the usage of a space.
const addToSpace = `ON CONFLICT (space) DO UPDATE SET bytes = spaces.bytes + excluded.bytes, documents = spaces.documents + excluded.documents`

// share replaces the principals that a folder is shared with or that are invited. A
// principal that remains keeps the user who added it.
func (Usage) share(ctx context.Context, tx Tx, d events.FolderShared, by string) error {
	folder := d.Folder.String()
	var principals []string
	for _, p := range d.Permissions {
		principals = append(principals, string(p.Principal))
	}
	for _, i := range d.Invitations {
		principals = append(principals, string(i.Principal))
	}
	list := JSONText(principals)
	return errors.Join(
		tx.Exec(ctx, `DELETE FROM shares WHERE folder = $1 AND principal NOT IN (SELECT value FROM json_each($2))`, folder, list),
		tx.Exec(ctx, `INSERT INTO shares (folder, principal, maker) SELECT DISTINCT $1, l.value, $3 FROM json_each($2) l
			WHERE NOT EXISTS (SELECT 1 FROM folders WHERE id = $1 AND deleted = 1) ON CONFLICT DO NOTHING`, folder, list, by),
	)
}

// file adds a document with its first content, unless its folder was deleted during the
// import. In that case it counts only the text that was stored for the document.
func (Usage) file(ctx context.Context, tx Tx, id, by, at string, d events.DocumentImported) error {
	const isNew = `NOT EXISTS (SELECT 1 FROM documents WHERE id = $1) AND NOT EXISTS (SELECT 1 FROM folders WHERE id = $2 AND deleted = 1)`
	folder := d.Folder.String()
	return errors.Join(
		tx.Exec(ctx, `INSERT INTO users (principal) VALUES ($1) ON CONFLICT DO NOTHING`, by),
		tx.Exec(ctx, `UPDATE users SET bytes = bytes + $3, documents = documents + 1 WHERE principal = $4 AND `+isNew, id, folder, d.Stored(), by),
		tx.Exec(ctx, `UPDATE folders SET bytes = bytes + $3, documents = documents + 1 WHERE id = $2 AND `+isNew, id, folder, d.Stored()),
		tx.Exec(ctx, `INSERT INTO spaces (space, bytes, documents) SELECT space, CAST($3 AS BIGINT), 1 FROM folders WHERE id = $2 AND space <> '' AND `+isNew+` `+addToSpace, id, folder, d.Stored()),
		tx.Exec(ctx, `INSERT INTO contents (document, version, owner, size) SELECT $1, $3, $4, $5 WHERE `+isNew+` ON CONFLICT DO NOTHING`, id, folder, d.Version, by, d.Stored()),
		tx.Exec(ctx, `INSERT INTO unswept (owner, hour, failed, deleted) SELECT $2, $3, 0, CAST($4 AS BIGINT) FROM folders WHERE id = $1 AND deleted = 1 `+addDeleted,
			folder, by, hour(at), d.Stored()-d.Size),
		tx.Exec(ctx, `INSERT INTO documents (id, folder, owner, bytes) SELECT $1, $2, $3, $4 WHERE `+isNew, id, folder, by, d.Stored()),
	)
}

// addDeleted is the end of a statement that adds deleted content. It counts until the
// next sweep of originals.
const addDeleted = `ON CONFLICT (owner, hour) DO UPDATE SET deleted = unswept.deleted + excluded.deleted`

// hour returns the hour of a time in the format of stamp.
func hour(at string) string { return at[:len("2006-01-02T15")] }

// revise adds content to an existing document.
func (Usage) revise(ctx context.Context, tx Tx, id, by string, d events.DocumentRevised) error {
	const isNew = `EXISTS (SELECT 1 FROM documents WHERE id = $1) AND NOT EXISTS (SELECT 1 FROM contents WHERE document = $1 AND version = $2)`
	return errors.Join(
		tx.Exec(ctx, `INSERT INTO users (principal) VALUES ($1) ON CONFLICT DO NOTHING`, by),
		tx.Exec(ctx, `UPDATE users SET bytes = bytes + $3 WHERE principal = $4 AND `+isNew, id, d.Version, d.Stored(), by),
		tx.Exec(ctx, `UPDATE folders SET bytes = bytes + $3 WHERE id = (SELECT folder FROM documents WHERE id = $1) AND `+isNew, id, d.Version, d.Stored()),
		tx.Exec(ctx, `UPDATE spaces SET bytes = bytes + $3 WHERE space = (SELECT f.space FROM documents d JOIN folders f ON f.id = d.folder WHERE d.id = $1) AND `+isNew, id, d.Version, d.Stored()),
		tx.Exec(ctx, `UPDATE documents SET bytes = bytes + $3 WHERE id = $1 AND `+isNew, id, d.Version, d.Stored()),
		tx.Exec(ctx, `INSERT INTO contents (document, version, owner, size) SELECT $1, $2, $4, $3 WHERE `+isNew+` ON CONFLICT DO NOTHING`, id, d.Version, d.Stored(), by),
	)
}

// reread changes the size of a document's last content before the event: its text was
// replaced, and its original counts already. It counts for the same user as before.
func (Usage) reread(ctx context.Context, tx Tx, id string, d events.DocumentReread) error {
	const last = `(SELECT version, owner, $3 - size AS more FROM contents WHERE document = $1 AND version < $2 ORDER BY version DESC LIMIT 1) c`
	args := []any{id, d.Version, d.Stored()}
	return errors.Join(
		tx.Exec(ctx, `UPDATE users SET bytes = users.bytes + c.more FROM `+last+` WHERE users.principal = c.owner`, args...),
		tx.Exec(ctx, `UPDATE folders SET bytes = folders.bytes + c.more FROM `+last+`, documents d WHERE d.id = $1 AND folders.id = d.folder`, args...),
		tx.Exec(ctx, `UPDATE spaces SET bytes = spaces.bytes + c.more FROM `+last+`, documents d JOIN folders f ON f.id = d.folder WHERE d.id = $1 AND spaces.space = f.space`, args...),
		tx.Exec(ctx, `UPDATE documents SET bytes = documents.bytes + c.more FROM `+last+` WHERE documents.id = $1`, args...),
		tx.Exec(ctx, `UPDATE contents SET size = $3 WHERE document = $1 AND version = (SELECT max(version) FROM contents WHERE document = $1 AND version < $2)`, args...),
	)
}

// moveDocument moves a document, and moves its size from the sums of the old folder to
// those of the new one. A document that is moved into a deleted folder is removed.
func (u Usage) moveDocument(ctx context.Context, tx Tx, id, at string, to uuid.UUID) error {
	const moved = `(SELECT folder, bytes FROM documents WHERE id = $1 AND folder <> $2) d`
	return errors.Join(
		tx.Exec(ctx, `UPDATE spaces SET bytes = spaces.bytes - d.bytes, documents = spaces.documents - 1 FROM `+moved+` JOIN folders f ON f.id = d.folder WHERE spaces.space = f.space`, id, to.String()),
		tx.Exec(ctx, `INSERT INTO spaces (space, bytes, documents) SELECT f.space, d.bytes, 1 FROM `+moved+` JOIN folders f ON f.id = $2 WHERE f.space <> '' `+addToSpace, id, to.String()),
		tx.Exec(ctx, `UPDATE folders SET bytes = folders.bytes - d.bytes, documents = documents - 1 FROM `+moved+` WHERE folders.id = d.folder`, id, to.String()),
		tx.Exec(ctx, `UPDATE folders SET bytes = folders.bytes + d.bytes, documents = documents + 1 FROM `+moved+` WHERE folders.id = $2`, id, to.String()),
		tx.Exec(ctx, `UPDATE documents SET folder = $2 WHERE id = $1`, id, to.String()),
		u.remove(ctx, tx, at, "", `id = $1 AND folder IN (SELECT f.id FROM folders f WHERE f.id = documents.folder AND f.deleted = 1)`, id),
	)
}

// remove removes the documents that match a condition with arguments. with is a common
// table expression for all statements. The bytes of the documents still count until the
// sweep after the time at.
func (Usage) remove(ctx context.Context, tx Tx, at, with, condition string, args ...any) error {
	matching := `SELECT id FROM documents WHERE ` + condition
	err := tx.Exec(ctx, with+fmt.Sprintf(`INSERT INTO unswept (owner, hour, failed, deleted) SELECT owner, $%d, 0, sum(size) FROM contents
		WHERE document IN (`+matching+`) GROUP BY owner `+addDeleted, len(args)+1), append(slices.Clone(args), hour(at))...)
	if err != nil {
		return err
	}
	for _, query := range []string{
		`UPDATE users SET bytes = users.bytes - x.bytes FROM (SELECT owner, sum(size) AS bytes FROM contents WHERE document IN (` + matching + `) GROUP BY owner) x WHERE users.principal = x.owner`,
		`UPDATE users SET documents = users.documents - x.n FROM (SELECT owner, count(*) AS n FROM documents WHERE ` + condition + ` GROUP BY owner) x WHERE users.principal = x.owner`,
		`UPDATE spaces SET bytes = spaces.bytes - x.bytes, documents = spaces.documents - x.n
			FROM (SELECT f.space, sum(d.bytes) AS bytes, count(*) AS n FROM documents d JOIN folders f ON f.id = d.folder WHERE d.id IN (` + matching + `) GROUP BY f.space) x WHERE spaces.space = x.space`,
		`UPDATE folders SET bytes = folders.bytes - x.bytes, documents = folders.documents - x.n
			FROM (SELECT folder, sum(bytes) AS bytes, count(*) AS n FROM documents WHERE ` + condition + ` GROUP BY folder) x WHERE folders.id = x.folder`,
		`DELETE FROM contents WHERE document IN (` + matching + `)`,
		`DELETE FROM documents WHERE ` + condition,
	} {
		if err := tx.Exec(ctx, with+query, args...); err != nil {
			return err
		}
	}
	return nil
}

// accept records the storage that an accepted file will use.
func (Usage) accept(ctx context.Context, tx Tx, job string, d events.FileAccepted) error {
	if d.Refused != "" {
		return nil
	}
	makes, size, rest := 1, d.Size, d.Rest
	if d.Reread { // its original is stored, and counts already
		size = 0
	}
	if d.Document != uuid.Nil || d.Existing {
		makes = 0
	}
	if d.Document == uuid.Nil && d.Under == uuid.Nil {
		rest = d.Folder
	}
	folders := 0
	if rest != "" {
		folders = strings.Count(rest, "/") + 1
	}
	return tx.Exec(ctx, `INSERT INTO work (job, file, size, makes, under, path, space, folders) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
		job, d.File, size, makes, IDText(d.Under), d.Folder, events.SpaceName(d.Folder), folders)
}

// workSpace is SQL for the space to which a file w counts while it is imported into the
// folder f. It is NULL if the folder does not exist.
const workSpace = `CASE WHEN w.under = '' OR f.space = '' THEN '/' || w.space ELSE f.space END`

// begin adds the files of a job to the usage of its user.
func (Usage) begin(ctx context.Context, tx Tx, job, user string) error {
	const unowned = `WHERE job = $1 AND owner = ''`
	return errors.Join(
		tx.Exec(ctx, `INSERT INTO users (principal) VALUES ($1) ON CONFLICT DO NOTHING`, user),
		tx.Exec(ctx, `UPDATE users SET work_files = work_files + x.files, work_bytes = work_bytes + x.bytes, work_documents = work_documents + x.documents, work_folders = work_folders + x.folders
			FROM (SELECT count(*) AS files, coalesce(sum(size), 0) AS bytes, coalesce(sum(makes), 0) AS documents,
				(SELECT coalesce(sum(p.folders), 0) FROM (SELECT DISTINCT under, path, folders FROM work `+unowned+` AND folders > 0) p
					WHERE NOT EXISTS (SELECT 1 FROM making m WHERE m.owner = $2 AND m.under = p.under AND m.path = p.path AND m.folders = p.folders)) AS folders
				FROM work `+unowned+`) x WHERE principal = $2`, job, user),
		tx.Exec(ctx, `INSERT INTO making (owner, under, path, folders, files) SELECT CAST($2 AS TEXT), under, path, folders, count(*) FROM work `+unowned+` AND folders > 0 GROUP BY under, path, folders
			ON CONFLICT (owner, under, path, folders) DO UPDATE SET files = making.files + excluded.files`, job, user),
		tx.Exec(ctx, `INSERT INTO spaces (space, bytes, documents)
			SELECT key, sum(size), sum(makes) FROM (SELECT `+workSpace+` AS key, w.size, w.makes FROM work w LEFT JOIN folders f ON f.id = w.under WHERE w.job = $1 AND w.owner = '') x
			WHERE key IS NOT NULL GROUP BY key `+addToSpace, job),
		tx.Exec(ctx, `UPDATE work SET owner = $2 `+unowned, job, user),
	)
}

// end subtracts what begin added for one file.
func (Usage) end(ctx context.Context, tx Tx, job string, file int) error {
	const this = `w.job = $1 AND w.file = $2`
	const itsFolders = `(owner, under, path, folders) = (SELECT w.owner, w.under, w.path, w.folders FROM work w WHERE ` + this + `)`
	return errors.Join(
		tx.Exec(ctx, `UPDATE making SET files = files - 1 WHERE `+itsFolders, job, file),
		tx.Exec(ctx, `UPDATE users SET work_files = users.work_files - 1, work_bytes = users.work_bytes - w.size, work_documents = users.work_documents - w.makes,
			work_folders = users.work_folders - coalesce((SELECT m.folders FROM making m WHERE m.owner = w.owner AND m.under = w.under AND m.path = w.path AND m.folders = w.folders AND m.files = 0), 0)
			FROM work w WHERE `+this+` AND users.principal = w.owner`, job, file),
		tx.Exec(ctx, `DELETE FROM making WHERE files = 0 AND `+itsFolders, job, file),
		tx.Exec(ctx, `UPDATE spaces SET bytes = spaces.bytes - x.size, documents = spaces.documents - x.makes
			FROM (SELECT `+workSpace+` AS key, w.size, w.makes FROM work w LEFT JOIN folders f ON f.id = w.under WHERE `+this+` AND w.owner <> '') x WHERE spaces.space = x.key`, job, file),
		tx.Exec(ctx, `DELETE FROM work WHERE job = $1 AND file = $2`, job, file),
	)
}

// Counting leaves out empty spaces: whether an empty space has a row depends on which
// events were applied twice.
func (Usage) Counting() map[string]string {
	return map[string]string{"spaces": `bytes <> 0 OR documents <> 0`}
}
