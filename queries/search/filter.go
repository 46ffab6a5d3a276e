package search

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"annals/events"
	"annals/projections"
	"annals/projections/searchindex"
	"annals/queries/access"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// engineQuery returns the engine's query for a search, restricted to what the user may
// read. ok is false if the result would be empty. It replaces a folder's shown path in s
// by the path from the top level, and sets the folder's id.
func (q *Searcher) engineQuery(ctx context.Context, v *access.Viewer, s *Query) (query searchindex.Query, ok bool, err error) {
	query = searchindex.Query{Text: s.Query, All: v.User.Admin, Tags: s.Tags, AnyTag: s.AnyTag}
	if strings.TrimSpace(s.Query) == "" {
		return query, false, nil
	}
	query.Required, query.Excluded = s.syntax.Terms()
	query.Beginnings = s.syntax.Beginnings
	if s.Document != uuid.Nil {
		query.Document = s.Document.String()
	}
	labelled, err := q.labelled(ctx)
	if err != nil {
		return query, false, err
	}
	if strings.Trim(s.Folder, "/ ") != "" {
		whole, scope, rest, err := v.Whole(ctx, s.Folder)
		s.Folder = whole
		if err != nil || scope == "" || rest != "" {
			return query, false, err
		}
		// The user may read everything below the folder, so grants do not restrict the
		// results.
		query.Inside, s.folder = true, scope
		if query.Folders, err = withMoved(ctx, v, []string{scope}, labelled); err != nil {
			return query, false, err
		}
	}
	if query.All {
		return query, true, nil
	}
	if query.Granted, err = v.Granted(ctx); err != nil || len(query.Granted) == 0 {
		return query, false, err
	}
	query.Granted, err = withMoved(ctx, v, query.Granted, labelled)
	return query, err == nil, err
}

// labelWait is how long a search waits until the index has applied earlier moves and
// changes of tags.
var labelWait = time.Second

// awaitLabels waits until the index, which filters by folder and tag, has the current
// folders and tags of documents. It returns nil after labelWait even if the index lags,
// because recheck checks all hits.
func (q *Searcher) awaitLabels(ctx context.Context) error {
	var at events.Position
	if err := q.Models.Vault.DB().QueryRowContext(ctx, `SELECT position FROM labels`).Scan(&at); err != nil {
		return freshness.Wrap(err, "position of the last move or change of tags")
	}
	if at <= q.Models.Passages.Position() {
		return nil
	}
	soon, cancel := context.WithTimeout(ctx, labelWait)
	defer cancel()
	_ = q.Models.Passages.Wait(soon, at)
	return ctx.Err()
}

// labelled returns the position up to which the index has applied moves of folders.
func (q *Searcher) labelled(ctx context.Context) (events.Position, error) {
	// The runner has the position of the index. Some documents before that position are
	// not indexed yet, because their indexing was deferred; table deferred lists them.
	indexed := q.Models.Passages.Position()
	var p events.Position
	err := q.Models.Passages.DB().QueryRowContext(ctx, `SELECT coalesce((SELECT min(position) - 1 FROM deferred), position) FROM checkpoint`).Scan(&p)
	return min(p, indexed), freshness.Wrap(err, "position of the index")
}

// movedBelow finds the folders that were moved after a position ($1) and are now in or
// below one of the given folders ($2, JSON).
const movedBelow = `WITH RECURSIVE up (moved, id, depth) AS (
		SELECT folder, folder, 0 FROM moved WHERE position > $1
		UNION ALL SELECT up.moved, f.parent, up.depth + 1 FROM up CROSS JOIN folders f WHERE f.id = up.id AND up.depth < 100)
	SELECT DISTINCT moved FROM up WHERE id IN (SELECT value FROM json_each($2))`

// withMoved returns the given folders and the folders that were moved below them after a
// position. For passages in a moved folder the index may still have the previous
// ancestors, but it has the right folder.
func withMoved(ctx context.Context, v *access.Viewer, folders []string, after events.Position) ([]string, error) {
	b, err := json.Marshal(folders)
	if err != nil {
		return nil, err
	}
	moved, err := projections.Column(ctx, v.DB, movedBelow, after, string(b))
	return append(folders, moved...), err
}
