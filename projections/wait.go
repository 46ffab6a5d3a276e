package projections

import (
	"context"
	"fmt"
	"time"

	"annals/events"
)

// Position returns up to where the read model holds everything.
func (r *Runner) Position() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position
}

// Applied returns up to where the tables hold everything: further than Position
// where a second store is behind them.
func (r *Runner) Applied() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.applied
}

// Head returns the position of the log's last event, which the read model is on
// its way to.
func (r *Runner) Head(ctx context.Context) (events.Position, error) { return r.log.Head(ctx) }

// Age is Age in the log of the read model.
func (r *Runner) Age(ctx context.Context, after events.Position) (time.Duration, error) {
	return Age(ctx, r.log, after)
}

// Moved returns the position and a channel that is closed at the next change
// of it, or of what waits to be done later.
func (r *Runner) Moved() (events.Position, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position, r.moved
}

// Err returns why the read model can no longer be trusted, nil while it can.
func (r *Runner) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure != nil {
		return r.failure
	}
	return r.untrusted()
}

// Away returns an error of kind fault.Unavailable while the second store of the
// read model does not answer: the tables go on without it.
func (r *Runner) Away() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.away
}

// Wait returns nil once the read model has passed position p. It returns
// ctx's error, or one of kind fault.Unavailable when the loop has stopped, has no
// room on its disk, or waits for a second store that does not answer.
func (r *Runner) Wait(ctx context.Context, p events.Position) error {
	return r.wait(ctx, p, func() (events.Position, error) { return r.position, r.away })
}

// WaitTables is Wait for the tables alone, without their second store.
func (r *Runner) WaitTables(ctx context.Context, p events.Position) error {
	return r.wait(ctx, p, func() (events.Position, error) { return r.applied, nil })
}

// wait waits for the position that passed tells, which is called under mu.
func (r *Runner) wait(ctx context.Context, p events.Position, passed func() (at events.Position, away error)) error {
	r.Hurry(p)
	for {
		r.mu.Lock()
		position, away := passed()
		failure, full, moved := r.failure, r.full, r.moved
		if r.shared != nil && r.shared.stopped && failure == nil {
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
		case away != nil:
			return away
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to pass position %d: %w", r.Name(), p, ctx.Err())
		}
	}
}

// Hurry tells the loop that somebody waits for position p, so that it does not
// let more events gather first.
func (r *Runner) Hurry(p events.Position) {
	r.mu.Lock()
	r.wanted = max(r.wanted, p)
	r.mu.Unlock()
	select {
	case r.hurry <- struct{}{}:
	default:
	}
}

// tell changes what others are told, and wakes those who wait for that. Each
// caller changes only what it knows: the loop stops and goes on, while
// generations change and parked events are taken up.
func (r *Runner) tell(change func()) (next <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	close(r.moved)
	r.moved = make(chan struct{})
	return r.moved
}
