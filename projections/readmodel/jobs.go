package readmodel

import (
	"context"
	"errors"

	"annals/events"
)

// Jobs is the read model of import jobs and their files.
type Jobs struct{}

func init() {
	Register(Model{Projection: Jobs{}})
}

// Name is "jobs".
func (Jobs) Name() string { return "jobs" }

// Version of the jobs' tables.
func (Jobs) Version() int { return 6 }

// Oldest returns Version: this program cannot read older tables.
func (j Jobs) Oldest() int { return j.Version() }

// Types returns the events of jobs.
func (Jobs) Types() []string {
	return []string{"FileAccepted", "ImportRequested", "FileStarted", "FileStepped", "FileImported", "FileFailed", "JobFinished"}
}

// Apply changes a job.
func (Jobs) Apply(ctx context.Context, tx Tx, e events.Event) error {
	job, at := events.StreamID(e.Stream).String(), int64(e.Position)
	switch d := e.Data.(type) {
	case events.FileAccepted:
		state := "waiting"
		if d.Refused != "" {
			state = "failed"
		}
		return tx.Exec(ctx, `INSERT INTO files (job, file, name, folder, tags, sha256, state, error, changed, reread) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			job, d.File, d.Name, d.Folder, JSONText(d.Tags), d.SHA256, state, d.Refused, at, d.Reread)
	case events.ImportRequested:
		return tx.Exec(ctx, `INSERT INTO jobs (id, owner, files, failed, requested, created_at) VALUES ($1, $2, $3, (SELECT count(*) FROM files WHERE job = $1 AND state = 'failed'), $4, $5) ON CONFLICT DO NOTHING`,
			job, string(d.User), d.Files, at, stamp(e.Metadata.Time))
	case events.FileStarted:
		return tx.Exec(ctx, `UPDATE files SET state = 'working', step = 'reading', changed = $3 WHERE job = $1 AND file = $2 AND changed < $3`, job, d.File, at)
	case events.FileStepped:
		return tx.Exec(ctx, `UPDATE files SET step = $3, message = $4, changed = $5 WHERE job = $1 AND file = $2 AND changed < $5`, job, d.File, d.Step, d.Message, at)
	case events.FileImported:
		return errors.Join(
			count(ctx, tx, "successful", job, d.File, at),
			tx.Exec(ctx, `UPDATE files SET state = 'imported', step = '', message = '', document = $3, title = $4, duplicate = $5, warnings = $6, outcome = $8, changed = $7 WHERE job = $1 AND file = $2 AND changed < $7`,
				job, d.File, d.Document.String(), d.Title, d.Duplicate, JSONText(d.Warnings), at, d.Outcome),
		)
	case events.FileFailed:
		return errors.Join(
			count(ctx, tx, "failed", job, d.File, at),
			tx.Exec(ctx, `UPDATE files SET state = 'failed', step = '', message = '', error = $3, kind = $4, changed = $5 WHERE job = $1 AND file = $2 AND changed < $5`, job, d.File, d.Error, d.Kind, at),
		)
	case events.JobFinished:
		return tx.Exec(ctx, `UPDATE jobs SET finished = $2, finished_at = $3 WHERE id = $1`, job, at, stamp(e.Metadata.Time))
	}
	return nil
}

// count increments a column of a job when the import of a file ends, unless this event
// was counted before. The file's row records that, so call count before changing the row.
func count(ctx context.Context, tx Tx, column, job string, file int, at int64) error {
	return tx.Exec(ctx, `UPDATE jobs SET `+column+` = `+column+` + 1 WHERE id = $1 AND EXISTS (SELECT 1 FROM files WHERE job = $1 AND file = $2 AND changed < $3)`, job, file, at)
}
