package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	batchSize = 2000
	// gather is how long the loop lets events come together while nobody
	// waits for it: a transaction for every append would cost most of a
	// core during an import.
	gather = 40 * time.Millisecond
	// gatherFollower is the same for a projection with a second store, where
	// every batch makes a segment that must be merged later.
	gatherFollower = 400 * time.Millisecond
	// restAfter is how long nothing must come before caches are emptied.
	restAfter = 20 * time.Second
)

// Runner keeps one read model in step with the log.
type Runner struct {
	Projection
	log    *events.Log
	store  *store
	logger *slog.Logger
	path   string

	parked map[string]bool // streams with a parked event; the loop's own

	mu       sync.Mutex
	position events.Position
	wanted   events.Position // the furthest position that somebody waits for
	moved    chan struct{}   // closed and replaced when position or failure changes
	hurry    chan struct{}   // holds one token when wanted rises
	failure  error           // why the loop stopped, if it did
}

// newRunner opens the read model at path.
func newRunner(ctx context.Context, log *events.Log, p Projection, path string, logger *slog.Logger) (*Runner, error) {
	s, err := openStore(ctx, path, p.Name())
	if err != nil {
		return nil, err
	}
	r := &Runner{
		Projection: p, log: log, store: s, path: path, logger: logger.With("projection", p.Name()),
		moved: make(chan struct{}), hurry: make(chan struct{}, 1),
	}
	if r.parked, err = s.parkedStreams(ctx); err == nil {
		r.position, err = s.checkpoint(ctx)
	}
	if err == nil {
		err = r.ofThisLog(ctx)
	}
	if f, ok := p.(Follower); ok && err == nil {
		var second events.Position
		second, err = f.Position(ctx, s)
		// Whichever is behind decides: applying again changes nothing.
		r.position = min(r.position, second)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint of %s: %w", p.Name(), err), s.close())
	}
	return r, nil
}

// ofThisLog returns an error where the read model has passed more than the log
// holds: it was made of another log, or of this one before it was put back.
func (r *Runner) ofThisLog(ctx context.Context) error {
	head, err := r.log.Head(ctx)
	if err == nil && head < r.position {
		err = fmt.Errorf("the read model is at position %d of a log that ends at %d", r.position, head)
	}
	return err
}

// DB returns the read model's tables, for reading only.
func (r *Runner) DB() *sql.DB { return r.store.read }

// Position returns up to where the read model holds everything.
func (r *Runner) Position() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position
}

// Head returns the position of the log's last event, which the read model is on
// its way to.
func (r *Runner) Head(ctx context.Context) (events.Position, error) { return r.log.Head(ctx) }

// Next returns the log's first event after a position, of whatever type; found
// is false where there is none yet.
func (r *Runner) Next(ctx context.Context, after events.Position) (e events.Event, found bool, err error) {
	batch, _, err := r.log.Read(ctx, after, 1)
	if err != nil || len(batch) == 0 {
		return events.Event{}, false, err
	}
	return batch[0], true, nil
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
	return r.failure
}

