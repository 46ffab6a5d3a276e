package queries

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"annals/events"
	"annals/projections"
)

// FolderPage returns the paths of up to limit folders that the user may read, as
// he is shown them: the first that come after a path, "" for none, whether that is
// still there or not. A folder comes before those below it, and folders beside each other by
// their names. It reads what is returned and little more.
func (q *Queries) FolderPage(ctx context.Context, user events.User, after string, limit int) ([]string, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	w := folderWalk{viewer: v, limit: limit}
	if user.Admin {
		err = w.below(ctx, "", "", after)
	} else {
		err = w.granted(ctx, after)
	}
	return w.found, wrap(err, "folders")
}

// folderWalk gathers the paths of folders in order, until there are enough.
type folderWalk struct {
	*viewer
	limit int
	found []string
}

func (w *folderWalk) full() bool { return len(w.found) >= w.limit }

// treeOrder compares paths as a walk meets them: no name holds a NUL, so that
// what is below a folder follows it at once.
func treeOrder(a, b string) int {
	return cmp.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// rootRow is a folder that was granted, and its path.
type rootRow struct{ id, path string }

func (r *rootRow) fields() []any { return []any{&r.id, &r.path} }

// granted walks through what was granted to the user.
func (w *folderWalk) granted(ctx context.Context, after string) error {
	roots, err := projections.List(ctx, w.db, (*rootRow).fields, waysUp+` SELECT root, path FROM up WHERE parent = '' AND deleted = 0`, w.principals)
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
	slices.SortFunc(roots, func(a, b rootRow) int { return treeOrder(a.path, b.path) })
	for _, r := range roots {
		rest, passed := strings.CutPrefix(after, r.path+"/")
		switch {
		case w.full():
			return nil
		case passed: // the walk goes on within it
		case after != "" && treeOrder(r.path, after) < 0:
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

// childRow is a folder below another.
type childRow struct {
	id, name string
	parent   bool // of others
}

func (c *childRow) fields() []any { return []any{&c.id, &c.name, &c.parent} }

// below walks through what is below a folder, from after on, which is a path
// from there.
func (w *folderWalk) below(ctx context.Context, id, path, after string) error {
	first, rest, _ := strings.Cut(after, "/")
	children, err := projections.List(ctx, w.db, (*childRow).fields, `
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
		case after != "" && c.name == first: // it was on a page before
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
