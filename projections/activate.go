package projections

import (
	"context"
	"errors"
	"time"

	"annals/events/fault"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
)

const (
	// watchEvery is how often a server polls for generations that other processes have
	// rebuilt.
	watchEvery = 250 * time.Millisecond
	// watchPause is the longest pause between two polls while a generation cannot be
	// activated.
	watchPause = 16 * time.Second
)

// watch activates generations as they become ready, until ctx ends.
func (s *Set) watch(ctx context.Context) {
	pause := watchEvery
	poll := time.NewTicker(pause)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		found, err := readyGenerations(ctx, s.options)
		waits := err != nil
		if err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("cannot look for rebuilt read models", "error", err)
		}
		for _, ready := range found {
			for _, r := range s.All() {
				if r.Name() == ready.Projection && r.Version() == ready.Version {
					resume := s.suspendBeside(r.Name())
					waits = activate(ctx, s.options, r, ready) || waits
					resume()
				}
			}
		}
		if pause = min(2*pause, watchPause); !waits {
			pause = watchEvery
		}
		poll.Reset(pause)
	}
}

// readyGenerations returns the generations of all projections that are ready.
func readyGenerations(ctx context.Context, o generation.Options) (found []control.Generation, err error) {
	for _, control := range o.Controls() {
		some, failure := control.AllReady(ctx)
		found, err = append(found, some...), errors.Join(err, failure)
	}
	return found, err
}

// activate makes a ready generation active, or deletes it if it is corrupt. waits reports
// whether the error is transient, so that activate should be called again. If nodes share
// a read model, only the leader activates. If the read model has stopped and there is no
// leader, any node may.
func activate(ctx context.Context, o generation.Options, r *Runner, s control.Generation) (waits bool) {
	if may, err := r.mayReplace(ctx); err != nil || !may {
		return false
	}
	defer r.endReplace()
	r.switching.Lock()
	defer r.switching.Unlock()
	g, err := o.OpenExisting(ctx, r.Projection, s.Number)
	if err == nil {
		err = g.MustLead(ctx)
	}
	if err == nil {
		if err = r.replace(ctx, g, func() error { return o.ControlOf(s.Projection).Activate(ctx, s) }); err == nil {
			o.Logger.Info("generation activated", "projection", s.Projection, "generation", s.Number)
			o.RemoveGivenUp(ctx, r.Projection)
			return false
		}
	}
	if g != nil {
		if closing := g.Close(); closing != nil {
			o.Logger.Warn("generation cannot be closed", "projection", s.Projection, "generation", s.Number, "error", closing)
		}
	}
	switch {
	case ctx.Err() != nil:
		return true // it becomes active at the next start
	case fault.Is(err, fault.Conflict):
		o.Logger.Warn("rebuilt generation was given up before it became active", "projection", s.Projection, "generation", s.Number, "error", err)
		return false
	case generation.IsTransient(err):
		o.Logger.Warn("rebuilt generation cannot become active yet", "projection", s.Projection, "generation", s.Number, "error", err)
		return true
	}
	o.Logger.Error("rebuilt generation cannot become active and is deleted", "projection", s.Projection, "generation", s.Number, "error", err)
	if err := o.GiveUp(ctx, r.Projection, s); err != nil {
		o.Logger.Warn("generation cannot be removed", "projection", s.Projection, "generation", s.Number, "error", err)
	}
	return false
}

// check looks for corruption in a read model that was too large to be checked when it was
// opened.
func (s *Set) check(ctx context.Context, r *Runner) {
	g := r.acquire()
	defer g.Release()
	r.notice(g.Number(), g.Store().Check(ctx))
}

// repair rebuilds an active generation in which corruption is found. It rebuilds each
// generation only once: reads keep reporting the same corruption until the rebuilt
// generation is active.
func (s *Set) repair(ctx context.Context, r *Runner) {
	for rebuilt := 0; ; {
		select {
		case <-ctx.Done():
			return
		case h := <-r.corrupt:
			if h.generation == rebuilt {
				continue
			}
			rebuilt = h.generation
			s.options.Logger.Error("read model is corrupt and is rebuilt", "projection", r.Name(), "generation", h.generation, "error", h.err)
			s.rebuild(ctx, r.Projection)
		}
	}
}

// rebuild rebuilds a read model whose active generation is corrupt or of an older
// version. It retries until ctx ends.
func (s *Set) rebuild(ctx context.Context, p readmodel.Projection) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		_, err := s.options.Make(ctx, p, nil)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.options.Logger.Error("read model cannot be rebuilt", "projection", p.Name(), "error", err, "retry_in", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
