package queries

import (
	"context"

	"annals/events"
	"annals/projections"

	"github.com/google/uuid"
)

// fewCopies is up to how many documents with the same bytes are looked through
// one by one for one that the user may read; where there are more, it is the
// user's folders that are.
const fewCopies = 100

const (
	// copies finds documents with some bytes ($1), those of one folder ($2)
	// before those of others and the oldest first, or $3 of any.
	copies = `SELECT id, folder FROM (SELECT id, folder, created_at FROM documents WHERE sha256 = $1 LIMIT CAST($3 AS INTEGER)) c
		ORDER BY folder <> $2, created_at, id`
	// oldestCopy finds the first of them that is in one of some folders ($3,
	// JSON), of which an index gives the oldest of each.
	oldestCopy = `SELECT d.id FROM json_each($3) k CROSS JOIN documents d WHERE d.id =
			(SELECT c.id FROM documents c WHERE c.sha256 = $1 AND c.folder = k.value ORDER BY c.created_at, c.id LIMIT 1)
		ORDER BY d.folder <> $2, d.created_at, d.id LIMIT 1`
)

// DuplicateOf returns a document with these bytes that the user may read: the
// oldest in the folder, where it holds one, or else the oldest.
func (q *Queries) DuplicateOf(ctx context.Context, user events.User, folder uuid.UUID, sha256 string) (document uuid.UUID, found bool, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return uuid.Nil, false, err
	}
	id, err := v.duplicate(ctx, folder.String(), sha256)
	if err != nil || id == "" {
		return uuid.Nil, false, wrap(err, "documents with the same bytes")
	}
	document, err = uuid.Parse(id)
	return document, err == nil, err
}

func (v *viewer) duplicate(ctx context.Context, folder, sha256 string) (id string, err error) {
	type document struct{ id, folder string }
	all, err := projections.List(ctx, v.db, func(d *document) []any { return []any{&d.id, &d.folder} }, copies, sha256, folder, fewCopies+1)
	if err != nil {
		return "", err
	}
	if len(all) > fewCopies {
		return v.oldestCopy(ctx, folder, sha256)
	}
	for _, d := range all {
		if ok, err := v.may(ctx, d.folder); ok || err != nil {
			return d.id, err
		}
	}
	return "", nil
}

// oldestCopy is duplicate for bytes of which there are many documents.
func (v *viewer) oldestCopy(ctx context.Context, folder, sha256 string) (id string, err error) {
	readable, err := v.folders(ctx)
	if err != nil {
		return "", err
	}
	ids, err := projections.Column(ctx, v.db, oldestCopy, sha256, folder, readable)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}
