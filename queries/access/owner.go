package access

import (
	"context"
	"encoding/json"

	"annals/projections"
	"annals/queries/freshness"
)

// ownersAbove finds the owners of each folder in $1, a JSON array of ids. For a folder
// without owners it finds those of the nearest ancestor with owners. It ignores users
// who were granted ownership. Otherwise a user who shares a folder could choose who
// appears to own it.
const ownersAbove = `WITH RECURSIVE up (start, id, parent, depth) AS (
		SELECT id, id, parent, 0 FROM folders WHERE id IN (SELECT value FROM json_each($1))
		UNION ALL SELECT up.start, f.id, f.parent, up.depth + 1 FROM up CROSS JOIN folders f WHERE f.id = up.parent AND up.depth < 100)
	SELECT up.start, up.depth, p.principal FROM up CROSS JOIN permissions p WHERE p.folder = up.id AND p.owner = 1 ORDER BY up.start, up.depth, p.principal`

// Owners returns the owners of each folder, or of its nearest ancestor that has
// owners. Folders without owners are not in the result.
func (v *Viewer) Owners(ctx context.Context, folders []string) (map[string][]string, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(folders)
	if err != nil {
		return nil, err
	}
	type row struct {
		folder, owner string
		depth         int
	}
	rows, err := projections.List(ctx, v.DB, func(r *row) []any { return []any{&r.folder, &r.depth, &r.owner} }, ownersAbove, string(b))
	if err != nil {
		return nil, freshness.Wrap(err, "owners of folders")
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
	return owners, nil
}
