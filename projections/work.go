package projections

import (
	"context"

	"annals/events"
)

// Work is the read model of the files whose import has not ended.
type Work struct{}

// Name is "work".
func (Work) Name() string { return "work" }

// Version of the work's tables.
func (Work) Version() int { return 1 }

// Oldest is Version: what changed last cannot be read in older tables.
func (w Work) Oldest() int { return w.Version() }

// Types are the events that begin and end the work on a file.
func (Work) Types() []string {
	return []string{"FileAccepted", "ImportRequested", "FileImported", "FileFailed"}
}

// Apply adds work when a job is requested and removes it when a file's work
// ended.
func (Work) Apply(ctx context.Context, tx Tx, e events.Event) error {
	job := events.StreamID(e.Stream).String()
	switch d := e.Data.(type) {
	case events.FileAccepted:
		if d.Refused != "" {
			return nil
		}
		return tx.Exec(ctx, `INSERT INTO files (job, file, accepted) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, job, d.File, int64(e.Position))
	case events.ImportRequested:
		return tx.Exec(ctx, `UPDATE files SET owner = $2, accepted = $3 WHERE job = $1`, job, string(d.User), int64(e.Position))
	case events.FileImported:
		return tx.Exec(ctx, `DELETE FROM files WHERE job = $1 AND file = $2`, job, d.File)
	case events.FileFailed:
		return tx.Exec(ctx, `DELETE FROM files WHERE job = $1 AND file = $2`, job, d.File)
	}
	return nil
}
