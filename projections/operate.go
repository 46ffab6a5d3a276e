package projections

import (
	"context"
	"errors"
	"slices"
	"sync"

	"annals/events"
	"annals/events/fault"
	"annals/projections/generation"
	"annals/projections/readmodel"
)

// States returns the state of every read model, as annals projections shows it.
func (s *Set) States(ctx context.Context) ([]State, error) {
	head, err := s.options.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	var all []State
	for _, m := range s.options.Models() {
		state, err := StateOf(ctx, s.options, m.Projection.Name(), head)
		if err != nil {
			return nil, err
		}
		all = append(all, state)
	}
	return all, nil
}

// Parked returns up to limit parked events of the active generation of a read model. more is the number of further
// ones.
func (s *Set) Parked(ctx context.Context, name string, limit int) (page []generation.ParkedEvent, more int, err error) {
	return s.options.Parked(ctx, name, "", 0, limit)
}

// CanRetry reports whether a rebuild may apply parked events of a read model, because this program can read them.
func (s *Set) CanRetry(ctx context.Context, name string) (bool, error) {
	return s.options.CanRetry(ctx, name, "")
}

// Rebuilding is the state of a rebuild that StartRebuild began.
type Rebuilding struct {
	Running bool // false if it has failed
	Done    events.Position
	Head    events.Position
	Error   string // why it failed
}

// rebuilds are the rebuilds that StartRebuild began. One runs at a time, because each needs the memory of a read model.
type rebuilds struct {
	mu      sync.Mutex
	ctx     context.Context // of Run; nil while the set does not run
	running sync.WaitGroup
	busy    bool
	states  map[string]Rebuilding
}

// begin lets rebuilds begin until ctx ends.
func (r *rebuilds) begin(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = ctx
}

// run waits for the rebuild that is in progress when ctx ends.
func (r *rebuilds) run(ctx context.Context) {
	<-ctx.Done()
	r.mu.Lock() // wait for a call of StartRebuild that has not seen the end of ctx
	r.mu.Unlock()
	r.running.Wait()
}

// Rebuilds returns the rebuilds that StartRebuild began and that have not ended, or that failed, by read model.
func (s *Set) Rebuilds() map[string]Rebuilding {
	s.rebuilds.mu.Lock()
	defer s.rebuilds.mu.Unlock()
	all := make(map[string]Rebuilding)
	for name, state := range s.rebuilds.states {
		all[name] = state
	}
	return all
}

// StartRebuild rebuilds read models one after another, in the background, like annals rebuild beside a running server. The active
// generations serve until the new ones are activated. If again is true, an interrupted rebuild is not continued, which
// annals projections --retry does for parked events. The error is fault.Conflict if a rebuild is running.
func (s *Set) StartRebuild(again bool, names ...string) error {
	var models []readmodel.Projection
	for _, name := range names {
		i := slices.IndexFunc(s.runners, func(r *Runner) bool { return r.Name() == name })
		if i < 0 {
			return fault.Errorf(fault.NotFound, "there is no read model %q", name)
		}
		models = append(models, s.runners[i].Projection)
	}
	r := &s.rebuilds
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ctx == nil || r.ctx.Err() != nil:
		return fault.Errorf(fault.Unavailable, "the server is stopping")
	case r.busy:
		return fault.Errorf(fault.Conflict, "a rebuild is running: try again when it has ended")
	}
	r.busy, r.states = true, make(map[string]Rebuilding)
	for _, name := range names {
		r.states[name] = Rebuilding{Running: true}
	}
	running := r.ctx
	r.running.Go(func() {
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.busy = false
		}()
		for _, p := range models {
			s.rebuildOne(running, p, again)
		}
	})
	return nil
}

// rebuildOne rebuilds a read model, and records how far it is.
func (s *Set) rebuildOne(ctx context.Context, p readmodel.Projection, again bool) {
	name, r, build := p.Name(), &s.rebuilds, s.options.Rebuild
	if again {
		build = s.options.RebuildFromStart
	}
	set := func(state Rebuilding) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.states[name] = state
	}
	number, err := build(ctx, name, func(done, head events.Position) { set(Rebuilding{Running: true, Done: done, Head: head}) })
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
	case err != nil:
		s.options.Logger.Error("read model cannot be rebuilt", "projection", name, "error", err)
		set(Rebuilding{Error: err.Error()})
	default: // watch activates it
		s.options.Logger.Info("read model rebuilt", "projection", name, "generation", number)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.states, name)
	}
}
