package access

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"
)

// FolderPaths returns the paths from the top level of all folders that the user
// may read, in order.
func (q *Rights) FolderPaths(ctx context.Context, user events.User) ([]string, error) {
	v, err := New(ctx, q.Models, user)
	if err != nil {
		return nil, err
	}
	if _, err := v.Readable(ctx); err != nil {
		return nil, freshness.Wrap(err, "folders")
	}
	return slices.Sorted(maps.Values(v.paths)), nil
}

// FolderPage returns the paths, as shown to the user, of up to limit folders that the
// user may read and that come after the path after, "" for the first page. The folder at
// that path may have been deleted. A folder comes before its subfolders; siblings are
// ordered by name. FolderPage reads only a few more folders than it returns.
func (q *Rights) FolderPage(ctx context.Context, user events.User, after string, limit int) ([]string, error) {
	v, err := New(ctx, q.Models, user)
	if err != nil {
		return nil, err
	}
	w := folderWalk{Viewer: v, limit: limit}
	if user.Admin {
		err = w.below(ctx, "", "", after)
	} else {
		err = w.granted(ctx, after)
	}
	return w.found, freshness.Wrap(err, "folders")
}

// folderWalk collects up to limit paths of folders, in order.
type folderWalk struct {
	*Viewer
	limit int
	found []string
}

func (w *folderWalk) full() bool { return len(w.found) >= w.limit }

// TreeOrder compares paths so that a folder comes directly before its subfolders. It
// assumes that names contain no NUL.
func TreeOrder(a, b string) int {
	return cmp.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// rootRow is a folder that was granted, and its path.
type rootRow struct{ id, path string }

func (r *rootRow) fields() []any { return []any{&r.id, &r.path} }

// granted walks through the folders granted to the user.
func (w *folderWalk) granted(ctx context.Context, after string) error {
	roots, err := projections.List(ctx, w.DB, (*rootRow).fields, waysUp+` SELECT root, path FROM up WHERE parent = '' AND deleted = 0`, w.Principals)
	if err != nil {
		return err
	}
	roots = topmost(roots)
	shown := map[string]string{}
	for _, t := range shownTops(slices.Clone(roots)) {
		shown[t.id] = t.shown
	}
	for i, r := range roots {
		roots[i].path = cmp.Or(shown[r.id], r.path)
	}
	slices.SortFunc(roots, func(a, b rootRow) int { return TreeOrder(a.path, b.path) })
	for _, r := range roots {
		rest, passed := strings.CutPrefix(after, r.path+"/")
		switch {
		case w.full():
			return nil
		case passed: // continue below it
		case after != "" && TreeOrder(r.path, after) < 0:
			continue
		case r.path != after:
			w.found = append(w.found, r.path)
			fallthrough
		default:
			rest = ""
		}
		if err := w.below(ctx, r.id, r.path, rest); err != nil {
			return err
		}
	}
	return nil
}

// childRow is a folder directly below another.
type childRow struct {
	id, name string
	parent   bool // it has subfolders
}

func (c *childRow) fields() []any { return []any{&c.id, &c.name, &c.parent} }

// below walks through the folders below a folder. It skips all paths up to and including
// after, which is relative to the folder.
func (w *folderWalk) below(ctx context.Context, id, path, after string) error {
	first, rest, _ := strings.Cut(after, "/")
	children, err := projections.List(ctx, w.DB, (*childRow).fields, `
		SELECT f.id, f.name, EXISTS (SELECT 1 FROM folders c WHERE c.parent = f.id AND c.deleted = 0)
		FROM folders f WHERE f.parent = $1 AND f.deleted = 0 AND f.name >= $2 ORDER BY f.name LIMIT $3`, id, first, w.limit-len(w.found)+1)
	if err != nil {
		return err
	}
	for _, c := range children {
		at, from := c.name, ""
		if path != "" {
			at = path + "/" + c.name
		}
		switch {
		case after != "" && c.name == first: // c was on an earlier page
			from = rest
		case w.full():
			return nil
		default:
			w.found = append(w.found, at)
		}
		if !c.parent || w.full() {
			continue
		}
		if err := w.below(ctx, c.id, at, from); err != nil {
			return err
		}
	}
	return nil
}
