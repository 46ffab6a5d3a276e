package projections

import (
	"context"
	"errors"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	// watchEvery is how often a server looks for generations that are ready, and
	// for what it is asked: that comes from other processes, which cannot tell it.
	watchEvery = 250 * time.Millisecond
	// watchAtLeast is the same while what is there cannot be taken up.
	watchAtLeast = 16 * time.Second
)

// watch lets generations serve as they become ready, and takes up parked events
// where that is asked for, until ctx ends.
func (s *Set) watch(ctx context.Context) {
	pause := watchEvery
	look := time.NewTicker(pause)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		found, err := s.options.readySpares(ctx)
		waits := err != nil
		if err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("cannot look for rebuilt read models", "error", err)
		}
		for _, spare := range found {
			for _, r := range s.All() {
				if r.Name() == spare.projection && r.Version() == spare.version {
					waits = s.options.takeUp(ctx, r, spare) || waits
				}
			}
		}
		if err := s.retryAsked(ctx); err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("parked events cannot be taken up yet", "error", err)
			waits = true
		}
		if pause = min(2*pause, watchAtLeast); !waits {
			pause = watchEvery
		}
		look.Reset(pause)
	}
}

// readySpares returns the generations of all projections that are ready to serve.
func (o Options) readySpares(ctx context.Context) (found []spare, err error) {
	for _, control := range o.controls() {
		some, failure := control.readySpares(ctx)
		found, err = append(found, some...), errors.Join(err, failure)
	}
	return found, err
}

// takeUp lets a ready generation serve. One that cannot is deleted, and what
// serves goes on; where the fault is not its own it waits for another time. Of
// nodes that share a read model the one that leads does so, or any where none can.
func (o Options) takeUp(ctx context.Context, r *Runner, s spare) (waits bool) {
	if may, err := r.mayReplace(ctx); err != nil || !may {
		return false
	}
	defer r.letGo()
	r.switching.Lock()
	defer r.switching.Unlock()
	g, err := o.openMade(ctx, r.Projection, s.generation)
	if err == nil {
		err = g.mustLead(ctx)
	}
	if err == nil {
		if err = r.replace(ctx, g, func() error { return o.ControlOf(s.projection).serve(ctx, s) }); err == nil {
			o.Logger.Info("another generation serves", "projection", s.projection, "generation", s.generation)
			o.clear(ctx, r.Projection)
			return false
		}
	}
	if g != nil {
		if closing := g.close(); closing != nil {
			o.Logger.Warn("generation cannot be closed", "projection", s.projection, "generation", s.generation, "error", closing)
		}
	}
	switch {
	case ctx.Err() != nil:
		return true // the next start takes it up
	case fault.Is(err, fault.Conflict):
		o.Logger.Warn("rebuilt read model was given up before it could serve", "projection", s.projection, "generation", s.generation, "error", err)
		return false
	case passing(err):
		o.Logger.Warn("rebuilt read model cannot serve yet", "projection", s.projection, "generation", s.generation, "error", err)
		return true
	}
	o.Logger.Error("rebuilt read model cannot serve and is deleted", "projection", s.projection, "generation", s.generation, "error", err)
	if err := o.giveUp(ctx, r.Projection, s); err != nil {
		o.Logger.Warn("generation cannot be removed", "projection", s.projection, "generation", s.generation, "error", err)
	}
	return false
}

// inspect looks at a read model that was too large for it when it was opened.
func (s *Set) inspect(ctx context.Context, r *Runner) {
	g := r.acquire()
	defer r.release(g)
	r.notice(g.number, g.store.inspect(ctx))
}

// mend makes generations of a read model anew that turn out to be damaged while
// they serve, each once: until the next serves it is found damaged again.
func (s *Set) mend(ctx context.Context, r *Runner) {
	for mended := 0; ; {
		select {
		case <-ctx.Done():
			return
		case h := <-r.torn:
			if h.generation == mended {
				continue
			}
			mended = h.generation
			s.options.Logger.Error("read model is damaged and is made anew", "projection", r.Name(), "generation", h.generation, "error", h.err)
			s.renew(ctx, r.Projection)
		}
	}
}

// renew makes a read model anew that serves, being of an older version or as far
// as it can be read.
func (s *Set) renew(ctx context.Context, p Projection) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		_, err := s.options.rebuild(ctx, p, func(done, head events.Position) {})
		if err == nil || ctx.Err() != nil {
			return
		}
		s.options.Logger.Error("read model cannot be made anew", "projection", p.Name(), "error", err, "retry_in", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
