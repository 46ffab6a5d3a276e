package queries

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"annals/events"
	"annals/projections"

	"github.com/google/uuid"
)

// A path names the same folder for everyone, and begins at the top level. To a
// user with whom only a folder further down was shared the names above it are
// none of his business: he is shown paths that begin there. He may ask by either.

// top is a folder that the user may read, below one that he may not.
type top struct {
	id, path string
	shown    string // what stands for the whole path
}

// looksMarked is a name that looks as if it had been told apart from another.
var looksMarked = regexp.MustCompile(` \([0-9a-f]{8}\)$`)

// hidden returns those folders where what the user may read begins, but for
// those at the top level, by their paths.
func (v *viewer) hidden(ctx context.Context) (map[string]top, error) {
	if v.user.Admin || v.tops != nil {
		return v.tops, nil
	}
	roots, err := projections.List(ctx, v.db, (*rootRow).fields, waysUp+` `+grantedFolders, v.principals)
	if err != nil {
		return nil, err
	}
	v.tops = map[string]top{}
	for _, t := range shownTops(roots) {
		v.tops[t.path] = t
	}
	return v.tops, nil
}

// shownTops returns how folders are shown that do not lie at the top level, of
// all that were granted. A name that could be understood in two ways gets the
// beginning of the folder's id: one that two of them have, or that a whole path
// of another begins with.
func shownTops(granted []rootRow) (tops []top) {
	names, firsts := map[string]int{}, map[string]bool{}
	for _, r := range topmost(granted) {
		first, _, below := strings.Cut(r.path, "/")
		firsts[first] = true
		t := top{id: r.id, path: r.path, shown: r.path[strings.LastIndexByte(r.path, '/')+1:]}
		names[t.shown]++
		if below {
			tops = append(tops, t)
		}
	}
	for i := range tops {
		t := &tops[i]
		if names[t.shown] > 1 || firsts[t.shown] || looksMarked.MatchString(t.shown) {
			name := t.shown
			for n := 8; n == 8 || firsts[t.shown] && n <= len(t.id); n++ { // a folder at the top level may be called so
				t.shown = name + " (" + t.id[:n] + ")"
			}
		}
	}
	return tops
}

// topmost sorts folders that were granted, and leaves out those below others of
// them, and repetitions. It works on the slice that it is given.
func topmost(granted []rootRow) []rootRow {
	slices.SortFunc(granted, func(a, b rootRow) int { return treeOrder(a.path, b.path) })
	last := "\x00"
	return slices.DeleteFunc(granted, func(r rootRow) bool {
		if strings.HasPrefix(r.path+"/", last+"/") {
			return true
		}
		last = r.path
		return false
	})
}

// shown returns a path as the user is shown it.
func (v *viewer) shown(ctx context.Context, path string) (string, error) {
	hidden, err := v.hidden(ctx)
	if err != nil || len(hidden) == 0 {
		return path, err
	}
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		if t, ok := hidden[path[:end]]; ok {
			return t.shown + path[end:], nil
		}
	}
	return path, nil
}

// wholePath returns the path from the top level of what may be a path as the
// user is shown it, and the deepest folder on it that he may read, "" for none.
func (v *viewer) wholePath(ctx context.Context, path string) (whole, near, rest string, err error) {
	whole = cleanPath(path)
	near, rest, err = v.nearest(ctx, whole)
	if near != "" || err != nil {
		return whole, near, rest, err
	}
	hidden, err := v.hidden(ctx)
	if err != nil {
		return whole, "", whole, err
	}
	first, below, _ := strings.Cut(whole, "/")
	for _, t := range hidden {
		if t.shown == first {
			whole = strings.TrimSuffix(t.path+"/"+below, "/")
			near, rest, err = v.nearest(ctx, whole)
			return whole, near, rest, err
		}
	}
	return whole, "", whole, nil
}

// Place is where a path leads.
type Place struct {
	Path string // from the top level
	// Near is the deepest folder on the path that the user may read, uuid.Nil for
	// none, and Rest what is left of the path from there: "" if it is the folder.
	Near uuid.UUID
	Rest string
	// Shown says that the path was one as the user is shown it, which is not that
	// from the top level.
	Shown bool
}

// PlaceOf returns where a path leads that begins at the top level, or as the user
// is shown it. One that is both is the former.
func (q *Queries) PlaceOf(ctx context.Context, user events.User, path string) (p Place, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return p, err
	}
	var near string
	if p.Path, near, p.Rest, err = v.wholePath(ctx, path); err != nil {
		return p, wrap(err, "folder of a path")
	}
	p.Shown = p.Path != cleanPath(path)
	if near != "" {
		p.Near, err = uuid.Parse(near)
	}
	return p, err
}

// ShownPaths returns paths from the top level as the user is shown them.
func (q *Queries) ShownPaths(ctx context.Context, user events.User, paths []string) ([]string, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(paths))
	for i, path := range paths {
		if out[i], err = v.shown(ctx, path); err != nil {
			return nil, wrap(err, "folders")
		}
	}
	return out, nil
}
