package queries

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"annals/events"
	"annals/projections"

	"golang.org/x/text/unicode/norm"
)

// viewer judges what one user may read, within one request: what it has found
// out about a folder it does not ask again.
type viewer struct {
	db         *projections.DB
	user       events.User
	principals string // JSON
	known      map[string]folderAccess
	paths      map[string]string // of folders that are known to be readable
	readable   string            // what folders found out
	tops       map[string]top    // what hidden found out
}

// folderAccess is what the user may do in a folder.
type folderAccess struct {
	level events.Access
	path  string
}

func (q *Queries) viewer(ctx context.Context, user events.User) (*viewer, error) {
	if err := q.trusted(ctx); err != nil {
		return nil, err
	}
	principals, err := json.Marshal(user.Principals())
	if err != nil {
		return nil, err
	}
	return &viewer{db: q.Models.Vault.DB(), user: user, principals: string(principals), known: make(map[string]folderAccess), paths: make(map[string]string)}, nil
}

// step is a folder on the way down from the top level.
type step struct {
	parent, name string
	deleted      bool
	granted      events.Access
}

func (s *step) fields() []any { return []any{&s.parent, &s.name, &s.deleted, &s.granted} }

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
	way, err := projections.List(ctx, v.db, (*step).fields, up, id, v.principals)
	if err != nil {
		return folderAccess{}, err
	}
	var a folderAccess
	var names []string
	whole, access := true, events.NoAccess
	for _, s := range way {
		whole = whole && !s.deleted && (len(names) > 0 || s.parent == "")
		names = append(names, s.name)
		access = max(access, s.granted)
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

// path returns where a folder is, and whether the user may read it and what is
// in it.
func (v *viewer) path(ctx context.Context, folder string) (path string, readable bool, err error) {
	if path, ok := v.paths[folder]; ok {
		return path, true, nil
	}
	a, err := v.folder(ctx, folder)
	return a.path, a.level >= events.Read, err
}

// may is path without the path.
func (v *viewer) may(ctx context.Context, folder string) (bool, error) {
	_, readable, err := v.path(ctx, folder)
	return readable, err
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

// waysUp follows the folders that were granted to the top.
const waysUp = `WITH RECURSIVE up (root, parent, path, deleted, depth) AS (
			SELECT id, parent, name, deleted, 0 FROM folders WHERE id IN (SELECT folder FROM permissions WHERE principal IN (SELECT value FROM json_each($1)))
			UNION ALL SELECT up.root, f.parent, f.name || '/' || up.path, f.deleted | up.deleted, up.depth + 1 FROM up CROSS JOIN folders f WHERE f.id = up.parent AND up.depth < 100)`

func foldersBelow(roots string) string {
	return waysUp + `,
		down (id, path) AS (` + roots + `
			UNION SELECT f.id, down.path || '/' || f.name FROM down CROSS JOIN folders f WHERE f.parent = down.id AND f.deleted = 0)
		SELECT id, path FROM down`
}

// foldersWithin is folders of those alone that are in or below a path, "" for all.
func (v *viewer) foldersWithin(ctx context.Context, scope string) (string, error) {
	all, err := v.folders(ctx)
	scope = cleanPath(scope)
	if scope == "" || err != nil {
		return all, err
	}
	ids := []string{}
	if err := json.Unmarshal([]byte(all), &ids); err != nil {
		return "", err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(v.paths[id]+"/", scope+"/") })
	text, err := json.Marshal(ids)
	return string(text), err
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
	type found struct{ id, path string }
	all, err := projections.List(ctx, v.db, func(f *found) []any { return []any{&f.id, &f.path} }, foldersBelow(roots), v.principals)
	if err != nil {
		return "", err
	}
	ids := []string{}
	for _, f := range all {
		ids = append(ids, f.id)
		v.paths[f.id] = f.path
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
	id, rest, err := v.nearest(ctx, path)
	if rest != "" {
		return "", err
	}
	return id, err
}

// nearest returns the deepest folder on a path that the user may read, "" for
// the top level, and what is left of the path from there.
func (v *viewer) nearest(ctx context.Context, path string) (id, rest string, err error) {
	path = cleanPath(path)
	for rest = path; rest != ""; {
		name, below, _ := strings.Cut(rest, "/")
		var next string
		err := v.db.QueryRowContext(ctx, `SELECT id FROM folders WHERE parent = $1 AND name = $2 AND deleted = 0`, id, name).Scan(&next)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return "", path, err
		}
		id, rest = next, below
	}
	if id == "" {
		return "", path, nil
	}
	// Who may read a folder may read what is below it: where the deepest is
	// hidden, those above it are.
	if ok, err := v.may(ctx, id); !ok || err != nil {
		return "", path, err
	}
	return id, rest, nil
}
