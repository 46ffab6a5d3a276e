package jobs

import (
	"context"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Sizes of a page of JobList.
const (
	DefaultListed = 20
	MaxListed     = 100
)

// JobList returns a page of the user's own jobs, newest first and without results. If before is not uuid.Nil, they
// are older than the user's job with that id; there are none if the user has no such job. next is the cursor of the
// next page, uuid.Nil on the last one.
func (q *Jobs) JobList(ctx context.Context, user events.User, before uuid.UUID, limit int) (list []Job, next uuid.UUID, err error) {
	if err := q.Models.Usable(ctx, q.Models.Jobs); err != nil {
		return nil, next, err
	}
	where, args := `WHERE owner = $1`, []any{string(user.Principal), limit + 1}
	if before != uuid.Nil {
		where, args = where+` AND requested < (SELECT requested FROM jobs WHERE id = $3 AND owner = $1)`, append(args, before.String())
	}
	rows, err := projections.List(ctx, q.Models.Jobs.DB(), (*jobRow).fields, jobColumns+where+` ORDER BY requested DESC LIMIT CAST($2 AS INTEGER)`, args...)
	if err != nil {
		return nil, next, freshness.Wrap(err, "jobs")
	}
	more := len(rows) > limit
	for _, row := range rows[:min(limit, len(rows))] {
		j, err := q.summary(ctx, row)
		if err != nil {
			return nil, next, freshness.Wrap(err, "job "+row.id)
		}
		list = append(list, j)
	}
	if more {
		next = list[limit-1].ID
	}
	return list, next, nil
}

// summary returns the state of a job without results. It reads only those of its files that say something of the
// state, because a job may have thousands.
func (q *Jobs) summary(ctx context.Context, row jobRow) (Job, error) {
	var lagging *projections.Runner
	files, err := q.telling(ctx, row)
	if err == nil && row.finished > 0 {
		lagging, err = q.lagging(ctx, row)
	}
	if err != nil {
		return Job{}, err
	}
	j, err := row.job(files, lagging)
	j.Results = nil
	return j, err
}

// maxTelling is the maximum number of files that telling returns.
const maxTelling = 64

// telling returns the files of a job that its state depends on: those in progress, and of a job that is finished the
// first one, and the first one that failed. If there are too many, those that wait for OCR are left out.
func (q *Jobs) telling(ctx context.Context, row jobRow) ([]fileRow, error) {
	which := `state = 'working' OR step = 'ocr'`
	switch {
	case row.finished > 0 && row.successful == 0:
		which = `file = 0 OR file = (SELECT min(file) FROM files WHERE job = $1 AND error <> '')`
	case row.finished > 0:
		which = `file = 0`
	}
	return projections.List(ctx, q.Models.Jobs.DB(), (*fileRow).fields, fileColumns+`WHERE job = $1 AND (`+which+`) ORDER BY CASE state WHEN 'working' THEN 0 ELSE 1 END, file LIMIT CAST($2 AS INTEGER)`, row.id, maxTelling)
}

// lagging is like behind, but reads the files of the job only if the indexing of any document was deferred.
func (q *Jobs) lagging(ctx context.Context, row jobRow) (lagging *projections.Runner, err error) {
	if lagging, err = q.behind(ctx, row.finished, nil); lagging != nil || err != nil {
		return lagging, err
	}
	var any bool
	err = q.Models.Passages.DB().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deferred WHERE position <= $1)`, int64(row.finished)).Scan(&any)
	if !any || err != nil {
		return nil, err
	}
	files, err := q.files(ctx, row.id)
	if err != nil {
		return nil, err
	}
	return q.behind(ctx, row.finished, files)
}
