package projections

import (
	"context"
	"fmt"
	"time"

	"annals/events"
)

// Position returns the position up to which the tables and the index are up to date.
func (r *Runner) Position() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position
}

// Applied returns the position up to which the tables are up to date.
func (r *Runner) Applied() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.applied
}

// Head returns the position of the last event of the log.
func (r *Runner) Head(ctx context.Context) (events.Position, error) { return r.log.Head(ctx) }

// Age returns the age of the first event after a position in the log of the read model.
func (r *Runner) Age(ctx context.Context, after events.Position) (time.Duration, error) {
	return Age(ctx, r.log, after)
}

// Moved returns the position, and a channel that is closed when the position has changed
// or deferred work was done.
func (r *Runner) Moved() (events.Position, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position, r.moved
}

// Err returns an error if the read model must not be read at the moment.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		return r.failure
	}
	return r.stale()
}

// Unreachable returns an error of kind fault.Unavailable while the index of the read
// model does not respond. In that time the tables are still updated.
func (r *Runner) Unreachable() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unreachable
}

// Wait returns nil when the read model has passed position p. It returns the error of
// ctx, or an error of kind fault.Unavailable if the read model has stopped, its disk is
// full, or its index is unreachable.
func (r *Runner) Wait(ctx context.Context, p events.Position) error {
	return r.wait(ctx, p, func() (events.Position, error) { return r.position, r.unreachable })
}

// WaitTables is like Wait, but waits only for the tables, not for their index.
func (r *Runner) WaitTables(ctx context.Context, p events.Position) error {
	return r.wait(ctx, p, func() (events.Position, error) { return r.applied, nil })
}

// wait waits until the position that passed returns is at least p. It calls passed
// under mu.
func (r *Runner) wait(ctx context.Context, p events.Position, passed func() (at events.Position, unreachable error)) error {
	r.Hurry(p)
	for {
		r.mu.Lock()
		position, unreachable := passed()
		failure, full, moved := r.failure, r.full, r.moved
		if r.member.Stopped() && failure == nil {
			failure = r.stoppedError()
		}
		r.mu.Unlock()
		switch {
		case failure != nil:
			return failure
		case position >= p:
			return nil
		case full != nil:
			return full
		case unreachable != nil:
			return unreachable
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to pass position %d: %w", r.Name(), p, ctx.Err())
		}
	}
}

// Hurry notifies the loop that a reader waits for position p. The loop then applies
// events without waiting for more of them.
func (r *Runner) Hurry(p events.Position) {
	r.mu.Lock()
	r.wanted = max(r.wanted, p)
	r.mu.Unlock()
	select {
	case r.hurry <- struct{}{}:
	default:
	}
}

// update calls change under mu and wakes waiting readers. The loop and a cut-over may
// call update concurrently, so they must not set the same fields.
func (r *Runner) update(change func()) (next <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.moved)
	r.moved = make(chan struct{})
	return r.moved
}
