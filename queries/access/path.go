package access

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// A whole path begins at the top level and is the same for all users. A user who only
// has access to a folder further down must not see the names of the folders above it:
// for that user, a shown path begins at the topmost folder that the user may read.
// Queries accept both forms.

// top is a folder that the user may read, below one that the user may not read.
type top struct {
	id, path string
	shown    string // shown instead of the whole path
}

// suffixed matches a name that may end with part of an id, as shownTops adds it.
var suffixed = regexp.MustCompile(` \([0-9a-f]{8}\)$`)

// hidden returns, by path, the topmost folders that the user may read, except those
// at the top level.
func (v *Viewer) hidden(ctx context.Context) (map[string]top, error) {
	if v.User.Admin || v.tops != nil {
		return v.tops, nil
	}
	roots, err := projections.List(ctx, v.DB, (*rootRow).fields, waysUp+` `+grantedFolders, v.Principals)
	if err != nil {
		return nil, err
	}
	v.tops = map[string]top{}
	for _, t := range shownTops(roots) {
		v.tops[t.path] = t
	}
	return v.tops, nil
}

// shownTops returns the granted folders that are not at the top level, with the path
// shown for each: the folder's name, and part of its id if the name is ambiguous. A
// name is ambiguous if two granted folders have it, or if the path of any granted
// folder begins with it.
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
		if names[t.shown] > 1 || firsts[t.shown] || suffixed.MatchString(t.shown) {
			name := t.shown
			for n := 8; n == 8 || firsts[t.shown] && n <= len(t.id); n++ { // until no granted path begins with the result
				t.shown = name + " (" + t.id[:n] + ")"
			}
		}
	}
	return tops
}

// topmost sorts granted folders, and removes duplicates and folders below another
// granted folder. It modifies its argument.
func topmost(granted []rootRow) []rootRow {
	slices.SortFunc(granted, func(a, b rootRow) int { return TreeOrder(a.path, b.path) })
	last := "\x00"
	return slices.DeleteFunc(granted, func(r rootRow) bool {
		if strings.HasPrefix(r.path+"/", last+"/") {
			return true
		}
		last = r.path
		return false
	})
}

// Shown converts a path from the top level to the path shown to the user.
func (v *Viewer) Shown(ctx context.Context, path string) (string, error) {
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

// Whole resolves a path that may begin at a shown folder. It returns the path from the
// top level, the id of the deepest folder on the path that the user may read ("" for
// none), and the part of the path below that folder.
func (v *Viewer) Whole(ctx context.Context, path string) (whole, near, rest string, err error) {
	whole = CleanPath(path)
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

// Place is the result of resolving a path.
type Place struct {
	Path string // from the top level
	// Near is the deepest folder on the path that the user may read, or uuid.Nil if there
	// is none. Rest is the part of the path below Near, or "" if the path ends at Near.
	Near uuid.UUID
	Rest string
	// Shown is true if the resolved path was a path as shown to the user, and false if it
	// began at the top level.
	Shown bool
}

// PlaceOf resolves a path from the top level or as shown to the user. A path that
// could be either is resolved from the top level.
func (q *Rights) PlaceOf(ctx context.Context, user events.User, path string) (p Place, err error) {
	v, err := New(ctx, q.Models, user)
	if err != nil {
		return p, err
	}
	var near string
	if p.Path, near, p.Rest, err = v.Whole(ctx, path); err != nil {
		return p, freshness.Wrap(err, "folder at "+path)
	}
	p.Shown = p.Path != CleanPath(path)
	if near != "" {
		p.Near, err = uuid.Parse(near)
	}
	return p, err
}

// ShownPaths converts paths from the top level to the paths shown to the user.
func (q *Rights) ShownPaths(ctx context.Context, user events.User, paths []string) ([]string, error) {
	v, err := New(ctx, q.Models, user)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(paths))
	for i, path := range paths {
		if out[i], err = v.Shown(ctx, path); err != nil {
			return nil, freshness.Wrap(err, "folders")
		}
	}
	return out, nil
}
