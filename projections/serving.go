package projections

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/tables"
)

// DB reads the tables of a read model. Every statement reads the generation that is
// active when the statement begins.
type DB struct{ r *Runner }

// DB returns the tables of the read model for reading.
func (r *Runner) DB() *DB { return &DB{r: r} }

// QueryContext is like QueryContext of sql.DB. The rows can be read to their end even if
// another generation becomes active, because database/sql keeps their connection open.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	g := db.r.acquire()
	defer g.Release()
	rows, err := g.Store().Reads().QueryContext(ctx, query, args...)
	db.r.notice(g.Number(), err)
	return rows, err
}

// QueryRowContext is like QueryRowContext of sql.DB.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) readmodel.Row {
	g := db.r.acquire()
	defer g.Release()
	return tables.MapRow(g.Store().Reads().QueryRowContext(ctx, query, args...), func(err error) error {
		db.r.notice(g.Number(), err)
		return err
	})
}

// Reached returns the position up to which all deferred work is done, of a read model whose
// projection can tell that.
func (r *Runner) Reached(ctx context.Context) (at events.Position, err error) {
	p, ok := r.Projection.(interface{ Reached() string })
	if !ok {
		return r.Position(), nil
	}
	var parked int
	err = r.DB().QueryRowContext(ctx, p.Reached()).Scan(&at, &parked)
	return at, err
}

// corruption is an error of a read which shows that a generation is corrupt.
type corruption struct {
	generation int
	err        error
}

// notice requests a rebuild of the generation with this number if err means that it is
// corrupt. Reads may find corruption that no check finds.
func (r *Runner) notice(number int, err error) {
	if !generation.IsCorrupt(err) {
		return
	}
	select {
	case r.corrupt <- corruption{number, err}:
	default: // an earlier corruption is being handled
	}
}

// Index is the search index of the active generation.
type Index struct{ r *Runner }

// Index returns the search index of a read model that has one.
func (r *Runner) Index() *Index { return &Index{r} }

// Search calls Search of the searchindex.Engine.
func (i *Index) Search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	g := i.r.acquire()
	defer g.Release()
	hits, err := g.Index().Search(ctx, q)
	i.r.notice(g.Number(), err)
	return hits, err
}

// Unreachable returns an error of kind fault.Unavailable while the engine is known
// not to respond, so that a search can fail immediately.
func (i *Index) Unreachable() error {
	g := i.r.acquire()
	defer g.Release()
	return g.Unreachable()
}

// Count calls Count of the searchindex.Engine.
func (i *Index) Count(ctx context.Context) (passages uint64, err error) {
	g := i.r.acquire()
	defer g.Release()
	return g.Index().Count(ctx)
}

// Generation returns the number of the active generation.
func (r *Runner) Generation() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving.Number()
}

func (r *Runner) acquire() *generation.Generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving.Retain()
	return r.serving
}

// replace activates the generation next. First it applies events to next up to the
// position of the active generation. Then it calls commit, which makes the cut-over
// durable. The position never decreases, so changes that a reader has seen stay visible.
// If the loop has stopped, it immediately continues with next, and reads fail until next
// has applied events. Finally replace waits for the readers of the old generation and
// closes that.
func (r *Runner) replace(ctx context.Context, next *generation.Generation, commit func() error) error {
	// Most events are applied here, before stepping is locked, while the active
	// generation still serves reads and applies events.
	err := next.CatchUp(ctx, r.Position(), nil)
	if err == nil {
		err = next.FinishDeferred(ctx)
	}
	if err == nil {
		err = next.CatchUp(ctx, r.Position(), nil)
	}
	if err != nil {
		return err
	}
	old, err := r.swap(ctx, next, commit)
	if err != nil {
		return err
	}
	r.closeDrained(old)
	return nil
}

// closeDrained waits until a generation has no readers, and closes it.
func (r *Runner) closeDrained(old *generation.Generation) {
	old.Drain()
	if err := old.Close(); err != nil {
		r.logger.Warn("old generation cannot be closed", "generation", old.Number(), "error", err)
	}
}

func (r *Runner) swap(ctx context.Context, next *generation.Generation, commit func() error) (old *generation.Generation, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	last := r.serving.Position()
	if r.member.Shared() { // keep other nodes from applying events in the meantime
		if held, err := r.member.MayReplace(ctx, r.serving, r.hasStopped()); err != nil {
			return nil, err
		} else if !held {
			return nil, fault.Errorf(fault.Unavailable, "activate a generation of %s: another node leads it", r.Name())
		}
		// This node may have lost the lock without noticing it, and another node may have
		// applied more events. So the position is read from the tables.
		var at events.Position
		if err := r.serving.Store().QueryRow(ctx, `SELECT position FROM checkpoint`).Scan(&at); err != nil {
			return nil, err
		}
		if !r.serving.Leads() {
			last = max(last, at)
		}
	}
	err = next.CatchUp(ctx, last, nil)
	if err = errors.Join(err, ctx.Err()); err == nil {
		failpoint.Here(failpoint.CutOverReady)
		err = commit()
	}
	if err != nil {
		return nil, err
	}
	old = r.change(next)
	if r.member.Shared() {
		next.Invalidate() // apply no events until every node has noticed which generation is active
		r.member.Confirm(time.Now(), r.member.Stopped())
	}
	return old, nil
}

// change makes next the active generation. next must be at the position of the active
// one.
func (r *Runner) change(next *generation.Generation) (old *generation.Generation) {
	r.update(func() {
		old, r.serving, r.position, r.applied = r.serving, next, max(r.position, next.Position()), max(r.applied, next.Applied())
	})
	return old
}

// IsCorrupt reports whether a read failed because the read model is corrupt. It is
// then being rebuilt.
func IsCorrupt(err error) bool { return generation.IsCorrupt(err) }
