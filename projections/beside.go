package projections

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"annals/events/fault"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
)

const (
	// besidePause is how long a generation has to be unused before another one may be
	// opened in its place.
	besidePause = 10 * time.Second
	// besideIdle is how long an unused generation stays open.
	besideIdle = 2 * time.Minute
)

// besides has the generation that is open beside the active one. There is at most one, since
// each needs the memory and the work of a read model.
type besides struct {
	mu        sync.Mutex
	ctx       context.Context // of Run; nil while the set does not run
	open      *beside         // may be nil
	suspended string          // name of the read model of which a generation is becoming active; "" if none
}

// beside is an inactive generation that applies events and can be read.
type beside struct {
	*Runner
	number  int
	readers sync.RWMutex // read-locked by each reader; those begin under besides.mu
	used    atomic.Int64 // when a reader last began or ended, in Unix nanoseconds
	end     func()       // ends the loop
}

func (b *beside) touch() { b.used.Store(time.Now().UnixNano()) }

// unused reports whether there is no reader, and has been none for a while.
func (b *beside) unused(since time.Duration) bool {
	if time.Since(time.Unix(0, b.used.Load())) < since || !b.readers.TryLock() {
		return false
	}
	b.readers.Unlock()
	return true
}

// Beside returns a runner for an inactive generation of a read model, so that it can be
// compared with the active one. The generation must be held, or kept since the last cut-over.
// It is brought up to date with the log: wait for a position before reading. It is never the
// active one: release must be called soon, because a cut-over waits for it. The error is
// fault.NotFound if there is no such generation, and fault.Unavailable if another one is open.
func (s *Set) Beside(ctx context.Context, name string, number int) (r *Runner, release func(), err error) {
	b := &s.beside
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ctx == nil || b.ctx.Err() != nil:
		return nil, nil, fault.Errorf(fault.Unavailable, "the server is stopping")
	case b.suspended == name:
		return nil, nil, fault.Errorf(fault.Unavailable, "another generation of %s is becoming active: try again later", name)
	}
	if b.open == nil || b.open.Name() != name || b.open.number != number {
		p, err := s.readable(ctx, name, number)
		if err != nil {
			return nil, nil, err
		}
		if b.open != nil {
			if !b.open.unused(besidePause) {
				return nil, nil, fault.Errorf(fault.Unavailable, "generation %d of %s is in use, and only one can be beside the active one: try again later", b.open.number, b.open.Name())
			}
			b.open.shut()
			b.open = nil
		}
		if b.open, err = s.openBeside(ctx, p, number); err != nil {
			return nil, nil, err
		}
	}
	open := b.open
	open.readers.RLock()
	open.touch()
	return open.Runner, func() {
		open.touch()
		open.readers.RUnlock()
	}, nil
}

// readable returns the projection of an inactive generation that can be read.
func (s *Set) readable(ctx context.Context, name string, number int) (readmodel.Projection, error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return nil, err
	}
	found, err := s.inactive(ctx, name, number)
	switch {
	case err != nil:
		return nil, err
	case found.State == control.Ready:
		return nil, fault.Errorf(fault.Unavailable, "generation %d of %s is becoming active: try again later", number, name)
	case found.State != control.Held && found.State != control.Kept:
		return nil, fault.Errorf(fault.NotFound, "generation %d of %s is neither active, nor held, nor kept: annals projections lists the generations", number, name)
	case !generation.Readable(p, found.Version):
		return nil, fault.Errorf(fault.NotFound, "generation %d of %s is of version %d, which this program cannot read", number, name, found.Version)
	}
	return p, nil
}

// openBeside opens an inactive generation and begins to apply events to it.
func (s *Set) openBeside(ctx context.Context, p readmodel.Projection, number int) (*beside, error) {
	name, confirmed := p.Name(), time.Now()
	g, err := s.options.OpenExisting(ctx, p, number)
	if err != nil {
		if !fault.Is(err, fault.Unavailable) {
			err = fault.Hide(fault.Unavailable, "the generation cannot be opened at the moment", err)
		}
		return nil, err
	}
	r := newRunner(g)
	if c := s.options.ControlOf(name); c.Shared() {
		// If several nodes have the generation open, the one with its lock applies the
		// events. No version is readable, because this node must not lead the active one.
		none := func(int) bool { return false }
		r.member = cluster.NewNode(name, none, c, cluster.NotifierOf(s.options.HomeOf(p)), r.logger, confirmed)
	}
	running, stop := context.WithCancel(s.beside.ctx)
	var loop sync.WaitGroup
	loop.Go(func() { _ = r.run(running) }) // returns nil when running ends
	r.logger.Info("generation opened beside the active one", "generation", number)
	return &beside{Runner: r, number: number, end: func() { stop(); loop.Wait() }}, nil
}

// inactive returns an inactive generation. Its state is "" if there is none.
func (s *Set) inactive(ctx context.Context, name string, number int) (found control.Generation, err error) {
	all, err := s.options.ControlOf(name).Inactive(ctx, name)
	for _, g := range all {
		if g.Number == number {
			found = g
		}
	}
	return found, err
}

func (b *besides) begin(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx = ctx
}

// suspendBeside closes the generation of a read model that is open beside the active one, and
// refuses to open one until resume is called. A generation that becomes active, or is
// removed, must not be open.
func (s *Set) suspendBeside(name string) (resume func()) {
	b := &s.beside
	b.mu.Lock()
	b.suspended = name
	open := b.open
	b.mu.Unlock()
	if open != nil && open.Name() == name {
		s.closeIf(open)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.suspended = ""
	}
}

// shut waits for the readers of a generation and closes it. No reader may begin anymore.
func (b *beside) shut() {
	b.readers.Lock()
	defer b.readers.Unlock()
	b.end()
	b.closeDrained(b.serving)
	b.logger.Info("generation beside the active one closed", "generation", b.number)
}

// closeUnused closes the generation beside the active one when it is no longer used, or when
// another process gives it up or wants it to become active. It closes it also when ctx ends.
func (s *Set) closeUnused(ctx context.Context) {
	b := &s.beside
	poll := time.NewTicker(watchEvery)
	defer poll.Stop()
	for stopping := false; !stopping; {
		select {
		case <-poll.C:
		case <-ctx.Done():
			stopping = true
		}
		b.mu.Lock()
		open := b.open
		b.mu.Unlock()
		if open == nil {
			continue
		}
		unused := stopping || open.unused(besideIdle)
		if !unused {
			begun := time.Now()
			found, err := s.inactive(ctx, open.Name(), open.number)
			if unused = err == nil && found.State != control.Held && found.State != control.Kept; err == nil && !unused {
				open.confirm(begun, false)
			}
		}
		if unused {
			s.closeIf(open)
		}
	}
}

// closeIf closes a generation if it is still open.
func (s *Set) closeIf(open *beside) {
	b := &s.beside
	b.mu.Lock()
	found := b.open == open
	if found {
		b.open = nil
	}
	b.mu.Unlock()
	if found {
		open.shut()
	}
}
