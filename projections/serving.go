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

// DB reads the tables of a read model. Every statement reads the generation that
// is active when it begins.
type DB struct{ r *Runner }

// DB returns the tables of the read model for reading.
func (r *Runner) DB() *DB { return &DB{r: r} }

// QueryContext is like that of sql.DB. The rows can be read to their end even if
// another generation becomes active, because database/sql keeps their connection.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	g := db.r.acquire()
	defer g.Release()
	rows, err := g.Store().Reads().QueryContext(ctx, query, args...)
	db.r.notice(g.Number(), err)
	return rows, err
}

// QueryRowContext is like that of sql.DB.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) readmodel.Row {
	g := db.r.acquire()
	defer g.Release()
	return tables.MapRow(g.Store().Reads().QueryRowContext(ctx, query, args...), func(err error) error {
		db.r.notice(g.Number(), err)
		return err
	})
}

// corruption is an error of a read that shows that a generation is corrupt.
type corruption struct {
	generation int
	err        error
}

// notice requests a rebuild of a generation if an error means that it is corrupt.
// Reads may find corruption that no check finds.
func (r *Runner) notice(number int, err error) {
	if !generation.IsCorrupt(err) {
		return
	}
	select {
	case r.corrupt <- corruption{number, err}:
	default: // another is being handled
	}
}

// Index is the search index of the active generation.
type Index struct{ r *Runner }

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

// replace applies events to a generation up to the position of the active one, calls
// commit, which makes the cut-over durable, and activates the generation. The position
// never decreases, so changes that a reader has seen stay visible. If the loop has stopped,
// it immediately tries the new generation, and reads fail until that has applied events.
// Then replace waits for the readers of the old generation and closes it.
func (r *Runner) replace(ctx context.Context, next *generation.Generation, commit func() error) error {
	// Most events are applied here, while the active generation still serves reads and
	// applies events.
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

// closeDrained closes a generation once it has no readers.
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
	if r.member.Shared() { // keep other nodes from applying events meanwhile
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
		next.Invalidate() // until every node has noticed which generation is active
		r.member.Confirm(time.Now(), r.member.Stopped())
	}
	return old, nil
}

// change activates a generation that is at the position of the active one.
func (r *Runner) change(next *generation.Generation) (old *generation.Generation) {
	r.update(func() {
		old, r.serving, r.position, r.applied = r.serving, next, max(r.position, next.Position()), max(r.applied, next.Applied())
	})
	return old
}

// IsCorrupt reports whether a read failed because the read model is corrupt. It is
// then being rebuilt.
func IsCorrupt(err error) bool { return generation.IsCorrupt(err) }
