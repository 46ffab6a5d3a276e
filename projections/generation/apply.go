package generation

import (
	"context"
	"errors"
	"fmt"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/sqldb"
	"annals/projections/readmodel"
)

// ApplyBatch applies a batch in one transaction. If that fails because of an event, it
// applies the events one by one and parks those that cannot be applied.
func (g *Generation) ApplyBatch(ctx context.Context, batch []events.Event, through events.Position) error {
	err := g.store.Transaction(ctx, func(tx readmodel.Tx) error {
		for _, e := range batch {
			if err := g.applyOne(ctx, tx, e); err != nil {
				return err
			}
		}
		failpoint.Here(failpoint.EventsApplied)
		return moveCheckpoint(ctx, tx, through, batch)
	})
	var poison *PoisonError
	if !errors.As(err, &poison) && !sqldb.IsRejected(err) || ctx.Err() != nil {
		return err
	}
	return g.applySingly(ctx, batch, through)
}

// PoisonError is returned if an event cannot be applied. Unlike an error of the store, it
// is not transient.
type PoisonError struct {
	event events.Event
	err   error
}

func (e *PoisonError) Error() string {
	return fmt.Sprintf("event %d of %s (%s): %v", e.event.Revision, e.event.Stream, e.event.Type, e.err)
}

func (e *PoisonError) Unwrap() error { return e.err }

func (g *Generation) applyOne(ctx context.Context, tx readmodel.Tx, e events.Event) error {
	if g.parked[e.Stream] {
		return park(ctx, tx, e, "waits for an earlier event of its stream")
	}
	if e.Err != nil {
		return &PoisonError{e, e.Err}
	}
	return blame(e, g.Apply(ctx, tx, e))
}

// blame attributes an error to an event, unless it is an error of the store.
func blame(e events.Event, err error) error {
	if err == nil || storeFault(err) {
		return err
	}
	return &PoisonError{e, err}
}

func park(ctx context.Context, tx readmodel.Tx, e events.Event, reason string) error {
	return tx.Exec(ctx, `INSERT INTO parked (position, stream, revision, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		e.Position, e.Stream, e.Revision, reason)
}

const applyAttempts = 3

// applySingly applies every event in its own transaction and parks those that cannot
// be applied. It never parks an event of the folder tree, because permissions depend
// on it. Such an event stops the read model.
func (g *Generation) applySingly(ctx context.Context, batch []events.Event, through events.Position) error {
	for _, e := range batch {
		err := g.applyPatiently(ctx, e)
		var poison *PoisonError
		if errors.As(err, &poison) && ctx.Err() == nil && e.Stream != events.Folders {
			err = g.pass(ctx, e, poison.err.Error())
		}
		if err != nil {
			return err
		}
	}
	return g.store.Transaction(ctx, func(tx readmodel.Tx) error { return moveCheckpoint(ctx, tx, through, batch) })
}

// applyPatiently applies an event, and retries if that fails.
func (g *Generation) applyPatiently(ctx context.Context, e events.Event) (err error) {
	for attempt := range applyAttempts {
		err = g.store.Transaction(ctx, func(tx readmodel.Tx) error {
			if err := g.applyOne(ctx, tx, e); err != nil {
				return err
			}
			if err := blame(e, g.store.Flush(ctx)); err != nil {
				return err
			}
			return moveCheckpoint(ctx, tx, e.Position, []events.Event{e})
		})
		if !errors.As(err, new(*PoisonError)) || ctx.Err() != nil {
			break
		}
		g.logger.Warn("event cannot be applied", "attempt", attempt+1, "error", err)
	}
	return err
}

// pass parks an event and moves the checkpoint past it.
func (g *Generation) pass(ctx context.Context, e events.Event, reason string) error {
	err := g.store.Transaction(ctx, func(tx readmodel.Tx) error {
		return errors.Join(park(ctx, tx, e, reason), moveCheckpoint(ctx, tx, e.Position, []events.Event{e}))
	})
	if err != nil {
		return err
	}
	g.parked[e.Stream] = true
	g.logger.Error("event parked", "stream", e.Stream, "revision", e.Revision, "position", e.Position, "correlation_id", e.Metadata.Correlation, "reason", reason)
	return nil
}
