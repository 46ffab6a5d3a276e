package projections

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"annals/events"
	"annals/events/disk"
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
	// longestPause is the most between two tries of a second store that does not
	// answer.
	longestPause = 10 * time.Second
	// logPause is the most between two tries to read a log that does not answer.
	logPause = 2 * time.Second
	// fullPause is the most between two tries while the disk is full.
	fullPause = 5 * time.Second
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

	// switching is held while another generation is brought to serve, stepping
	// while one is brought forward or replaced.
	switching sync.Mutex
	stepping  sync.Mutex

	mu       sync.Mutex
	serving  *generation // changed under both locks
	position events.Position
	wanted   events.Position // the furthest position that somebody waits for
	applied  events.Position // what the tables have passed, which a search index follows
	moved    chan struct{}   // closed and replaced when one of these or failure changes
	hurry    chan struct{}   // holds one token when wanted rises
	failure  error           // why the loop stopped, if it did
	full     error           // why the read model stays behind, where its disk is full
	harmless events.Position // up to where the log withdraws nothing that a full disk keeps from the read model
	away     error           // why the second store is behind, if it does not answer

	// Of the loop: when the second store is asked again, and how long that was
	// put off; 0 while it answers.
	again time.Time
	pause time.Duration
	// The position beyond which the log said last that there is more.
	roused events.Position
	// Whether the loop stopped since the log is not the one that was applied.
	strange bool

	shared  *sharing       // nil where no other node has the tables
	leaving sync.WaitGroup // of generations that are still read
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
		Projection: g.Projection, log: g.log, logger: g.logger, serving: g, position: g.position, applied: g.applied,
		roused: -1, moved: make(chan struct{}), hurry: make(chan struct{}, 1), torn: make(chan harm, 1),
	}
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
		if ofLog(err) {
			pause = min(pause, logPause)
		}
		if ctx.Err() != nil {
			return nil
		}
		r.strange = ofOtherLog(err)
		_, replaced := r.Moved()
		if disk.IsFull(err) && !ofLog(err) {
			pause = min(pause, fullPause)
			replaced = r.tell(func() { r.full = r.fullError(err) })
		} else if r.shared == nil || !passing(err) || ofLog(err) {
			replaced = r.tell(func() { r.failure = r.stoppedError() })
		} else { // another node may go on, and this one can soon
			pause = time.Second
		}
		r.logger.Error("projection stopped", "error", err, "retry_in", pause)
		if err := r.tellStop(ctx, err); err != nil {
			r.logger.Warn("other nodes cannot be told that the projection stopped", "error", err)
		}
		r.notice(r.Generation(), err)
		r.yield()
		select {
		case <-ctx.Done():
			return nil
		case <-replaced:
		case <-time.After(pause):
		}
	}
}

func (r *Runner) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		leads, err := r.lead(ctx)
		if err == nil && !leads {
			err = r.trail(ctx)
		}
		if err != nil {
			return err
		}
		if !leads {
			continue
		}
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
	return ctx.Err()
}

// step applies one batch and reports whether the log may hold more.
func (r *Runner) step(ctx context.Context) (more bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	g := r.serving
	position, applied := g.position, g.applied
	if more, err = g.step(ctx); err == nil {
		err = r.flush(ctx)
	}
	if err == nil && (g.position > position || g.applied > applied || r.Err() != nil || r.Full() != nil) {
		if r.Full() != nil {
			r.logger.Info("there is room again, and the projection goes on")
		}
		err = r.tellStep(ctx)
		r.tell(func() { // what failed works again
			r.position, r.applied, r.failure = max(r.position, g.position), max(r.applied, g.applied), nil
			r.full = nil
		})
	}
	return more, err
}

// flush brings the second store to where the tables are, unless it was asked
// only just and did not answer.
func (r *Runner) flush(ctx context.Context) error {
	g := r.serving
	if g.applied == g.position && r.pause == 0 || time.Now().Before(r.again) {
		return nil
	}
	err := g.away() // to wait for it would hold the tables up
	if p, ok := g.Projection.(*Passages); ok && err == nil {
		err = p.postpone(ctx, g.store)
	}
	if err == nil {
		err = g.flush(ctx)
	}
	if err == nil && r.pause > 0 {
		r.logger.Info("the second store answers again")
		r.pause = 0
		r.tell(func() { r.away = nil })
	}
	return r.without(ctx, err)
}

// without lets the tables go on where their second store does not answer, which
// is asked again after a pause, and returns any other error.
func (r *Runner) without(ctx context.Context, err error) error {
	var unavailable *fault.Error
	if _, follower := r.Projection.(Follower); !follower || ctx.Err() != nil || ofLog(err) || ofTables(err) {
		return err
	}
	if !errors.As(err, &unavailable) || unavailable.Kind != fault.Unavailable {
		return err
	}
	r.pause = min(max(time.Second, 2*r.pause), longestPause)
	r.again = time.Now().Add(r.pause)
	r.logger.Warn("the second store does not answer", "error", err, "retry_in", r.pause)
	r.tell(func() { r.away = unavailable })
	return nil
}

// later does a piece of what waits behind everything new, and reports whether
// there was any.
func (r *Runner) later(ctx context.Context) (more bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if r.pause > 0 {
		return false, nil // the next step asks the second store first
	}
	if more, err = r.serving.later(ctx); more {
		r.tell(func() {}) // whoever waits for it to end looks again
	}
	return more && err == nil, r.without(ctx, err)
}

// rest gives back memory while nothing comes.
func (r *Runner) rest(ctx context.Context) error {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	return r.serving.store.rest(ctx)
}

// await waits for an event beyond those that were read.
func (r *Runner) await(ctx context.Context) error {
	applied, quiet := r.Applied(), restAfter
	if r.roused == applied { // and nothing came of it
		if err := r.knowLog(ctx); err != nil {
			return err
		}
		r.linger(ctx)
	}
	if r.pause > 0 {
		quiet = time.Until(r.again)
	} else if r.shared != nil {
		quiet = askEvery
	}
	soon, cancel := context.WithTimeout(ctx, quiet)
	err := r.log.Wait(soon, applied)
	late := soon.Err() != nil
	cancel()
	if err != nil && late {
		if r.pause > 0 {
			return nil // the second store is asked again
		}
		if r.shared != nil {
			return r.askLog(ctx)
		}
		if err := r.rest(ctx); err != nil {
			return err
		}
		return r.awaitAtRest(ctx, applied)
	}
	if err != nil {
		return &logError{err}
	}
	r.roused = applied
	return nil
}

// awaitAtRest waits for an event however long none comes. Waiting does not tell
// that a log was put back, so it is looked at now and then; one that does not
// answer may do so before anything comes.
func (r *Runner) awaitAtRest(ctx context.Context, applied events.Position) error {
	for {
		if err := r.knowLog(ctx); ofOtherLog(err) || err != nil && !ofLog(err) {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, restAfter)
		err := r.log.Wait(soon, applied)
		late := soon.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			r.roused = applied
			return nil
		case !late:
			return &logError{err}
		}
	}
}

// knowLog returns an error where the log is not the one that was applied.
func (r *Runner) knowLog(ctx context.Context) error {
	g := r.acquire()
	defer r.release(g)
	return g.ofThisLog(ctx)
}

// linger lets a log show what it said that it holds.
func (r *Runner) linger(ctx context.Context) {
	select {
	case <-time.After(gather):
	case <-ctx.Done():
	}
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
		if r.awaited() > 0 {
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

func (r *Runner) close() error {
	r.leaving.Wait()
	return r.serving.close()
}