// Wait returns nil once the read model has passed position p. It returns
// ctx's error, or one of kind fault.Unavailable when the loop has stopped.
func (r *Runner) Wait(ctx context.Context, p events.Position) error {
	r.Hurry(p)
	for {
		r.mu.Lock()
		position, failure, moved := r.position, r.failure, r.moved
		r.mu.Unlock()
		switch {
		case failure != nil:
			return failure
		case position >= p:
			return nil
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

func (r *Runner) advance(p events.Position, failure error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.position = p
	r.failure = failure
	close(r.moved)
	r.moved = make(chan struct{})
}

// run follows the log until ctx ends. A fault of the read model's own store is
// told by Err and tried again; an event that cannot be applied is parked.
func (r *Runner) run(ctx context.Context) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		begun := time.Now()
		err := r.follow(ctx)
		if time.Since(begun) > time.Minute {
			pause = time.Second // it went well for a while
		}
		if ctx.Err() != nil {
			return nil
		}
		r.logger.Error("projection stopped", "error", err, "retry_in", pause)
		r.advance(r.Position(), fault.Errorf(fault.Unavailable, "the read model %s cannot be brought up to date at the moment", r.Name()))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (r *Runner) follow(ctx context.Context) error {
	for {
		more, err := r.step(ctx)
		if err != nil {
			return err
		}
		waiting, err := r.later(ctx)
		if err != nil {
			return err
		}
		if more || waiting {
			continue
		}
		if err := r.await(ctx); err != nil {
			return err
		}
		r.gather(ctx)
	}
}

// later does a piece of what waits behind everything new, and reports whether
// there was any.
func (r *Runner) later(ctx context.Context) (more bool, err error) {
	d, ok := r.Projection.(Deferrer)
	if !ok {
		return false, nil
	}
	if more, err = d.Later(ctx, r.store); err != nil {
		return false, fmt.Errorf("what waits in %s: %w", r.Name(), err)
	}
	if more {
		r.advance(r.Position(), nil) // whoever waits for it to end looks again
	}
	return more, nil
}

// await waits for an event beyond those that were read.
func (r *Runner) await(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, restAfter)
	err := r.log.Wait(soon, r.Position())
	late := soon.Err() != nil
	cancel()
	if err == nil || !late {
		return err
	}
	if err := r.store.rest(ctx); err != nil {
		return err
	}
	return r.log.Wait(ctx, r.Position())
}

// gather lets events come together, unless somebody waits for them.
func (r *Runner) gather(ctx context.Context) {
	pause := gather
	if _, ok := r.Projection.(Follower); ok {
		pause = gatherFollower
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		r.mu.Lock()
		awaited := r.wanted > r.position
		r.mu.Unlock()
		if awaited {
			return
		}
		select {
		case <-r.hurry:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// step applies one batch and reports whether the log may hold more.
func (r *Runner) step(ctx context.Context) (more bool, err error) {
	from := r.Position()
	batch, through, err := r.log.Read(ctx, from, batchSize, r.Types()...)
	if err != nil {
		return false, err
	}
	if through == from {
		if r.Err() != nil {
			r.advance(from, nil) // what failed works again
		}
		return false, nil
	}
	if err := r.applyAll(ctx, batch, through); err != nil {
		return false, err
	}
	if f, ok := r.Projection.(Follower); ok {
		if err := f.Flush(ctx, r.store, through); err != nil {
			return false, fmt.Errorf("second store of %s: %w", r.Name(), err)
		}
	}
	r.advance(through, nil)
	return len(batch) > 0, nil
}

// applyAll applies a batch in one transaction, or, where an event of it fails,
// event by event, so that the one that fails is parked alone.
func (r *Runner) applyAll(ctx context.Context, batch []events.Event, through events.Position) error {
	err := r.store.Transaction(ctx, func(tx Tx) error {
		for _, e := range batch {
			if err := r.applyOne(ctx, tx, e); err != nil {
				return err
			}
		}
		return moveCheckpoint(ctx, tx, through)
	})
	var poison *poisonError
	if !errors.As(err, &poison) || ctx.Err() != nil {
		return err
	}
	return r.applySingly(ctx, batch, through)
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

func (r *Runner) applyOne(ctx context.Context, tx Tx, e events.Event) error {
	if r.parked[e.Stream] {
		return park(ctx, tx, e, "waits behind an earlier event of its stream")
	}
	if e.Err != nil {
		return &poisonError{e, e.Err}
	}
	if err := r.Apply(ctx, tx, e); err != nil && !storeFault(err) {
		return &poisonError{e, err}
	} else if err != nil {
		return err
	}
	return nil
}

func park(ctx context.Context, tx Tx, e events.Event, reason string) error {
	return tx.Exec(ctx, `INSERT INTO parked (position, stream, revision, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		e.Position, e.Stream, e.Revision, reason)
}

const applyAttempts = 3

// applySingly gives every event a transaction of its own. Permissions hang on
// the folder tree, so an event of it is never passed over.
func (r *Runner) applySingly(ctx context.Context, batch []events.Event, through events.Position) error {
	for _, e := range batch {
		var err error
		for attempt := range applyAttempts {
			err = r.store.Transaction(ctx, func(tx Tx) error {
				if err := r.applyOne(ctx, tx, e); err != nil {
					return err
				}
				return moveCheckpoint(ctx, tx, e.Position)
			})
			var poison *poisonError
			if !errors.As(err, &poison) || ctx.Err() != nil {
				break
			}
			r.logger.Warn("event cannot be applied", "attempt", attempt+1, "error", err)
		}
		var poison *poisonError
		switch {
		case err == nil:
		case !errors.As(err, &poison), ctx.Err() != nil, e.Stream == events.Folders:
			return err
		default:
			reason := poison.err.Error()
			err := r.store.Transaction(ctx, func(tx Tx) error {
				return errors.Join(park(ctx, tx, e, reason), moveCheckpoint(ctx, tx, e.Position))
			})
			if err != nil {
				return err
			}
			r.parked[e.Stream] = true
			r.logger.Error("event parked", "stream", e.Stream, "revision", e.Revision, "position", e.Position, "correlation_id", e.Metadata.Correlation, "reason", reason)
		}
	}
	return r.store.Transaction(ctx, func(tx Tx) error { return moveCheckpoint(ctx, tx, through) })
}

func moveCheckpoint(ctx context.Context, tx Tx, p events.Position) error {
	return tx.Exec(ctx, `UPDATE checkpoint SET position = $1 WHERE position < $1`, p)
}

func (r *Runner) close() error {
	var err error
	if f, ok := r.Projection.(Follower); ok {
		err = f.Close()
	}
	return errors.Join(err, r.store.close())
}
