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
	"annals/events/sqldb"
	"annals/projections/cluster"
	"annals/projections/generation"
	"annals/projections/readmodel"
)

const (
	// batchDelay is how long the loop waits for more events if no reader waits. Without
	// it, a transaction for each append would use most of a core during an import.
	batchDelay = 40 * time.Millisecond
	// indexBatchDelay is the batchDelay of a projection with a search index, where each
	// batch adds a segment that has to be merged later.
	indexBatchDelay = 400 * time.Millisecond
	// indexPause is the longest pause between two attempts to reach the index.
	indexPause = 10 * time.Second
	// logPause is the longest pause between two attempts to reach the log.
	logPause = 2 * time.Second
	// fullPause is the longest pause between two attempts to write while the disk is
	// full.
	fullPause = 5 * time.Second
	// shrinkAfter is how long the loop must have no new events before caches are freed.
	shrinkAfter = 20 * time.Second
)

// Runner keeps one read model up to date with the log. Readers use a Runner, because the
// active generation may change at any time.
type Runner struct {
	readmodel.Projection // without its index, which belongs to a generation
	log                  *events.Log
	logger               *slog.Logger
	notAwaited           string // see readmodel.Model

	// corrupt receives the corruption that reads find. The Set rebuilds the read model
	// then.
	corrupt chan corruption

	// switching is locked while another generation is being activated. stepping is locked
	// while the active generation is written or replaced.
	switching sync.Mutex
	stepping  sync.Mutex

	mu          sync.Mutex
	serving     *generation.Generation // the active one; changed under stepping and mu
	position    events.Position
	wanted      events.Position // the furthest position that a reader waits for
	applied     events.Position // position of the tables; position is that of tables and index together
	moved       chan struct{}   // closed and replaced when readers should check again
	hurry       chan struct{}   // has one token after wanted has risen
	failure     error           // why the loop stopped, if it did
	full        error           // set while the disk is full
	searched    events.Position // how far Revokes has read the log
	unreachable error           // set while the index does not respond

	// Used by the loop: when to try the index again, and the pause before that attempt.
	// The pause is 0 while the index responds.
	retryAt time.Time
	pause   time.Duration
	// The position after which the log last signaled more events.
	signaled events.Position
	// Whether the loop stopped because the log is not the one that the read model was
	// built from.
	mismatch bool

	member   cluster.Member // this node in the cluster that shares the tables
	draining sync.WaitGroup // generations that still have readers
}

// newRunner returns a runner that serves a generation.
func newRunner(g *generation.Generation) *Runner {
	return &Runner{
		Projection: g.Projection, log: g.Log(), logger: g.Logger(), serving: g, position: g.Position(), applied: g.Applied(),
		signaled: -1, moved: make(chan struct{}), hurry: make(chan struct{}, 1), corrupt: make(chan corruption, 1), member: cluster.Alone{},
	}
}

