package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"

	"annals/events"
	"annals/events/failpoint"
)

const batchSize = 2000

// generation is one complete set of a projection's tables, with its second
// store where it has one. One goroutine at a time brings it forward.
type generation struct {
	Projection
	number int // 0 where the projection has no other
	log    *events.Log
	store  *store
	logger *slog.Logger

	parked   map[string]bool // streams with a parked event
	position events.Position

	// Of the Runner, under its lock: the reads that are under way, and a channel
	// that is closed when the last has ended after another generation took over.
	readers int
	idle    chan struct{}
}

// newGeneration opens the tables at path, which it makes where they are not
// there.
func newGeneration(ctx context.Context, log *events.Log, p Projection, path string, logger *slog.Logger) (*generation, error) {
	s, err := openStore(ctx, path, p.Name())
	if err != nil {
		return nil, err
	}
	g := &generation{Projection: p, log: log, store: s, logger: logger.With("projection", p.Name()), idle: make(chan struct{})}
	if g.parked, err = s.parkedStreams(ctx); err == nil {
		g.position, err = s.checkpoint(ctx)
	}
	if err == nil {
		err = g.ofThisLog(ctx)
	}
	if f, ok := p.(Follower); ok && err == nil {
		var second events.Position
		second, err = f.Position(ctx, s)
		// Whichever is behind decides: applying again changes nothing.
		g.position = min(g.position, second)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint of %s: %w", p.Name(), err), s.close())
	}
	return g, nil
}

// errAhead says that a log lacks what a read model was made of: an error of the
// log, which may be put back as it was. Made anew, the read model would hide it.
var errAhead = errors.New("events are missing from the log")

// ofThisLog returns errAhead where the read model has passed more than the log
// holds: the log was lost, cut off, put back, or is another.
func (g *generation) ofThisLog(ctx context.Context) error {
	head, err := g.log.Head(ctx)
	if err != nil {
		return &logError{err}
	}
	if head < g.position {
		return &logError{fmt.Errorf("%w: the read model is at position %d of a log that ends at %d", errAhead, g.position, head)}
	}
	return g.seenHere(ctx)
}

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

// step applies one batch and reports whether the log may hold more.
func (g *generation) step(ctx context.Context) (more bool, err error) {
	b := g.read(ctx, g.position, math.MaxInt64)
	if b.err != nil || b.through <= g.position {
		return false, b.err
	}
	return len(b.events) > 0, g.apply(ctx, b)
}

func (g *generation) apply(ctx context.Context, b batch) error {
	if err := g.applyAll(ctx, b.events, b.through); err != nil {
		return err
	}
	failpoint.Here(failpoint.EventsPassed)
	if f, ok := g.Projection.(Follower); ok {
		if err := f.Flush(ctx, g.store, b.through); err != nil {
			return fmt.Errorf("second store of %s: %w", g.Name(), err)
		}
	}
	g.position = b.through
	return nil
}

// reach applies what the log holds up to a position, and nothing beyond. told
// hears of every step. While a batch is applied the next one is read.
func (g *generation) reach(ctx context.Context, p events.Position, told func(events.Position)) error {
	reading, stop := context.WithCancel(ctx)
	ahead, from := make(chan batch), g.position
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(ahead)
		g.readAhead(reading, from, p, ahead)
	})
	defer reader.Wait()
	defer stop()
	for g.position < p {
		b, more := <-ahead
		switch {
		case !more:
			return ctx.Err()
		case b.err != nil:
			return b.err
		case b.through == g.position:
			return &logError{fmt.Errorf("the log ends at %d, before position %d", g.position, p)}
		}
		if err := g.apply(ctx, b); err != nil {
			return err
		}
		told(g.position)
	}
	return nil
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

// applyAll applies a batch in one transaction, or, where an event of it fails,
// event by event, so that the one that fails is parked alone.
func (g *generation) applyAll(ctx context.Context, batch []events.Event, through events.Position) error {
	err := g.store.Transaction(ctx, func(tx Tx) error {
		for _, e := range batch {
			if err := g.applyOne(ctx, tx, e); err != nil {
				return err
			}
		}
		failpoint.Here(failpoint.EventsApplied)
		return moveCheckpoint(ctx, tx, through, batch)
	})
	var poison *poisonError
	if !errors.As(err, &poison) || ctx.Err() != nil {
		return err
	}
	return g.applySingly(ctx, batch, through)
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

func (g *generation) applyOne(ctx context.Context, tx Tx, e events.Event) error {
	if g.parked[e.Stream] {
		return park(ctx, tx, e, "waits behind an earlier event of its stream")
	}
	return g.applyNow(ctx, tx, e)
}

// applyNow applies an event though its stream may be parked.
func (g *generation) applyNow(ctx context.Context, tx Tx, e events.Event) error {
	if e.Err != nil {
		return &poisonError{e, e.Err}
	}
	if err := g.Apply(ctx, tx, e); err != nil && !storeFault(err) {
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
func (g *generation) applySingly(ctx context.Context, batch []events.Event, through events.Position) error {
	for _, e := range batch {
		var err error
		for attempt := range applyAttempts {
			err = g.store.Transaction(ctx, func(tx Tx) error {
				if err := g.applyOne(ctx, tx, e); err != nil {
					return err
				}
				return moveCheckpoint(ctx, tx, e.Position, []events.Event{e})
			})
			var poison *poisonError
			if !errors.As(err, &poison) || ctx.Err() != nil {
				break
			}
			g.logger.Warn("event cannot be applied", "attempt", attempt+1, "error", err)
		}
		var poison *poisonError
		switch {
		case err == nil:
		case !errors.As(err, &poison), ctx.Err() != nil, e.Stream == events.Folders:
			return err
		default:
			reason := poison.err.Error()
			err := g.store.Transaction(ctx, func(tx Tx) error {
				return errors.Join(park(ctx, tx, e, reason), moveCheckpoint(ctx, tx, e.Position, []events.Event{e}))
			})
			if err != nil {
				return err
			}
			g.parked[e.Stream] = true
			g.logger.Error("event parked", "stream", e.Stream, "revision", e.Revision, "position", e.Position, "correlation_id", e.Metadata.Correlation, "reason", reason)
		}
	}
	return g.store.Transaction(ctx, func(tx Tx) error { return moveCheckpoint(ctx, tx, through, batch) })
}

func (g *generation) close() error {
	var err error
	if f, ok := g.Projection.(Follower); ok {
		err = f.Close()
	}
	return errors.Join(err, g.store.close())
}
