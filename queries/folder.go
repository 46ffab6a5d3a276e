package queries

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"annals/events"
	"annals/projections"

	"github.com/google/uuid"
)

// folderRow is a folder as the vault's tables hold it.
type folderRow struct {
	id, parent, name, created, updated string
	docFolder                          bool
	version                            int64
}

func (f *folderRow) fields() []any {
	return []any{&f.id, &f.parent, &f.name, &f.created, &f.updated, &f.version, &f.docFolder}
}

const folderColumns = `SELECT f.id, f.parent, f.name, f.created_at, f.updated_at, f.version, EXISTS (SELECT 1 FROM documents d WHERE d.folder = f.id) FROM folders f `

const byName = ` ORDER BY f.sort_name, f.id`

// fold makes a Folder of a row, whose parent is told only to who may read it.
func (v *viewer) fold(ctx context.Context, r folderRow) (Folder, error) {
	f := Folder{Name: r.name, DocFolder: r.docFolder, Version: r.version, CreatedAt: parseTime(r.created), UpdatedAt: parseTime(r.updated)}
	var err error
	if f.ID, err = uuid.Parse(r.id); err != nil {
		return f, err
	}
	if r.parent == "" {
		return f, nil
	}
	if ok, err := v.may(ctx, r.parent); !ok || err != nil {
		return f, err
	}
	f.Parent, err = uuid.Parse(r.parent)
	return f, err
}

func (v *viewer) foldAll(ctx context.Context, rows []folderRow) ([]Folder, error) {
	folders := make([]Folder, 0, len(rows))
	for _, r := range rows {
		f, err := v.fold(ctx, r)
		if err != nil {
			return nil, err
		}
		folders = append(folders, f)
	}
	return folders, nil
}

// Folders lists the folders directly below parent, or, where it is nil, those
// at the top of what the user may read. A parent that does not exist or may not
// be read is fault.NotFound.
func (q *Queries) Folders(ctx context.Context, user events.User, parent *uuid.UUID) ([]Folder, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	if parent == nil {
		folders, err := v.top(ctx)
		return folders, wrap(err, "folders")
	}
	if ok, err := v.may(ctx, parent.String()); !ok || err != nil {
		return nil, orNotFound(err, "folder", parent)
	}
	folders, err := v.below(ctx, parent.String())
	return folders, wrap(err, "folders")
}

func orNotFound(err error, what string, id any) error {
	if err != nil {
		return wrap(err, what)
	}
	return notFound(what, id)
}

func (v *viewer) below(ctx context.Context, parent string) ([]Folder, error) {
	rows, err := projections.List(ctx, v.db, (*folderRow).fields, folderColumns+`WHERE f.parent = $1 AND f.deleted = 0`+byName, parent)
	if err != nil {
		return nil, err
	}
	return v.foldAll(ctx, rows)
}

// top lists the folders that the user may read and whose parent he may not.
func (v *viewer) top(ctx context.Context) ([]Folder, error) {
	if v.user.Admin {
		return v.below(ctx, "")
	}
	rows, err := projections.List(ctx, v.db, (*folderRow).fields, folderColumns+`WHERE f.deleted = 0
		AND f.id IN (SELECT folder FROM permissions WHERE principal IN (SELECT value FROM json_each($1)))`+byName, v.principals)
	if err != nil {
		return nil, err
	}
	var seen []folderRow
	for _, r := range rows {
		ok, err := v.may(ctx, r.id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // below a deleted folder
		}
		if r.parent != "" {
			if ok, err = v.may(ctx, r.parent); err != nil {
				return nil, err
			}
			if ok {
				continue // listed below its parent
			}
		}
		seen = append(seen, r)
	}
	return v.foldAll(ctx, seen)
}

// Folder returns a folder that the user may read, or fault.NotFound.
func (q *Queries) Folder(ctx context.Context, user events.User, id uuid.UUID) (Folder, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return Folder{}, err
	}
	return v.one(ctx, id)
}

func (v *viewer) one(ctx context.Context, id uuid.UUID) (Folder, error) {
	if ok, err := v.may(ctx, id.String()); !ok || err != nil {
		return Folder{}, orNotFound(err, "folder", id)
	}
	rows, err := projections.List(ctx, v.db, (*folderRow).fields, folderColumns+`WHERE f.id = $1`, id.String())
	if err != nil || len(rows) == 0 {
		return Folder{}, orNotFound(err, "folder", id)
	}
	f, err := v.fold(ctx, rows[0])
	return f, wrap(err, "folder")
}

// FolderPaths returns the paths from the top level of all folders that the user
// may read, in order.
func (q *Queries) FolderPaths(ctx context.Context, user events.User) ([]string, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	if _, err := v.folders(ctx); err != nil {
		return nil, wrap(err, "folders")
	}
	return slices.Sorted(maps.Values(v.paths)), nil
}

// FolderAt returns the folder at a path from the top level, as search results,
// summaries and jobs tell it; the folders above it need not be readable. found
// is false where there is none that the user may read.
func (q *Queries) FolderAt(ctx context.Context, user events.User, path string) (f Folder, found bool, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return f, false, err
	}
	text, err := v.resolve(ctx, path)
	if err != nil || text == "" {
		return f, false, wrap(err, "folder of a path")
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return f, false, err
	}
	f, err = v.one(ctx, id)
	return f, err == nil, err
}

// FolderDetail returns a folder with what is around it, as far as the user may
// read it.
func (q *Queries) FolderDetail(ctx context.Context, user events.User, id uuid.UUID) (d FolderDetail, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return d, err
	}
	if d.Folder, err = v.one(ctx, id); err != nil {
		return d, err
	}
	if d.Subfolders, err = v.below(ctx, id.String()); err != nil {
		return d, wrap(err, "subfolders")
	}
	if d.Documents, err = v.documentsIn(ctx, id.String()); err != nil {
		return d, wrap(err, "documents")
	}
	d.Ancestors, d.ParentDocuments = []Folder{}, []Document{}
	for parent := d.Parent; parent != uuid.Nil; {
		f, err := v.one(ctx, parent)
		if err != nil {
			return d, err
		}
		d.Ancestors = append([]Folder{f}, d.Ancestors...)
		parent = f.Parent
	}
	if d.Parent != uuid.Nil {
		d.ParentDocuments, err = v.documentsIn(ctx, d.Parent.String())
	}
	return d, wrap(err, "documents of the parent")
}

// HoldsDocuments reports whether documents are filed directly in a folder, as
// of the position after, or later.
func (q *Queries) HoldsDocuments(ctx context.Context, folder uuid.UUID, after events.Position) (holds bool, err error) {
	if err := q.await(ctx, q.Models.Vault, after); err != nil {
		return false, err
	}
	err = q.Models.Vault.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM documents WHERE folder = $1)`, folder.String()).Scan(&holds)
	return holds, wrap(err, "documents of folder "+folder.String())
}

// parseTime reads what projections write; the zero time stands for anything
// else.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s))
	if err != nil {
		return time.Time{}
	}
	return t
}