// run applies the events of the log until ctx ends. If the store fails, Err returns an
// error and run retries. An event that cannot be applied is parked.
func (r *Runner) run(ctx context.Context) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		begun := time.Now()
		err := r.loop(ctx)
		if time.Since(begun) > time.Minute {
			pause = time.Second // the loop ran without an error for a while
		}
		if generation.IsOfLog(err) {
			pause = min(pause, logPause)
		}
		if ctx.Err() != nil {
			return nil
		}
		r.mismatch = generation.IsLogMismatch(err)
		_, replaced := r.Moved()
		if disk.IsFull(err) && !generation.IsOfLog(err) {
			pause = min(pause, fullPause)
			replaced = r.update(func() { r.full = r.fullError(err) })
		} else if !r.member.Shared() || !generation.IsTransient(err) || generation.IsOfLog(err) {
			replaced = r.update(func() { r.failure = r.stoppedError() })
		} else { // reads continue: another node may apply the events, or this node after the pause
			pause = time.Second
		}
		r.logger.Error("projection stopped", "error", err, "retry_in", pause)
		if err := r.reportStop(ctx, err); err != nil {
			r.logger.Warn("cannot notify other nodes that the projection has stopped", "error", err)
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

func (r *Runner) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		leads, err := r.lead(ctx)
		if err == nil && !leads {
			err = r.follow(ctx)
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
		waiting, err := r.doDeferred(ctx)
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

// step applies one batch and reports whether the log may have more events.
func (r *Runner) step(ctx context.Context) (more bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	g := r.serving
	position, applied := g.Position(), g.Applied()
	if more, err = g.Step(ctx); err == nil {
		err = r.flush(ctx)
	}
	if err == nil && (g.Position() > position || g.Applied() > applied || r.Err() != nil || r.Full() != nil) {
		if r.Full() != nil {
			r.logger.Info("the disk has free space again, and the projection continues")
		}
		err = r.reportStep(ctx)
		r.update(func() {
			r.position, r.applied, r.failure = max(r.position, g.Position()), max(r.applied, g.Applied()), nil
			r.full = nil
		})
	}
	return more, err
}

// flush updates the index to the position of the tables. It does nothing while it has to
// pause because the index did not respond.
func (r *Runner) flush(ctx context.Context) error {
	g := r.serving
	if _, follower := r.Projection.(readmodel.Follower); !follower {
		return g.Flush(ctx)
	}
	if g.Applied() == g.Position() && r.pause == 0 || time.Now().Before(r.retryAt) {
		return nil
	}
	err := g.Unreachable() // do not try to reach an unreachable index, because that would delay the tables
	if p, ok := g.Projection.(readmodel.Indexed); ok && err == nil {
		err = p.Postpone(ctx, g.Store())
	}
	if err == nil {
		err = g.Flush(ctx)
	}
	r.responds(err)
	return r.tolerateIndex(ctx, err)
}

// responds ends the pauses if err is nil: the index, or the service that makes vectors,
// responds.
func (r *Runner) responds(err error) {
	if err == nil && r.pause > 0 {
		r.logger.Info("the " + r.remote() + " responds again")
		r.pause = 0
		r.update(func() { r.unreachable = nil })
	}
}

// remote names what the projection needs besides its tables, for messages.
func (r *Runner) remote() string {
	if _, ok := r.Projection.(readmodel.Embedded); ok {
		return "embeddings endpoint"
	}
	return "search index"
}

// tolerateIndex returns nil for an error of an unreachable index, or of an unreachable
// service that makes vectors, so that the tables continue without it, and sets when to try
// it again. It returns any other error.
func (r *Runner) tolerateIndex(ctx context.Context, err error) error {
	var unavailable *fault.Error
	_, follower := r.Projection.(readmodel.Follower)
	_, embedded := r.Projection.(readmodel.Embedded)
	if !follower && !embedded || ctx.Err() != nil || generation.IsOfLog(err) || sqldb.IsReply(err) {
		return err
	}
	if !errors.As(err, &unavailable) || unavailable.Kind != fault.Unavailable {
		return err
	}
	r.pause = min(max(time.Second, 2*r.pause), indexPause)
	r.retryAt = time.Now().Add(r.pause)
	r.logger.Warn("the "+r.remote()+" does not respond", "error", err, "retry_in", r.pause)
	r.update(func() { r.unreachable = unavailable })
	return nil
}

// doDeferred does a piece of deferred work and reports whether there was any.
func (r *Runner) doDeferred(ctx context.Context) (more bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if _, follower := r.Projection.(readmodel.Follower); follower && r.pause > 0 {
		return false, nil // the next step tries to reach the index
	}
	if time.Now().Before(r.retryAt) {
		return false, nil
	}
	if more, err = r.serving.DoDeferred(ctx); more {
		r.update(func() {}) // wakes readers that wait until the deferred work is done
	}
	r.responds(err)
	return more && err == nil, r.tolerateIndex(ctx, err)
}

// shrink frees memory while there are no new events.
func (r *Runner) shrink(ctx context.Context) error {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	return r.serving.Store().Shrink(ctx)
}

// await waits for the next event.
func (r *Runner) await(ctx context.Context) error {
	applied, quiet := r.Applied(), shrinkAfter
	if r.signaled == applied { // after the log signaled an event, the last step found none
		if err := r.checkLog(ctx); err != nil {
			return err
		}
		r.linger(ctx)
	}
	if r.pause > 0 {
		quiet = time.Until(r.retryAt)
	} else if r.member.Shared() {
		quiet = pollLogEvery
	}
	soon, cancel := context.WithTimeout(ctx, quiet)
	err := r.log.Wait(soon, applied)
	timedOut := soon.Err() != nil
	cancel()
	if err != nil && timedOut {
		if r.pause > 0 {
			return nil // the next step tries to reach the index
		}
		if r.member.Shared() {
			return r.pollLog(ctx)
		}
		if err := r.shrink(ctx); err != nil {
			return err
		}
		return r.awaitAtRest(ctx, applied)
	}
	if err != nil {
		return generation.LogError(err)
	}
	r.signaled = applied
	return nil
}

// awaitAtRest waits for the next event without a time limit. A call that waits does not
// notice that the log was restored from a backup, so awaitAtRest checks the log from time
// to time. If the log is unreachable, it keeps waiting, because the event may still
// arrive.
func (r *Runner) awaitAtRest(ctx context.Context, applied events.Position) error {
	for {
		if err := r.checkLog(ctx); generation.IsLogMismatch(err) || err != nil && !generation.IsOfLog(err) {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, shrinkAfter)
		err := r.log.Wait(soon, applied)
		timedOut := soon.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			r.signaled = applied
			return nil
		case !timedOut:
			return generation.LogError(err)
		}
	}
}

// checkLog returns an error if the log is not the one that the read model was built from.
func (r *Runner) checkLog(ctx context.Context) error {
	g := r.acquire()
	defer g.Release()
	return g.CheckLog(ctx)
}

// linger pauses briefly, because the log has signaled an event that cannot be read yet.
func (r *Runner) linger(ctx context.Context) {
	select {
	case <-time.After(batchDelay):
	case <-ctx.Done():
	}
}

// gather waits for more events, unless a reader waits.
func (r *Runner) gather(ctx context.Context) {
	pause := batchDelay
	if _, ok := r.Projection.(readmodel.Follower); ok {
		pause = indexBatchDelay
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
	r.draining.Wait()
	return r.serving.Close()
}
