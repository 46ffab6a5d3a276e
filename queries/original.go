package queries

import "context"

// Refers reports whether a file of a job or a document consists of the bytes
// with this SHA-256.
func (q *Queries) Refers(ctx context.Context, sha256 string) (bool, error) {
	var n int
	err := q.Models.Jobs.DB().QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM files f JOIN jobs j ON j.id = f.job WHERE f.sha256 = $1 LIMIT 1)`, sha256).Scan(&n)
	if err != nil || n > 0 {
		return n > 0, wrap(err, "files of jobs")
	}
	err = q.Models.Vault.DB().QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM documents WHERE sha256 = $1 LIMIT 1)`, sha256).Scan(&n)
	return n > 0, wrap(err, "documents")
}
