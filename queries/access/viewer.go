// Package access decides what a user may read. Access is granted on folders and
// applies to everything below them. All other query packages use it. It imports
// projections, events and queries/freshness.
package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/freshness"

	"golang.org/x/text/unicode/norm"
)

// Rights reports what users may do in folders, and the paths of folders as shown to
// them. Its methods are safe for concurrent use.
type Rights struct{ Models *freshness.Models }

// Viewer decides what one user may read within one request. It caches results, so it
// must not outlive the request. It is not safe for concurrent use.
type Viewer struct {
	DB         *projections.DB // of the vault
	User       events.User
	Principals string // the user and the user's groups, as a JSON array

	known    map[string]folderAccess // results of folder
	paths    map[string]string       // paths of readable folders
	readable string                  // result of Readable
	tops     map[string]top          // result of hidden
}

// folderAccess is what the user may do in a folder.
type folderAccess struct {
	level events.Access
	path  string
}

// New returns a Viewer for a user. The error is of kind fault.Unavailable if the
// vault cannot be trusted at the moment.
func New(ctx context.Context, models *freshness.Models, user events.User) (*Viewer, error) {
	if err := models.Trusted(ctx); err != nil {
		return nil, err
	}
	principals, err := json.Marshal(user.Principals())
	if err != nil {
		return nil, err
	}
	return &Viewer{
		DB: models.Vault.DB(), User: user, Principals: string(principals),
		known: make(map[string]folderAccess), paths: make(map[string]string),
	}, nil
}

// NotFound returns an error of kind fault.NotFound. Use it both for things that do not
// exist and for things that the user may not read, so that users cannot tell which.
func NotFound(what string, id any) error {
	return fault.Errorf(fault.NotFound, "no %s %v", what, id)
}

// OrNotFound wraps err, or returns NotFound if err is nil.
func OrNotFound(err error, what string, id any) error {
	if err != nil {
		return freshness.Wrap(err, what)
	}
	return NotFound(what, id)
}

// step is one folder of the path to root. The path begins at the top level.
type step struct {
	root, parent, name string
	deleted            bool
	granted            events.Access
}

func (s *step) fields() []any { return []any{&s.root, &s.parent, &s.name, &s.deleted, &s.granted} }

// folder returns what the user may do in a folder, and its path from the top level.
func (v *Viewer) folder(ctx context.Context, id string) (folderAccess, error) {
	if _, known := v.known[id]; known {
		return v.known[id], nil
	}
	err := v.load(ctx, []string{id})
	return v.known[id], err
}

