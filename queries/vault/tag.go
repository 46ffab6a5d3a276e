package vault

import (
	"context"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"
)

// Queries for the tags of all documents in folders ($1, JSON). tagsOfFolders reads all
// documents in the folders. tagsInUse checks for each existing tag whether a document in
// the folders has it; that is faster if nearly all documents are in these folders.
const (
	tagsOfFolders = `SELECT DISTINCT t.tag FROM json_each($1) k CROSS JOIN documents d CROSS JOIN tags t WHERE d.folder = k.value AND t.document = d.id ORDER BY t.tag`
	tagsInUse     = `WITH RECURSIVE all_tags (tag) AS (
			SELECT min(tag) FROM tags
			UNION ALL SELECT (SELECT min(t.tag) FROM tags t WHERE t.tag > a.tag) FROM all_tags a WHERE a.tag IS NOT NULL)
		SELECT tag FROM all_tags a WHERE tag IS NOT NULL AND EXISTS (SELECT 1 FROM tags t CROSS JOIN documents d
			WHERE d.id = t.document AND t.tag = a.tag AND d.folder IN (SELECT value FROM json_each($1))) ORDER BY tag`
)

// VisibleTags returns the tags of all documents that the user may read, in
// order.
func (q *Vault) VisibleTags(ctx context.Context, user events.User) ([]string, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	folders, err := v.Readable(ctx)
	if err != nil {
		return nil, freshness.Wrap(err, "tags")
	}
	query := tagsOfFolders
	if user.Admin {
		query = tagsInUse
	}
	tags, err := projections.Column(ctx, v.DB, query, folders)
	return append([]string{}, tags...), freshness.Wrap(err, "tags")
}
