package projections

import (
	"context"
	"errors"
	"fmt"

	"annals/events"
	"annals/events/failpoint"
)

// applyAll applies a batch in one transaction, or, where an event of it fails,
// event by event, so that the one that fails is parked alone.
func (g *generation) applyAll(ctx context.Context, batch []events.Event, through events.Position) error {
	err := g.store.Transaction(ctx, func(tx Tx) error {
		for _, e := range batch {
			if err := g.applyOne(ctx, tx, e); err != nil {
				return err
			}
		}
		failpoint.Here(failpoint.EventsApplied)
		return moveCheckpoint(ctx, tx, through, batch)
	})
	var poison *poisonError
	if !errors.As(err, &poison) && !refused(err) || ctx.Err() != nil {
		return err
	}
	return g.applySingly(ctx, batch, through)
}

// poisonError marks an event that cannot be applied, apart from faults of the
// store, which pass and say nothing of the event.
type poisonError struct {
	event events.Event
	err   error
}

func (e *poisonError) Error() string {
	return fmt.Sprintf("event %d of %s (%s): %v", e.event.Revision, e.event.Stream, e.event.Type, e.err)
}

func (e *poisonError) Unwrap() error { return e.err }

func (g *generation) applyOne(ctx context.Context, tx Tx, e events.Event) error {
	if g.parked[e.Stream] {
		return park(ctx, tx, e, "waits behind an earlier event of its stream")
	}
	return g.applyNow(ctx, tx, e)
}

// applyNow applies an event though its stream may be parked.
func (g *generation) applyNow(ctx context.Context, tx Tx, e events.Event) error {
	if e.Err != nil {
		return &poisonError{e, e.Err}
	}
	return blame(e, g.Apply(ctx, tx, e))
}

// applyAlone is applyNow where nobody else is to blame for what fails.
func (g *generation) applyAlone(ctx context.Context, tx Tx, e events.Event) error {
	if err := g.applyNow(ctx, tx, e); err != nil {
		return err
	}
	return blame(e, g.store.settle(ctx))
}

// blame marks an event that cannot be applied.
func blame(e events.Event, err error) error {
	if err == nil || storeFault(err) {
		return err
	}
	return &poisonError{e, err}
}

func park(ctx context.Context, tx Tx, e events.Event, reason string) error {
	return tx.Exec(ctx, `INSERT INTO parked (position, stream, revision, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		e.Position, e.Stream, e.Revision, reason)
}

const applyAttempts = 3

// applySingly gives every event a transaction of its own, and parks those that
// cannot be applied. Permissions hang on the folder tree, so an event of it is
// never passed over.
func (g *generation) applySingly(ctx context.Context, batch []events.Event, through events.Position) error {
	for _, e := range batch {
		err := g.applyPatiently(ctx, e)
		var poison *poisonError
		if errors.As(err, &poison) && ctx.Err() == nil && e.Stream != events.Folders {
			err = g.pass(ctx, e, poison.err.Error())
		}
		if err != nil {
			return err
		}
	}
	return g.store.Transaction(ctx, func(tx Tx) error { return moveCheckpoint(ctx, tx, through, batch) })
}

// applyPatiently applies an event and moves on; one that cannot be applied is
// tried again.
func (g *generation) applyPatiently(ctx context.Context, e events.Event) (err error) {
	for attempt := range applyAttempts {
		err = g.store.Transaction(ctx, func(tx Tx) error {
			if err := g.applyOne(ctx, tx, e); err != nil {
				return err
			}
			if err := blame(e, g.store.settle(ctx)); err != nil {
				return err
			}
			return moveCheckpoint(ctx, tx, e.Position, []events.Event{e})
		})
		if !errors.As(err, new(*poisonError)) || ctx.Err() != nil {
			break
		}
		g.logger.Warn("event cannot be applied", "attempt", attempt+1, "error", err)
	}
	return err
}

// pass parks an event and moves on.
func (g *generation) pass(ctx context.Context, e events.Event, reason string) error {
	err := g.store.Transaction(ctx, func(tx Tx) error {
		return errors.Join(park(ctx, tx, e, reason), moveCheckpoint(ctx, tx, e.Position, []events.Event{e}))
	})
	if err != nil {
		return err
	}
	g.parked[e.Stream] = true
	g.logger.Error("event parked", "stream", e.Stream, "revision", e.Revision, "position", e.Position, "correlation_id", e.Metadata.Correlation, "reason", reason)
	return nil
}