// Load reads the paths of folders in one query, so that MayRead and Path need no query for
// each of them.
func (v *Viewer) Load(ctx context.Context, folders []string) error {
	var unknown []string
	for _, id := range folders {
		_, known := v.known[id]
		if _, readable := v.paths[id]; !known && !readable {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return v.load(ctx, unknown)
}

// load sets known for folders. Grants accumulate on the way down. Nobody sees anything
// below a deleted folder.
func (v *Viewer) load(ctx context.Context, folders []string) error {
	b, err := json.Marshal(folders)
	if err != nil {
		return err
	}
	steps, err := projections.List(ctx, v.DB, (*step).fields, stepsTo, string(b), v.Principals)
	if err != nil {
		return err
	}
	for _, id := range folders {
		v.known[id] = folderAccess{} // also if the folder does not exist
	}
	for len(steps) > 0 {
		n := slices.IndexFunc(steps, func(s step) bool { return s.root != steps[0].root })
		if n < 0 {
			n = len(steps)
		}
		v.known[steps[0].root] = v.accessBy(steps[:n])
		steps = steps[n:]
	}
	return nil
}

// stepsTo finds the folders on the paths to folders ($1, JSON), with what the principals
// $2 (JSON) may do in each.
const stepsTo = `WITH RECURSIVE up (root, id, parent, name, deleted, depth) AS (
		SELECT id, id, parent, name, deleted, 0 FROM folders WHERE id IN (SELECT value FROM json_each($1))
		UNION ALL SELECT up.root, f.id, f.parent, f.name, f.deleted, up.depth + 1 FROM up CROSS JOIN folders f WHERE f.id = up.parent AND up.depth < 100)
	SELECT up.root, up.parent, up.name, up.deleted, coalesce((SELECT max(access) FROM permissions p WHERE p.folder = up.id AND p.principal IN (SELECT value FROM json_each($2))), 0)
	FROM up ORDER BY up.root, up.depth DESC`

// accessBy returns what the user may do in a folder, given the path to it.
func (v *Viewer) accessBy(steps []step) (a folderAccess) {
	var names []string
	intact, access := true, events.NoAccess
	for _, s := range steps {
		intact = intact && !s.deleted && (len(names) > 0 || s.parent == "")
		names = append(names, s.name)
		access = max(access, s.granted)
	}
	if v.User.Admin {
		access = events.Own
	}
	if intact {
		a.level = access
	}
	a.path = strings.Join(names, "/")
	return a
}

// Path returns a folder's path from the top level, and whether the user may
// read the folder and what is in it.
func (v *Viewer) Path(ctx context.Context, folder string) (path string, readable bool, err error) {
	if path, ok := v.paths[folder]; ok {
		return path, true, nil
	}
	a, err := v.folder(ctx, folder)
	return a.path, a.level >= events.Read, err
}

// MayRead reports whether the user may read a folder and what is in it.
func (v *Viewer) MayRead(ctx context.Context, folder string) (bool, error) {
	_, readable, err := v.Path(ctx, folder)
	return readable, err
}

// MayWrite reports whether the user may change the documents of a folder.
func (v *Viewer) MayWrite(ctx context.Context, folder string) (bool, error) {
	a, err := v.folder(ctx, folder)
	return a.level >= events.Write, err
}

// Granted returns the folders with a permission for the user or one of the user's
// groups. Folders that can be read only because of a permission further up, or only by
// administrators, are not in the result.
func (v *Viewer) Granted(ctx context.Context) ([]string, error) {
	return projections.Column(ctx, v.DB, `SELECT DISTINCT p.folder FROM permissions p JOIN folders f ON f.id = p.folder
		WHERE p.principal IN (SELECT value FROM json_each($1)) AND f.deleted = 0 ORDER BY p.folder`, v.Principals)
}

// The start folders for foldersBelow. For administrators they are the folders at the top
// level, for other users the granted folders. A grant has no effect if a folder above is
// deleted.
const (
	topFolders     = `SELECT id, name FROM folders WHERE parent = '' AND deleted = 0`
	grantedFolders = `SELECT root AS id, path FROM up WHERE parent = '' AND deleted = 0`
)

// roots returns the start folders of everything that the user may read.
func (v *Viewer) roots() string {
	if v.User.Admin {
		return topFolders
	}
	return grantedFolders
}

// waysUp follows the parents of granted folders up to the top level.
const waysUp = `WITH RECURSIVE up (root, parent, path, deleted, depth) AS (
			SELECT id, parent, name, deleted, 0 FROM folders WHERE id IN (SELECT folder FROM permissions WHERE principal IN (SELECT value FROM json_each($1)))
			UNION ALL SELECT up.root, f.parent, f.name || '/' || up.path, f.deleted | up.deleted, up.depth + 1 FROM up CROSS JOIN folders f WHERE f.id = up.parent AND up.depth < 100)`

// foldersBelow is a query for the given folders and everything below them.
func foldersBelow(roots string) string {
	return waysUp + `,
		down (id, path) AS (` + roots + `
			UNION SELECT f.id, down.path || '/' || f.name FROM down CROSS JOIN folders f WHERE f.parent = down.id AND f.deleted = 0)
		SELECT id, path FROM down`
}

// ReadableWithin is like Readable, but returns only the folder at a path and those below
// it. If scope is "", it returns all readable folders.
func (v *Viewer) ReadableWithin(ctx context.Context, scope string) (string, error) {
	all, err := v.Readable(ctx)
	scope = CleanPath(scope)
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

// WithReadable returns the beginning of a query: a common table expression named readable,
// with the ids of the folders that the user may read. If folder is not "", they are only
// that folder, which the user must be allowed to read, and those below it. argument is the
// value of $1. A query that joins readable is faster than one that gets the ids from
// Readable.
func (v *Viewer) WithReadable(folder string) (with, argument string) {
	if folder != "" {
		return `WITH RECURSIVE ` + idsBelow(`SELECT id FROM folders WHERE id = $1 AND deleted = 0`), folder
	}
	return waysUp + `, ` + idsBelow(`SELECT id FROM (`+v.roots()+`) roots`), v.Principals
}

func idsBelow(roots string) string {
	return `readable (id) AS (` + roots + ` UNION SELECT f.id FROM readable CROSS JOIN folders f WHERE f.parent = readable.id AND f.deleted = 0) `
}

// Readable returns the ids of all folders that the user may read, as a JSON array.
func (v *Viewer) Readable(ctx context.Context) (string, error) {
	if v.readable != "" {
		return v.readable, nil
	}
	type found struct{ id, path string }
	all, err := projections.List(ctx, v.DB, func(f *found) []any { return []any{&f.id, &f.path} }, foldersBelow(v.roots()), v.Principals)
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

// CleanPath normalizes a path to the form in the log: NFC, without empty names, without
// blanks around names and without slashes at the ends.
func CleanPath(path string) string {
	var names []string
	for name := range strings.SplitSeq(norm.NFC.String(path), "/") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, "/")
}

// nearest returns the id of the deepest folder on a path that the user may read, or ""
// if there is none, and the part of the path below that folder.
func (v *Viewer) nearest(ctx context.Context, path string) (id, rest string, err error) {
	path = CleanPath(path)
	for rest = path; rest != ""; {
		name, below, _ := strings.Cut(rest, "/")
		var next string
		err := v.DB.QueryRowContext(ctx, `SELECT id FROM folders WHERE parent = $1 AND name = $2 AND deleted = 0`, id, name).Scan(&next)
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
	// A grant on a folder includes all folders below it. So a user who may not read the
	// deepest folder may not read the folders above it, either.
	if ok, err := v.MayRead(ctx, id); !ok || err != nil {
		return "", path, err
	}
	return id, rest, nil
}
