package vault

import (
	"context"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// DuplicateOf checks up to fewCopies documents with the same bytes one by one, until it
// finds one that the user may read. If there are more, it searches the folders that the
// user may read.
const fewCopies = 100

const (
	// copies finds up to $3 documents with a SHA-256 ($1): first those in the folder $2,
	// then the others, the oldest first in both groups.
	copies = `SELECT id, folder FROM (SELECT id, folder, created_at FROM documents WHERE sha256 = $1 LIMIT CAST($3 AS INTEGER)) c
		ORDER BY folder <> $2, created_at, id`
	// oldestCopy finds the first document in the same order as copies, but only in the
	// folders $3 (JSON). It reads the oldest copy of each folder from an index.
	oldestCopy = `SELECT d.id FROM json_each($3) k CROSS JOIN documents d WHERE d.id =
			(SELECT c.id FROM documents c WHERE c.sha256 = $1 AND c.folder = k.value ORDER BY c.created_at, c.id LIMIT 1)
		ORDER BY d.folder <> $2, d.created_at, d.id LIMIT 1`
)

// DuplicateOf returns a document with these bytes that the user may read: the oldest
// copy in folder if there is one, otherwise the oldest copy in any folder.
func (q *Vault) DuplicateOf(ctx context.Context, user events.User, folder uuid.UUID, sha256 string) (document uuid.UUID, found bool, err error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return uuid.Nil, false, err
	}
	id, err := v.duplicate(ctx, folder.String(), sha256)
	if err != nil || id == "" {
		return uuid.Nil, false, freshness.Wrap(err, "documents with the same bytes")
	}
	document, err = uuid.Parse(id)
	return document, err == nil, err
}

func (v *viewer) duplicate(ctx context.Context, folder, sha256 string) (id string, err error) {
	type document struct{ id, folder string }
	all, err := projections.List(ctx, v.DB, func(d *document) []any { return []any{&d.id, &d.folder} }, copies, sha256, folder, fewCopies+1)
	if err != nil {
		return "", err
	}
	if len(all) > fewCopies {
		return v.oldestCopy(ctx, folder, sha256)
	}
	for _, d := range all {
		if ok, err := v.MayRead(ctx, d.folder); ok || err != nil {
			return d.id, err
		}
	}
	return "", nil
}

// oldestCopy finds the duplicate if many documents have the same bytes.
func (v *viewer) oldestCopy(ctx context.Context, folder, sha256 string) (id string, err error) {
	readable, err := v.Readable(ctx)
	if err != nil {
		return "", err
	}
	ids, err := projections.Column(ctx, v.DB, oldestCopy, sha256, folder, readable)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}
