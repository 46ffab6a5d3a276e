package generation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/projections/readmodel"
)

// ErrLogMismatch means that the log is not the one that a read model was built from: it
// is a copy with other positions, or it was restored from a backup and then received
// other events. The read model is not rebuilt, because the wrong log may have been
// configured.
var ErrLogMismatch = errors.New("this is not the log that the read model was made from")

// IsLogMismatch reports whether an error means that the log is truncated or is a
// different log.
func IsLogMismatch(err error) bool {
	return errors.Is(err, ErrLogTruncated) || errors.Is(err, ErrLogMismatch)
}

// seen is the last applied event, which identifies the log.
type seen struct {
	stream   string // '' if there is none
	revision int64
	position events.Position
	id       string
}

// CheckLog returns ErrLogTruncated if the log ends before the checkpoint, and
// ErrLogMismatch if it is a different log.
func (g *Generation) CheckLog(ctx context.Context) error {
	position, last, err := g.lastSeen(ctx)
	if err != nil {
		return err
	}
	head, err := g.log.Head(ctx)
	if err != nil {
		return LogError(err)
	}
	if head < position {
		return LogError(fmt.Errorf("%w: the read model is at position %d of a log that ends at %d", ErrLogTruncated, position, head))
	}
	return g.holds(ctx, last)
}

// lastSeen returns the checkpoint and the last event that was applied.
func (g *Generation) lastSeen(ctx context.Context) (position events.Position, last seen, err error) {
	err = g.store.Reads().QueryRowContext(ctx, `SELECT position, seen_stream, seen_revision, seen_position, seen_id FROM checkpoint`).
		Scan(&position, &last.stream, &last.revision, &last.position, &last.id)
	return position, last, err
}

// holds returns ErrLogMismatch if the log does not have the last applied event at its
// position. It does not check events of texts, because those may have been removed.
func (g *Generation) holds(ctx context.Context, last seen) error {
	if last.stream == "" || events.IsText(last.stream) {
		return nil
	}
	r, found, err := g.log.At(ctx, last.stream, last.revision)
	if err != nil {
		return LogError(err)
	}
	if !found || r.ID.String() != last.id || r.Position != last.position {
		return LogError(fmt.Errorf("%w: it lacks event %d of %s with id %s at position %d", ErrLogMismatch, last.revision, last.stream, last.id, last.position))
	}
	return nil
}

// trusted is how long the result of a log check is reused. Stopping, restoring and
// starting a log takes longer.
const trusted = time.Second

// stillThisLog returns ErrLogMismatch if the log may have been replaced before a batch
// was read from it, for example because it was restored while the server ran. begun is
// the time at which reading the batch began.
func (g *Generation) stillThisLog(ctx context.Context, begun time.Time) error {
	if time.Since(g.checked) > trusted {
		_, last, err := g.lastSeen(ctx)
		if err == nil {
			err = g.holds(ctx, last)
		}
		if err != nil {
			return err
		}
	}
	g.checked = begun
	return nil
}

// moveCheckpoint moves the checkpoint to p and stores the last applied event, for
// CheckLog. It ignores events of texts, because those may be removed from the log.
func moveCheckpoint(ctx context.Context, tx readmodel.Tx, p events.Position, applied []events.Event) error {
	for len(applied) > 0 && events.IsText(applied[len(applied)-1].Stream) {
		applied = applied[:len(applied)-1]
	}
	if len(applied) == 0 {
		return tx.Exec(ctx, `UPDATE checkpoint SET position = $1 WHERE position < $1`, p)
	}
	last := applied[len(applied)-1]
	return tx.Exec(ctx, `UPDATE checkpoint SET position = $1, seen_stream = $2, seen_revision = $3, seen_position = $4, seen_id = $5 WHERE position < $1`,
		p, last.Stream, last.Revision, last.Position, last.ID.String())
}
