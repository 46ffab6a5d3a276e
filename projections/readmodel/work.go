package readmodel

import (
	"context"

	"annals/events"
)

// Work is the read model of the files whose import has not ended.
type Work struct{}

func init() {
	Register(Model{Projection: Work{}, NotAwaited: "only the import queue reads it, and waits for it itself"})
}

// Name is "work".
func (Work) Name() string { return "work" }

// Version of the work's tables.
func (Work) Version() int { return 1 }

// Oldest returns Version: this program cannot read older tables.
func (w Work) Oldest() int { return w.Version() }

// Types returns the events that begin and end the import of a file.
func (Work) Types() []string {
	return []string{"FileAccepted", "ImportRequested", "FileImported", "FileFailed"}
}

// Apply adds the files of a requested job, and removes a file when its import has
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
