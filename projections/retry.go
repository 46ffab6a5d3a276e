package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"annals/events"
	"annals/events/fault"
)

// Retried is what came of taking up parked events again.
type Retried struct {
	Applied int // events
	// Barred counts streams whose events could be applied by now, but not late:
	// only a rebuild puts them where they belong.
	Barred int
}

// retry is one try at applying what is parked of a generation, stream by
// stream, each from its first event to the first that cannot be applied.
type retry struct {
	*generation
	*lateness
	streams []string // still to be tried
	Retried
}

// newRetry tries one stream, or all where stream is empty.
func newRetry(ctx context.Context, g *generation, stream string) (*retry, error) {
	parked, err := List(ctx, g.store.reads(), func(s *parkedStream) []any { return []any{&s.stream, &s.first} },
		`SELECT stream, min(position) AS first FROM parked WHERE $1 = '' OR stream = $1 GROUP BY stream ORDER BY first`, stream)
	if err != nil {
		return nil, fmt.Errorf("parked streams of %s: %w", g.Name(), err)
	}
	t := &retry{generation: g, lateness: newLateness(g.log, g.Projection, parked)}
	for _, s := range parked {
		t.streams = append(t.streams, s.stream)
	}
	return t, nil
}

// judge looks for barriers among all that the tables have passed, which may be
// further than a second store is.
func (t *retry) judge(ctx context.Context) error {
	if len(t.streams) == 0 {
		return nil
	}
	passed, err := t.store.checkpoint(ctx)
	if err == nil {
		err = t.look(ctx, passed)
	}
	return err
}

// retryBatch is how many events one transaction of a retry applies.
const retryBatch = 200

// try applies some events and reports whether there may be more. Nobody else
// may bring the generation forward meanwhile.
func (t *retry) try(ctx context.Context) (more bool, err error) {
	if len(t.streams) == 0 {
		return false, nil
	}
	if err := t.judge(ctx); err != nil {
		return false, err
	}
	stream := t.streams[0]
	waiting, err := List(ctx, t.store, func(p *events.Position) []any { return []any{p} },
		`SELECT position FROM parked WHERE stream = $1 ORDER BY position LIMIT CAST($2 AS INTEGER)`, stream, retryBatch)
	if err != nil {
		return false, err
	}
	done := len(waiting) == 0
	if done {
		delete(t.parked, stream)
	} else if done, err = t.take(ctx, stream, waiting); err != nil {
		return false, err
	}
	if done {
		t.streams = t.streams[1:]
	}
	if f, ok := t.Projection.(Follower); ok {
		if err := f.Flush(ctx, t.store, t.position); err != nil {
			return false, fmt.Errorf("second store of %s: %w", t.Name(), err)
		}
	}
	return len(t.streams) > 0, nil
}

// take applies events of a stream, or leaves them where they are, and reports
// whether nothing more can be done for the stream.
func (t *retry) take(ctx context.Context, stream string, waiting []events.Position) (done bool, err error) {
	if !t.late(stream) {
		e, err := t.event(ctx, waiting[0])
		if err != nil {
			return false, err
		}
		if e.Err == nil {
			t.Barred++
			return true, nil
		}
		waiting = waiting[:1] // no rebuild helps it; it is to tell why
	}
	applied, err := t.applyLate(ctx, waiting)
	var poison *poisonError
	if !errors.As(err, &poison) || ctx.Err() != nil {
		t.Applied += applied
		return false, err
	}
	applied, err = t.applyLate(ctx, waiting[:applied])
	if err == nil {
		t.Applied += applied
		err = t.store.Exec(ctx, `UPDATE parked SET reason = $2 WHERE position = $1`, poison.event.Position, poison.err.Error())
	}
	if err != nil {
		return false, err
	}
	t.logger.Warn("parked event cannot be applied yet", "stream", stream, "revision", poison.event.Revision, "position", poison.event.Position, "reason", poison.err)
	return true, nil
}

// applyLate applies parked events, all or none, and returns how many there were
// before the first that cannot be applied.
func (t *retry) applyLate(ctx context.Context, waiting []events.Position) (applied int, err error) {
	err = t.store.Transaction(ctx, func(tx Tx) error {
		for _, p := range waiting {
			e, err := t.event(ctx, p)
			// By now it may be of a type that is none of this projection's.
			if err == nil && (e.Err != nil || slices.Contains(t.Types(), e.Type)) {
				err = t.applyAlone(ctx, tx, e)
			}
			if err == nil {
				err = tx.Exec(ctx, `DELETE FROM parked WHERE position = $1`, p)
			}
			if err != nil {
				return err
			}
			applied++
		}
		return nil
	})
	return applied, err
}

// event reads one event of the log.
func (t *retry) event(ctx context.Context, at events.Position) (events.Event, error) {
	e, found, err := eventAt(ctx, t.generation.log, at)
	if err == nil && !found {
		err = fmt.Errorf("the log holds no event at position %d, which is parked", at)
	}
	return e, err
}

func eventAt(ctx context.Context, log *events.Log, at events.Position) (e events.Event, found bool, err error) {
	batch, _, err := log.Read(ctx, at-1, 1)
	if err != nil || len(batch) == 0 || batch[0].Position != at {
		return events.Event{}, false, err
	}
	return batch[0], true, nil
}

// retry takes up parked events of what serves, a few at a time, between what
// comes. What serves stays open meanwhile, and must not be replaced.
func (r *Runner) retry(ctx context.Context, stream string) (Retried, error) {
	g := r.acquire()
	defer r.release(g)
	t, err := newRetry(ctx, g, stream)
	if err == nil {
		err = t.judge(ctx) // most of it before it holds anybody up
	}
	for more := true; more && err == nil; {
		more, err = r.retrySome(ctx, t)
	}
	if err != nil {
		return Retried{}, err
	}
	return t.Retried, nil
}

func (r *Runner) retrySome(ctx context.Context, t *retry) (more bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if more, err = t.try(ctx); err == nil {
		r.tell(func() {}) // whoever waits for what was parked looks again
	}
	return more, err
}

// Retry takes up parked events of a read model again: those of one stream, or
// all where stream is empty. They are applied where that gives the tables that
// the log gives, and stay parked, the first of a stream with the reason of
// today, where they still cannot be applied. No server may hold the read
// models: a running one does so where AskRetry has asked for it.
func (o Options) Retry(ctx context.Context, name, stream string) (done Retried, err error) {
	p, err := named(name)
	if err != nil {
		return done, err
	}
	version, number, err := o.ControlOf(name).generation(ctx, name)
	if err != nil || number == 0 {
		return done, err
	}
	if version != p.Version() {
		return done, fault.Errorf(fault.Conflict, "what serves of %s is of version %d, and this program makes version %d; serve makes it anew", name, version, p.Version())
	}
	if err := o.home(p).there(ctx, generationName(p, number)); err != nil {
		return done, fmt.Errorf("what serves of %s cannot be opened; serve makes it anew: %w", name, err)
	}
	g, err := o.openGeneration(ctx, p, number)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	r := g.serve()
	return r.retry(ctx, stream)
}
