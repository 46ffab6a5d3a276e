package queries

import (
	"context"

	"annals/events"
	"annals/projections"

	"github.com/google/uuid"
)

// oldestCopy finds a document with some bytes ($1) in folders ($2, JSON), of
// which an index gives the oldest of each: that of one folder ($3), or else the
// oldest of all.
const oldestCopy = `SELECT d.id FROM json_each($2) k CROSS JOIN documents d ON d.id =
		(SELECT c.id FROM documents c WHERE c.sha256 = $1 AND c.folder = k.value ORDER BY c.created_at, c.id LIMIT 1)
	ORDER BY d.folder <> $3, d.created_at, d.id LIMIT 1`

// DuplicateOf returns a document with these bytes that the user may read: the
// oldest in the folder, where it holds one, or else the oldest.
func (q *Queries) DuplicateOf(ctx context.Context, user events.User, folder uuid.UUID, sha256 string) (document uuid.UUID, found bool, err error) {
	v, err := q.viewer(user)
	if err != nil {
		return uuid.Nil, false, err
	}
	// Most files are new to everybody, which is known without any folder.
	ids, err := projections.Column(ctx, v.db, `SELECT id FROM documents WHERE sha256 = $1 LIMIT 1`, sha256)
	if err != nil || len(ids) == 0 {
		return uuid.Nil, false, wrap(err, "documents")
	}
	folders, err := v.folders(ctx)
	if err != nil {
		return uuid.Nil, false, wrap(err, "folders")
	}
	ids, err = projections.Column(ctx, v.db, oldestCopy, sha256, folders, folder.String())
	if err != nil || len(ids) == 0 {
		return uuid.Nil, false, wrap(err, "documents")
	}
	document, err = uuid.Parse(ids[0])
	return document, err == nil, err
}

// Refers reports whether the bytes with this SHA-256 are still wanted: by a job
// that has not ended, or as the content of a document, now or in an earlier
// version. It says no only of what no job's end is about to make a document.
func (q *Queries) Refers(ctx context.Context, sha256 string) (bool, error) {
	var working, known bool
	var at events.Position
	err := q.Models.Jobs.DB().QueryRowContext(ctx, `SELECT position, EXISTS (SELECT 1 FROM files f JOIN jobs j ON j.id = f.job WHERE f.sha256 = $1 AND j.finished = 0) FROM checkpoint`, sha256).
		Scan(&at, &working)
	if err != nil || working {
		return working, wrap(err, "files of jobs")
	}
	// What the job made comes before its end in the log.
	if err := await(ctx, q.Models.Vault, at); err != nil {
		return false, err
	}
	err = q.Models.Vault.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM documents WHERE sha256 = $1) OR EXISTS (SELECT 1 FROM versions WHERE sha256 = $1)`, sha256).
		Scan(&known)
	return known, wrap(err, "documents")
}
