package queries

import (
	"context"
	"encoding/json"
	"strings"

	"annals/projections"
)

// ownersAbove finds who owns the folders of a JSON list ($1): those whom no list
// of permissions replaces, of the folder or of the nearest one above it that has
// any. Users whom a folder was shared with, to own it, do not count: else whoever
// shares a folder could choose whose it seems to be.
const ownersAbove = `WITH RECURSIVE up (start, id, parent, depth) AS (
		SELECT id, id, parent, 0 FROM folders WHERE id IN (SELECT value FROM json_each($1))
		UNION ALL SELECT up.start, f.id, f.parent, up.depth + 1 FROM up CROSS JOIN folders f WHERE f.id = up.parent AND up.depth < 100)
	SELECT up.start, up.depth, p.principal FROM up CROSS JOIN permissions p WHERE p.folder = up.id AND p.owner = 1 ORDER BY up.start, up.depth, p.principal`

// addOwners names in sources who owns the folders of their documents.
func (v *viewer) addOwners(ctx context.Context, sources []Source) error {
	if len(sources) == 0 {
		return nil
	}
	var folders []string
	for _, s := range sources {
		folders = append(folders, s.folder)
	}
	b, err := json.Marshal(folders)
	if err != nil {
		return err
	}
	type row struct {
		folder, owner string
		depth         int
	}
	rows, err := projections.List(ctx, v.db, func(r *row) []any { return []any{&r.folder, &r.depth, &r.owner} }, ownersAbove, string(b))
	if err != nil {
		return wrap(err, "owners of folders")
	}
	owners, nearest := make(map[string][]string), make(map[string]int)
	for _, r := range rows {
		if len(owners[r.folder]) == 0 {
			nearest[r.folder] = r.depth
		}
		if r.depth == nearest[r.folder] {
			owners[r.folder] = append(owners[r.folder], r.owner)
		}
	}
	for i, s := range sources {
		sources[i].Owner = strings.Join(owners[s.folder], ", ")
	}
	return nil
}
