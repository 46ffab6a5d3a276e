package queries

import (
	"context"
	"time"

	"annals/projections"
	"annals/projections/generation"
	"annals/queries/freshness"
)

// The states of read models, as administrators see them.
type (
	ModelState  = projections.State
	Rebuilding  = projections.Rebuilding
	ParkedEvent = generation.ParkedEvent
)

// Figures are the numbers of a whole service.
type Figures struct {
	Documents, Folders int64
	Bytes              int64 // of the originals of all documents, in their current versions
	Types              []Type
	Imports            []Day // days with imports, oldest first
}

// Type counts the documents of a content type.
type Type struct {
	ContentType      string
	Documents, Bytes int64
}

// Day counts the imports that were requested on a day in UTC.
type Day struct {
	Date                            string // such as 2026-11-20
	Jobs, Files, Successful, Failed int
}

// Figures returns the numbers of the whole service, with the imports since a time.
func (q *Queries) Figures(ctx context.Context, since time.Time) (f Figures, err error) {
	if err := q.Models.Trusted(ctx); err != nil {
		return f, err
	}
	if err := q.Models.Usable(ctx, q.Models.Jobs); err != nil {
		return f, err
	}
	db := q.Models.Vault.DB()
	f.Types, err = projections.List(ctx, db, func(t *Type) []any { return []any{&t.ContentType, &t.Documents, &t.Bytes} },
		`SELECT d.media_type, count(*), CAST(sum(d.size) AS BIGINT) FROM documents d JOIN folders f ON f.id = d.folder WHERE f.deleted = 0 GROUP BY d.media_type ORDER BY 2 DESC, 1`)
	if err == nil {
		err = db.QueryRowContext(ctx, `SELECT count(*) FROM folders WHERE deleted = 0`).Scan(&f.Folders)
	}
	if err != nil {
		return f, freshness.Wrap(err, "numbers of documents")
	}
	for _, t := range f.Types {
		f.Documents, f.Bytes = f.Documents+t.Documents, f.Bytes+t.Bytes
	}
	f.Imports, err = projections.List(ctx, q.Models.Jobs.DB(), func(d *Day) []any { return []any{&d.Date, &d.Jobs, &d.Files, &d.Successful, &d.Failed} },
		`SELECT substr(created_at, 1, 10), count(*), sum(files), sum(successful), sum(failed) FROM jobs WHERE created_at >= $1 GROUP BY substr(created_at, 1, 10) ORDER BY 1`,
		since.UTC().Format(time.DateOnly))
	return f, freshness.Wrap(err, "imports")
}
