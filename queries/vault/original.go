package vault

import (
	"context"
	"encoding/json"
	"time"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"
)

// isThere is an SQL condition: the document's folder was not deleted. The row of a
// document may remain for a while after the folder was deleted.
const isThere = `NOT EXISTS (SELECT 1 FROM folders f WHERE f.id = d.folder AND f.deleted = 1)`

// Refers reports whether an original with this SHA-256 is still in use: by a job that
// has not ended, or by the current or an earlier version of a document. While events are
// parked it returns true, because a parked event may refer to the original.
func (q *Vault) Refers(ctx context.Context, sha256 string) (bool, error) {
	// A stopped read model of jobs would lack the files of new jobs.
	if err := q.Models.Usable(ctx, q.Models.Jobs); err != nil {
		return false, err
	}
	var working, known bool
	var at events.Position
	err := q.Models.Jobs.DB().QueryRowContext(ctx, `SELECT position, EXISTS (SELECT 1 FROM parked) OR
		EXISTS (SELECT 1 FROM files f JOIN jobs j ON j.id = f.job WHERE f.sha256 = $1 AND j.finished = 0) FROM checkpoint`, sha256).
		Scan(&at, &working)
	if err != nil || working {
		return working, freshness.Wrap(err, "files of jobs")
	}
	// In the log, a job ends after its documents were imported. So wait for the position
	// that the read model of jobs has passed.
	if err := q.Models.Await(ctx, q.Models.Vault, at); err != nil {
		return false, err
	}
	err = q.Models.Vault.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM parked) OR
		EXISTS (SELECT 1 FROM documents d WHERE d.sha256 = $1 AND `+isThere+`) OR
		EXISTS (SELECT 1 FROM versions v JOIN documents d ON d.id = v.document WHERE v.sha256 = $1 AND `+isThere+`)`, sha256).
		Scan(&known)
	return known, freshness.Wrap(err, "documents")
}

// Keeps reports whether an original must be kept: because it is in use, as Refers says, or
// because a document that had it was deleted after a time, and can be restored.
func (q *Vault) Keeps(ctx context.Context, sha256 string, after time.Time) (bool, error) {
	used, err := q.Refers(ctx, sha256)
	if used || err != nil {
		return used, err
	}
	// Refers has seen deletions up to this position.
	at, err := freshness.Passed(ctx, q.Models.Vault)
	if err == nil {
		err = q.Models.Await(ctx, q.Models.Audit, at)
	}
	if err != nil {
		return false, err
	}
	documents, err := projections.Column(ctx, q.Models.Jobs.DB(), `SELECT DISTINCT 'document-' || document FROM files WHERE sha256 = $1 AND document <> ''`, sha256)
	if err != nil || len(documents) == 0 {
		return false, freshness.Wrap(err, "files of jobs")
	}
	things, err := json.Marshal(documents)
	if err != nil {
		return false, err
	}
	var kept bool
	err = q.Models.Audit.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM parked) OR
		EXISTS (SELECT 1 FROM json_each($1) k CROSS JOIN entries e WHERE e.thing = k.value AND e.type = 'DocumentDeleted' AND e.time > $2)`, string(things), after.UnixMicro()).
		Scan(&kept)
	return kept, freshness.Wrap(err, "deleted documents")
}
