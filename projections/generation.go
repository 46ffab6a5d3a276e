package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
)

const (
	batchSize = 2000
	// fillEvents is how far tables get ahead of a second store that takes much
	// at once.
	fillEvents = 20_000
)

// generation is one complete set of a projection's tables, with its second
// store where it has one. One goroutine at a time brings it forward.
type generation struct {
	Projection
	number int // 0 where the projection has no other
	log    *events.Log
	store  store
	logger *slog.Logger

	parked   map[string]bool // streams with a parked event
	position events.Position
	leading  bool            // what is known of the tables is what they hold
	applied  events.Position // up to where the tables are, which the second store follows
	known    time.Time       // when the log was last known to be the one that was applied

	// Of the Runner, under its lock: the reads that are under way, and a channel
	// that is closed when the last has ended after another generation took over.
	readers int
	idle    chan struct{}
}

// newGeneration opens tables by the name of their generation, which it makes
// where they are not there.
func newGeneration(ctx context.Context, log *events.Log, p Projection, home Home, name string, logger *slog.Logger) (*generation, error) {
	s, err := home.open(ctx, name, p.Name())
	if err != nil {
		return nil, err
	}
	g := &generation{Projection: p, log: log, store: s, logger: logger.With("projection", p.Name()), idle: make(chan struct{})}
	if err := g.reload(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint of %s: %w", p.Name(), err), s.close())
	}
	return g, nil
}

// reload learns how far the tables are.
func (g *generation) reload(ctx context.Context) (err error) {
	if g.parked, err = parkedStreams(ctx, g.store); err == nil {
		g.position, err = g.store.checkpoint(ctx)
	}
	if err == nil {
		err = g.ofThisLog(ctx)
	}
	if f, ok := g.Projection.(Follower); ok && err == nil {
		var second events.Position
		second, err = f.Position(ctx, g.store)
		// Whichever is behind decides: applying again changes nothing.
		g.position = min(g.position, second)
	}
	g.applied = g.position
	return err
}

// lead reports whether this process is the one that brings the tables forward.
// Whoever begins to goes on from where they are by then: another process may
// have brought them there.
func (g *generation) lead(ctx context.Context) (leads bool, err error) {
	leads, err = g.store.lead(ctx)
	if g.leading = g.leading && leads; err != nil || !leads || g.leading {
		return leads, err
	}
	err = g.reload(ctx)
	g.leading = err == nil
	return g.leading, err
}

// mustLead is lead where nothing else can be done.
func (g *generation) mustLead(ctx context.Context) error {
	leads, err := g.lead(ctx)
	if err == nil && !leads {
		return fault.Errorf(fault.Unavailable, "another process brings %s forward", g.Name())
	}
	return err
}

// errAhead says that a log lacks what a read model was made of: an error of the
// log, which may be put back as it was. Made anew, the read model would hide it.
var errAhead = errors.New("events are missing from the log")

// batch is what was read of the log: the events that the projection reads, of
// all up to through.
type batch struct {
	events  []events.Event
	through events.Position
	err     error
}

// read returns a batch from after a position, of nothing beyond another.
func (g *generation) read(ctx context.Context, after, to events.Position) batch {
	all, through, err := g.log.Read(ctx, after, batchSize, g.Types()...)
	if err != nil {
		return batch{err: &logError{err}}
	}
	if through > to {
		beyond := func(e events.Event) bool { return e.Position > to }
		if i := slices.IndexFunc(all, beyond); i >= 0 {
			all = all[:i]
		}
		through = to
	}
	return batch{events: all, through: through}
}

// step applies one batch to the tables and reports whether the log may hold
// more. flush is to follow.
func (g *generation) step(ctx context.Context) (more bool, err error) {
	if err := g.mustLead(ctx); err != nil {
		return false, err
	}
	asked := time.Now()
	b := g.read(ctx, g.applied, math.MaxInt64)
	if b.err != nil || b.through <= g.applied {
		return false, b.err
	}
	if err := g.stillThisLog(ctx, asked); err != nil {
		return false, err
	}
	return len(b.events) > 0, g.apply(ctx, b)
}

// apply brings the tables forward.
func (g *generation) apply(ctx context.Context, b batch) (err error) {
	defer func() { g.leading = g.leading && err == nil }()
	if err := g.applyAll(ctx, b.events, b.through); err != nil {
		return err
	}
	failpoint.Here(failpoint.EventsPassed)
	g.applied = b.through
	return nil
}

// flush brings the second store, where there is one, to where the tables are.
func (g *generation) flush(ctx context.Context) error {
	if f, ok := g.Projection.(Follower); ok {
		if err := f.Flush(ctx, g.store, g.applied); err != nil {
			return fmt.Errorf("second store of %s: %w", g.Name(), err)
		}
	}
	g.position = g.applied
	return nil
}

// reach applies what the log holds up to a position, and nothing beyond. told
// hears of every step. While a batch is applied the next one is read.
func (g *generation) reach(ctx context.Context, p events.Position, told func(events.Position)) error {
	if err := g.mustLead(ctx); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	ahead, from := make(chan batch), g.position
	g.applied = from // what the second store may lack is applied again, which changes nothing
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(ahead)
		g.readAhead(reading, from, p, ahead)
	})
	defer reader.Wait()
	defer stop()
	for flushed := from; g.position < p; {
		b, more := <-ahead
		switch {
		case !more:
			return ctx.Err()
		case b.err != nil:
			return b.err
		case b.through == g.applied:
			return &logError{fmt.Errorf("the log ends at %d, before position %d", g.applied, p)}
		}
		err := g.apply(ctx, b)
		if err == nil && (b.through >= p || b.through-flushed >= g.flushEvery()) {
			err, flushed = g.flush(ctx), b.through
		}
		if err != nil {
			return err
		}
		told(g.applied)
	}
	return nil
}

// flushEvery is how far the tables may get before their second store follows,
// while no one reads it: one that takes much at once is given much.
func (g *generation) flushEvery() events.Position {
	if p, ok := g.Projection.(*Passages); ok && p.fills() {
		return fillEvents
	}
	return 0
}

// readAhead gives out the log from after a position up to another, until ctx
// ends. A batch that leads no further is the last.
func (g *generation) readAhead(ctx context.Context, after, to events.Position, out chan<- batch) {
	for more := after < to; more; {
		b := g.read(ctx, after, to)
		more = b.err == nil && b.through > after && b.through < to
		after = b.through
		select {
		case out <- b:
		case <-ctx.Done():
			return
		}
	}
}

// finish does all that waits behind everything new.
func (g *generation) finish(ctx context.Context) error {
	for {
		if more, err := g.later(ctx); !more || err != nil {
			return err
		}
	}
}

// later does a piece of what waits behind everything new, and reports whether
// there was any.
func (g *generation) later(ctx context.Context) (more bool, err error) {
	d, ok := g.Projection.(Deferrer)
	if !ok {
		return false, nil
	}
	if more, err = d.Later(ctx, g.store); err != nil {
		return false, fmt.Errorf("what waits in %s: %w", g.Name(), err)
	}
	return more, nil
}

func (g *generation) close() error {
	var err error
	if f, ok := g.Projection.(Follower); ok {
		err = f.Close()
	}
	return errors.Join(err, g.store.close())
}
