package queries

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"annals/events"
	"annals/projections"

	"golang.org/x/text/unicode/norm"
)

// viewer judges what one user may read, within one request: what it has found
// out about a folder it does not ask again.
type viewer struct {
	db         *sql.DB
	user       events.User
	principals string // JSON
	known      map[string]folderAccess
	readable   string // what folders found out
}

// folderAccess is what the user may do in a folder, at least.
type folderAccess struct {
	level events.Access
	path  string
}

func (q *Queries) viewer(user events.User) (*viewer, error) {
	if err := q.trusted(); err != nil {
		return nil, err
	}
	principals, err := json.Marshal(user.Principals())
	if err != nil {
		return nil, err
	}
	return &viewer{db: q.Models.Vault.DB(), user: user, principals: string(principals), known: make(map[string]folderAccess)}, nil
}

// folder returns what the user may do in a folder, and its path from the top
// level: permissions add up on the way down, and nothing below a deleted
// folder can be seen by anyone.
func (v *viewer) folder(ctx context.Context, id string) (folderAccess, error) {
	if a, ok := v.known[id]; ok {
		return a, nil
	}
	const up = `WITH RECURSIVE up (id, parent, name, deleted, depth) AS (
			SELECT id, parent, name, deleted, 0 FROM folders WHERE id = $1
			UNION ALL SELECT f.id, f.parent, f.name, f.deleted, up.depth + 1 FROM folders f JOIN up ON f.id = up.parent WHERE up.depth < 100)
		SELECT up.parent, up.name, up.deleted, coalesce((SELECT max(access) FROM permissions p WHERE p.folder = up.id AND p.principal IN (SELECT value FROM json_each($2))), 0)
		FROM up ORDER BY depth DESC`
	rows, err := v.db.QueryContext(ctx, up, id, v.principals)
	if err != nil {
		return folderAccess{}, err
	}
	defer rows.Close()
	var a folderAccess
	var names []string
	whole, access := true, events.NoAccess
	for rows.Next() {
		var parent, name string
		var deleted bool
		var granted events.Access
		if err := rows.Scan(&parent, &name, &deleted, &granted); err != nil {
			return folderAccess{}, err
		}
		whole = whole && !deleted && (len(names) > 0 || parent == "")
		names = append(names, name)
		access = max(access, granted)
	}
	if err := rows.Err(); err != nil {
		return folderAccess{}, err
	}
	if v.user.Admin {
		access = events.Own
	}
	if whole && len(names) > 0 {
		a.level = access
	}
	a.path = strings.Join(names, "/")
	v.known[id] = a
	return a, nil
}

// may reports whether the user may read a folder and what is in it.
func (v *viewer) may(ctx context.Context, folder string) (bool, error) {
	a, err := v.folder(ctx, folder)
	return a.level >= events.Read, err
}

// granted returns the folders that were granted to the user one by one; what
// is below them comes on top. It is of no account for an admin.
func (v *viewer) granted(ctx context.Context) ([]string, error) {
	return projections.Column(ctx, v.db, `SELECT DISTINCT p.folder FROM permissions p JOIN folders f ON f.id = p.folder
		WHERE p.principal IN (SELECT value FROM json_each($1)) AND f.deleted = 0 ORDER BY p.folder`, v.principals)
}

// Folders to begin with, and all below them. A grant counts where the way up
// from its folder is whole.
const (
	topFolders     = `SELECT id, name FROM folders WHERE parent = '' AND deleted = 0`
	grantedFolders = `SELECT root, path FROM up WHERE parent = '' AND deleted = 0`
)

func foldersBelow(roots string) string {
	return `WITH RECURSIVE up (root, parent, path, deleted, depth) AS (
			SELECT id, parent, name, deleted, 0 FROM folders WHERE id IN (SELECT folder FROM permissions WHERE principal IN (SELECT value FROM json_each($1)))
			UNION ALL SELECT up.root, f.parent, f.name || '/' || up.path, max(f.deleted, up.deleted), up.depth + 1 FROM up CROSS JOIN folders f ON f.id = up.parent WHERE up.depth < 100),
		down (id, path) AS (` + roots + `
			UNION SELECT f.id, down.path || '/' || f.name FROM down CROSS JOIN folders f ON f.parent = down.id WHERE f.deleted = 0)
		SELECT id, path FROM down`
}

// folders returns the ids of all folders that the user may read, as JSON. It
// walks down from those that were granted, for an admin from the top, and asks
// once for each request.
func (v *viewer) folders(ctx context.Context) (string, error) {
	if v.readable != "" {
		return v.readable, nil
	}
	roots := grantedFolders
	if v.user.Admin {
		roots = topFolders
	}
	rows, err := v.db.QueryContext(ctx, foldersBelow(roots), v.principals)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	ids := []string{}
	for rows.Next() {
		var id, path string
		if err := rows.Scan(&id, &path); err != nil {
			return "", err
		}
		ids = append(ids, id)
		v.known[id] = folderAccess{events.Read, path}
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	text, err := json.Marshal(ids)
	v.readable = string(text)
	return v.readable, err
}

// cleanPath returns a path as the log writes it. It is lenient: commands
// refuse slashes around a path and empty names, a reader means what is left.
func cleanPath(path string) string {
	var names []string
	for name := range strings.SplitSeq(norm.NFC.String(path), "/") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, "/")
}

// resolve returns the id of the folder at a path that the user may read, ""
// where there is none.
func (v *viewer) resolve(ctx context.Context, path string) (id string, err error) {
	if path = cleanPath(path); path == "" {
		return "", nil
	}
	for name := range strings.SplitSeq(path, "/") {
		err := v.db.QueryRowContext(ctx, `SELECT id FROM folders WHERE parent = $1 AND name = $2 AND deleted = 0`, id, name).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
	if ok, err := v.may(ctx, id); !ok || err != nil {
		return "", err
	}
	return id, nil
}
