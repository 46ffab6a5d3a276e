// Package generation creates, fills, rebuilds and opens generations. A generation is one
// complete set of a read model's tables, with its search index. The package also applies
// batches of events, parks events that cannot be applied, and checks that the log is the
// one that the tables were built from.
//
// The package imports the tables, the control store, and what readmodel registers.
// Package projections decides which generation a running server reads, and when events
// are applied.
package generation

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
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/tables"
)

const (
	// BatchSize is the maximum number of events in one read of the log.
	BatchSize = 2000
	// advanceEvents and fillEvents are how many events CatchUp applies to the tables before
	// it updates an index, and an index that is faster with a few very large changes.
	advanceEvents = 4_000
	fillEvents    = 20_000
)

// Generation is one complete set of a projection's tables, with its search index if
// it has one. Only one goroutine may write it at a time.
type Generation struct {
	readmodel.Projection
	number int // 0 if it was opened by New and not by a method of Options
	log    *events.Log
	store  tables.Store
	logger *slog.Logger

	parked   map[string]bool // streams with parked events
	position events.Position
	leading  bool            // this process has the lock, and position is the tables' position
	applied  events.Position // position of the tables; position is that of tables and index together
	checked  time.Time       // when the log was last checked

	reads sync.WaitGroup // reads in progress
}

// New opens the tables with the given name and creates them if they do not exist.
func New(ctx context.Context, log *events.Log, p readmodel.Projection, home tables.Home, name string, logger *slog.Logger) (*Generation, error) {
	s, err := home.Open(ctx, name, p.Name())
	if err != nil {
		return nil, err
	}
	g := &Generation{Projection: p, log: log, store: s, logger: logger.With("projection", p.Name())}
	if err := g.reload(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("read the checkpoint of %s: %w", p.Name(), err), s.Close())
	}
	return g, nil
}

// reload reads the position and the parked streams from the tables.
func (g *Generation) reload(ctx context.Context) (err error) {
	if g.parked, err = parkedStreams(ctx, g.store); err == nil {
		g.position, err = g.store.Checkpoint(ctx)
	}
	if err == nil {
		err = g.CheckLog(ctx)
	}
	if f, ok := g.Projection.(readmodel.Follower); ok && err == nil {
		var second events.Position
		second, err = f.Position(ctx, g.store)
		// If the index is behind the tables, the tables receive some events again. That
		// is safe: Apply of a Follower may be repeated.
		g.position = min(g.position, second)
	}
	g.applied = g.position
	return err
}

// Lead reports whether this process leads: it has the lock of the tables, and has read
// their position since it acquired the lock. The previous leader may have moved that
// position.
func (g *Generation) Lead(ctx context.Context) (leads bool, err error) {
	leads, err = g.store.TryLock(ctx)
	if g.leading = g.leading && leads; err != nil || !leads || g.leading {
		return leads, err
	}
	err = g.reload(ctx)
	g.leading = err == nil
	return g.leading, err
}

// MustLead returns an error of kind fault.Unavailable unless this process leads.
func (g *Generation) MustLead(ctx context.Context) error {
	leads, err := g.Lead(ctx)
	if err == nil && !leads {
		return fault.Errorf(fault.Unavailable, "write to %s: it is locked by another process", g.Name())
	}
	return err
}

// ErrLogTruncated means that the log lacks events that a read model has applied. The read
// model is not rebuilt: that would hide the loss, and the events may still be restored.
var ErrLogTruncated = errors.New("events are missing from the log")

// batch is a part of the log that ends at the position through: those events in it that
// the projection reads.
type batch struct {
	events  []events.Event
	through events.Position
	err     error
}

// read returns the events after one position, up to another position or the maximum size
// of a batch.
func (g *Generation) read(ctx context.Context, after, to events.Position) batch {
	all, through, err := g.log.Read(ctx, after, BatchSize, g.Types()...)
	if err != nil {
		return batch{err: LogError(err)}
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

// Step applies one batch to the tables and reports whether the log may have more events.
// The caller then calls Flush.
func (g *Generation) Step(ctx context.Context) (more bool, err error) {
	if err := g.MustLead(ctx); err != nil {
		return false, err
	}
	begun := time.Now()
	b := g.read(ctx, g.applied, math.MaxInt64)
	if b.err != nil || b.through <= g.applied {
		return false, b.err
	}
	if err := g.stillThisLog(ctx, begun); err != nil {
		return false, err
	}
	return len(b.events) > 0, g.apply(ctx, b)
}

func (g *Generation) apply(ctx context.Context, b batch) (err error) {
	defer func() { g.leading = g.leading && err == nil }()
	if err := g.ApplyBatch(ctx, b.events, b.through); err != nil {
		return err
	}
	failpoint.Here(failpoint.BatchCommitted)
	g.applied = b.through
	return nil
}

// Flush updates the search index, if there is one, to the position of the tables.
func (g *Generation) Flush(ctx context.Context) error {
	if f, ok := g.Projection.(readmodel.Follower); ok {
		if err := f.Flush(ctx, g.store, g.applied); err != nil {
			return fmt.Errorf("update the search index of %s: %w", g.Name(), err)
		}
	}
	g.position = g.applied
	return nil
}

// CatchUp applies the log exactly up to position p. It reports its position after each
// batch to progress, unless progress is nil. It reads the next batch while it applies the
// current one.
func (g *Generation) CatchUp(ctx context.Context, p events.Position, progress func(events.Position)) error {
	if err := g.MustLead(ctx); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	ahead, from := make(chan batch), g.position
	g.applied = from // the index may lack later events
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
			return LogError(fmt.Errorf("the log ends at %d, before position %d", g.applied, p))
		}
		err := g.apply(ctx, b)
		switch {
		case err != nil:
		case b.through >= p:
			err = g.Flush(ctx)
		case b.through-flushed >= g.advanceEvery():
			err, flushed = g.advance(ctx), b.through
		}
		if err != nil {
			return err
		}
		if progress != nil {
			progress(g.applied)
		}
	}
	return nil
}

