package projections

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
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

// Runner keeps one read model in step with the log. It is what readers hold:
// which generation serves may change under it at any time.
type Runner struct {
	Projection // as it was opened; what it holds besides is its generation's
	log        *events.Log
	logger     *slog.Logger

	// torn holds what was found damaged, until the Set has looked at it.
	torn chan harm

	// stepping is held while a generation is brought forward or replaced.
	stepping sync.Mutex

	mu       sync.Mutex
	serving  *generation // changed under both locks
	position events.Position
	wanted   events.Position // the furthest position that somebody waits for
	moved    chan struct{}   // closed and replaced when position or failure changes
	hurry    chan struct{}   // holds one token when wanted rises
	failure  error           // why the loop stopped, if it did
}

// newRunner lets one generation serve, which it opens by its name.
func newRunner(ctx context.Context, log *events.Log, p Projection, home Home, name string, logger *slog.Logger) (*Runner, error) {
	g, err := newGeneration(ctx, log, p, home, name, logger)
	if err != nil {
		return nil, err
	}
	return g.serve(), nil
}

func (g *generation) serve() *Runner {
	return &Runner{
		Projection: g.Projection, log: g.log, logger: g.logger, serving: g, position: g.position,
		moved: make(chan struct{}), hurry: make(chan struct{}, 1), torn: make(chan harm, 1),
	}
}

// Position returns up to where the read model holds everything.
func (r *Runner) Position() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.position
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
		stopped := fault.Errorf(fault.Unavailable, "the read model %s cannot be brought up to date at the moment", r.Name())
		replaced := r.tell(func() { r.failure = stopped })
		r.notice(r.Generation(), err)
		select {
		case <-ctx.Done():
			return nil
		case <-replaced:
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

// step applies one batch and reports whether the log may hold more.
func (r *Runner) step(ctx context.Context) (more bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	from := r.serving.position
	more, err = r.serving.step(ctx)
	if err == nil && (r.serving.position > from || r.Err() != nil) {
		r.tell(func() { r.position, r.failure = r.serving.position, nil }) // what failed works again
	}
	return more, err
}

// later does a piece of what waits behind everything new, and reports whether
// there was any.
func (r *Runner) later(ctx context.Context) (more bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if more, err = r.serving.later(ctx); more {
		r.tell(func() {}) // whoever waits for it to end looks again
	}
	return more, err
}

// rest gives back memory while nothing comes.
func (r *Runner) rest(ctx context.Context) error {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	return r.serving.store.rest(ctx)
}

// await waits for an event beyond those that were read.
func (r *Runner) await(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, restAfter)
	err := r.log.Wait(soon, r.Position())
	late := soon.Err() != nil
	cancel()
	if err != nil && late {
		if err := r.rest(ctx); err != nil {
			return err
		}
		err = r.log.Wait(ctx, r.Position())
	}
	if err != nil {
		return &logError{err}
	}
	return nil
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

func (r *Runner) close() error { return r.serving.close() }
