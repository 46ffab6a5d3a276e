package queries

import (
	"context"

	"annals/events"
)

// isThere says that a document's folder was not deleted: its row may outlive
// the folder for a while.
const isThere = `NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder AND f.deleted = 1)`

// Refers reports whether the bytes with this SHA-256 are still wanted: by a job
// that has not ended, or as the content of a document, now or in an earlier
// version. It says no only of what no job's end is about to make a document, and
// of nothing while there are events that could not be applied: they may tell of
// any bytes.
func (q *Queries) Refers(ctx context.Context, sha256 string) (bool, error) {
	var working, known bool
	var at events.Position
	err := q.Models.Jobs.DB().QueryRowContext(ctx, `SELECT position, EXISTS (SELECT 1 FROM parked) OR
		EXISTS (SELECT 1 FROM files f JOIN jobs j ON j.id = f.job WHERE f.sha256 = $1 AND j.finished = 0) FROM checkpoint`, sha256).
		Scan(&at, &working)
	if err != nil || working {
		return working, wrap(err, "files of jobs")
	}
	// What the job made comes before its end in the log.
	if err := q.await(ctx, q.Models.Vault, at); err != nil {
		return false, err
	}
	err = q.Models.Vault.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM parked) OR
		EXISTS (SELECT 1 FROM documents d WHERE d.sha256 = $1 AND `+isThere+`) OR
		EXISTS (SELECT 1 FROM versions v JOIN documents d ON d.id = v.document WHERE v.sha256 = $1 AND `+isThere+`)`, sha256).
		Scan(&known)
	return known, wrap(err, "documents")
}