// advanceEvery returns after how many positions of the tables CatchUp updates the index.
func (g *Generation) advanceEvery() events.Position {
	p, ok := g.Projection.(readmodel.Indexed)
	switch {
	case !ok:
		return 0
	case p.Fills():
		return fillEvents
	}
	return advanceEvents
}

// advance is like Flush, but the index may be updated later, while the tables receive
// further events.
func (g *Generation) advance(ctx context.Context) error {
	p, ok := g.Projection.(readmodel.Indexed)
	if !ok {
		return g.Flush(ctx)
	}
	if err := p.Advance(ctx, g.store, g.applied); err != nil {
		return fmt.Errorf("update the search index of %s: %w", g.Name(), err)
	}
	return nil
}

// readAhead sends the batches after one position and up to another, until ctx ends. If
// the log ends before the second position, the last batch is empty.
func (g *Generation) readAhead(ctx context.Context, after, to events.Position, out chan<- batch) {
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

// FinishDeferred does all deferred work, such as indexing large documents.
func (g *Generation) FinishDeferred(ctx context.Context) error {
	for {
		if more, err := g.DoDeferred(ctx); !more || err != nil {
			return err
		}
	}
}

// DoDeferred does a piece of deferred work and reports whether there was any.
func (g *Generation) DoDeferred(ctx context.Context) (more bool, err error) {
	d, ok := g.Projection.(readmodel.Deferrer)
	if !ok {
		return false, nil
	}
	if more, err = d.Later(ctx, g.store); err != nil {
		return false, fmt.Errorf("do the deferred work of %s: %w", g.Name(), err)
	}
	return more, nil
}

// Number returns the number of the generation, or 0 if it was opened by New and not by a
// method of Options.
func (g *Generation) Number() int { return g.number }

// Position returns the position up to which the tables and the index are up to date.
func (g *Generation) Position() events.Position { return g.position }

// Applied returns the position up to which the tables are up to date.
func (g *Generation) Applied() events.Position { return g.applied }

// Store returns the tables.
func (g *Generation) Store() tables.Store { return g.store }

// Log returns the log that the generation is built from.
func (g *Generation) Log() *events.Log { return g.log }

// Logger returns the logger of the generation.
func (g *Generation) Logger() *slog.Logger { return g.logger }

// Leads reports whether this process led at the last call of Lead.
func (g *Generation) Leads() bool { return g.leading }

// Invalidate makes the next call of Lead read the tables again.
func (g *Generation) Invalidate() { g.leading = false }

// TryLock acquires the lock of the tables, unless another process has the lock. It
// reports whether this process has the lock.
func (g *Generation) TryLock(ctx context.Context) (held bool, err error) { return g.store.TryLock(ctx) }

// Yield releases the lock, so that another process can lead.
func (g *Generation) Yield() {
	g.leading = false
	g.store.Unlock()
}

// Refresh reads from the tables the position up to which the leader has applied events.
func (g *Generation) Refresh(ctx context.Context) (err error) {
	g.applied, err = g.store.Checkpoint(ctx)
	return err
}

// Retain keeps the generation open until Release.
func (g *Generation) Retain() { g.reads.Add(1) }

// Release ends one call of Retain.
func (g *Generation) Release() { g.reads.Done() }

// Drain waits until all calls of Retain have ended. Retain must not be called again.
func (g *Generation) Drain() { g.reads.Wait() }

// Unreachable returns an error of kind fault.Unavailable while the index is on a
// server that does not respond.
func (g *Generation) Unreachable() error {
	if p, ok := g.Projection.(readmodel.Indexed); ok {
		if remote, ok := p.Index().(searchindex.Remote); ok {
			return remote.Unreachable()
		}
	}
	return nil
}

// Index returns the search index of a projection that has one.
func (g *Generation) Index() searchindex.Engine { return g.Projection.(readmodel.Indexed).Index() }

// Close closes the index and the tables.
func (g *Generation) Close() error {
	var err error
	if f, ok := g.Projection.(readmodel.Follower); ok {
		err = f.Close()
	}
	return errors.Join(err, g.store.Close())
}
