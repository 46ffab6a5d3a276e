package vault

import (
	"context"
	"time"

	"annals/events"
	"annals/projections"
	"annals/queries/access"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Folder is a folder that the user may read.
type Folder struct {
	ID        uuid.UUID
	Name      string
	Parent    uuid.UUID // uuid.Nil at the top level, or if the caller may not read the parent
	DocFolder bool      // it contains documents directly
	Version   int64     // incremented by every change
	CreatedAt time.Time
	UpdatedAt time.Time
}

// FolderDetail is a folder with its ancestors, its contents, and the documents in its
// parent folder.
type FolderDetail struct {
	Folder
	Ancestors       []Folder   // from the top level down to the parent; only ID and Name are set
	Documents       []Document // directly in it
	Subfolders      []Folder   // directly in it
	ParentDocuments []Document // directly in its parent
}

// folderRow is a folder as stored in the vault's tables.
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

// folder converts a row to a Folder, without the parent if the user may not read it.
func (v *viewer) folder(ctx context.Context, r folderRow) (Folder, error) {
	f := Folder{Name: r.name, DocFolder: r.docFolder, Version: r.version, CreatedAt: parseTime(r.created), UpdatedAt: parseTime(r.updated)}
	var err error
	if f.ID, err = uuid.Parse(r.id); err != nil {
		return f, err
	}
	if r.parent == "" {
		return f, nil
	}
	if ok, err := v.MayRead(ctx, r.parent); !ok || err != nil {
		return f, err
	}
	f.Parent, err = uuid.Parse(r.parent)
	return f, err
}

func (v *viewer) folders(ctx context.Context, rows []folderRow) ([]Folder, error) {
	folders := make([]Folder, 0, len(rows))
	for _, r := range rows {
		f, err := v.folder(ctx, r)
		if err != nil {
			return nil, err
		}
		folders = append(folders, f)
	}
	return folders, nil
}

// Folders lists the folders directly below parent, or, if it is nil, the topmost
// folders that the user may read. The error is fault.NotFound if parent does not exist
// or may not be read.
func (q *Vault) Folders(ctx context.Context, user events.User, parent *uuid.UUID) ([]Folder, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	if parent == nil {
		folders, err := v.top(ctx)
		return folders, freshness.Wrap(err, "folders")
	}
	if ok, err := v.MayRead(ctx, parent.String()); !ok || err != nil {
		return nil, access.OrNotFound(err, "folder", parent)
	}
	folders, err := v.below(ctx, parent.String())
	return folders, freshness.Wrap(err, "folders")
}

func (v *viewer) below(ctx context.Context, parent string) ([]Folder, error) {
	rows, err := projections.List(ctx, v.DB, (*folderRow).fields, folderColumns+`WHERE f.parent = $1 AND f.deleted = 0`+byName, parent)
	if err != nil {
		return nil, err
	}
	return v.folders(ctx, rows)
}

// top lists the folders that the user may read but whose parent the user may not read.
func (v *viewer) top(ctx context.Context) ([]Folder, error) {
	if v.User.Admin {
		return v.below(ctx, "")
	}
	rows, err := projections.List(ctx, v.DB, (*folderRow).fields, folderColumns+`WHERE f.deleted = 0
		AND f.id IN (SELECT folder FROM permissions WHERE principal IN (SELECT value FROM json_each($1)))`+byName, v.Principals)
	if err != nil {
		return nil, err
	}
	var seen []folderRow
	for _, r := range rows {
		ok, err := v.MayRead(ctx, r.id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // below a deleted folder
		}
		if r.parent != "" {
			if ok, err = v.MayRead(ctx, r.parent); err != nil {
				return nil, err
			}
			if ok {
				continue // the parent is listed instead
			}
		}
		seen = append(seen, r)
	}
	return v.folders(ctx, seen)
}

// Folder returns a folder that the user may read, or fault.NotFound.
func (q *Vault) Folder(ctx context.Context, user events.User, id uuid.UUID) (Folder, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return Folder{}, err
	}
	return v.one(ctx, id)
}

func (v *viewer) one(ctx context.Context, id uuid.UUID) (Folder, error) {
	if ok, err := v.MayRead(ctx, id.String()); !ok || err != nil {
		return Folder{}, access.OrNotFound(err, "folder", id)
	}
	rows, err := projections.List(ctx, v.DB, (*folderRow).fields, folderColumns+`WHERE f.id = $1`, id.String())
	if err != nil || len(rows) == 0 {
		return Folder{}, access.OrNotFound(err, "folder", id)
	}
	f, err := v.folder(ctx, rows[0])
	return f, freshness.Wrap(err, "folder")
}

// FolderAt returns the folder at a path from the top level, or as shown to the user. The
// user need not have access to the folders above it. found is false if the folder does not
// exist or the user may not read it.
func (q *Vault) FolderAt(ctx context.Context, user events.User, path string) (f Folder, found bool, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return f, false, err
	}
	_, text, rest, err := v.Whole(ctx, path)
	if err != nil || text == "" || rest != "" {
		return f, false, freshness.Wrap(err, "folder at "+path)
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return f, false, err
	}
	f, err = v.one(ctx, id)
	return f, err == nil, err
}

// FolderDetail returns a folder with the ancestors, subfolders and documents that the
// user may read.
func (q *Vault) FolderDetail(ctx context.Context, user events.User, id uuid.UUID) (d FolderDetail, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return d, err
	}
	if d.Folder, err = v.one(ctx, id); err != nil {
		return d, err
	}
	if d.Subfolders, err = v.below(ctx, id.String()); err != nil {
		return d, freshness.Wrap(err, "subfolders")
	}
	if d.Documents, err = v.documentsIn(ctx, id.String()); err != nil {
		return d, freshness.Wrap(err, "documents")
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
	return d, freshness.Wrap(err, "documents of the parent")
}

// HoldsDocuments reports whether a folder contains documents directly. It first waits
// until the vault has passed the position after.
func (q *Vault) HoldsDocuments(ctx context.Context, folder uuid.UUID, after events.Position) (holds bool, err error) {
	if err := q.Models.Await(ctx, q.Models.Vault, after); err != nil {
		return false, err
	}
	err = q.Models.Vault.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM documents WHERE folder = $1)`, folder.String()).Scan(&holds)
	return holds, freshness.Wrap(err, "documents of folder "+folder.String())
}
