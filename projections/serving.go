package projections

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/projections/searchindex"
)

// DB is a read model's tables, for reading only. Every statement reads the
// generation that serves when it begins, to its end.
type DB struct {
	r        *Runner
	original bool // no replica is to answer
}

// DB returns the read model's tables.
func (r *Runner) DB() *DB { return &DB{r: r} }

// of returns who answers for a generation.
func (db *DB) of(g *generation) answerer {
	if db.original {
		return g.store.reads()
	}
	return g.store.answers()
}

// QueryContext is that of sql.DB; List also asks again where a replica fails in
// the middle. The rows can be read to their end whichever
// generation serves by then: database/sql keeps their connection until then.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	g := db.r.acquire()
	defer db.r.release(g)
	rows, err := db.of(g).QueryContext(ctx, query, args...)
	db.r.notice(g.number, err)
	return rows, err
}

// QueryRowContext is that of sql.DB.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	g := db.r.acquire()
	defer db.r.release(g)
	return toldRow{db.of(g).QueryRowContext(ctx, query, args...), func(err error) error {
		db.r.notice(g.number, err)
		return err
	}}
}

// harm is a generation that was found damaged, and by what.
type harm struct {
	generation int
	err        error
}

// notice has a generation made anew that an error says is damaged: a read may
// find what nothing else looks at.
func (r *Runner) notice(generation int, err error) {
	if !damaged(err) {
		return
	}
	select {
	case r.torn <- harm{generation, err}:
	default: // it is known
	}
}

// Index is the search index of the generation that serves.
type Index struct{ r *Runner }

// Search is that of searchindex.Engine.
func (i *Index) Search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	g := i.r.acquire()
	defer i.r.release(g)
	hits, err := g.engine().Search(ctx, q)
	i.r.notice(g.number, err)
	return hits, err
}

// Away returns an error of kind fault.Unavailable while the engine is known not to
// answer: there is no use in waiting for what a search needs besides.
func (i *Index) Away() error {
	g := i.r.acquire()
	defer i.r.release(g)
	return g.away()
}

// away tells of a second store on a server that it is known not to answer.
func (g *generation) away() error {
	if p, ok := g.Projection.(*Passages); ok {
		if remote, ok := p.Engine.(searchindex.Remote); ok {
			return remote.Away()
		}
	}
	return nil
}

// Count is that of searchindex.Engine.
func (i *Index) Count(ctx context.Context) (passages uint64, err error) {
	g := i.r.acquire()
	defer i.r.release(g)
	return g.engine().Count(ctx)
}

func (g *generation) engine() searchindex.Engine { return g.Projection.(*Passages).Engine }

// Generation returns the number of the generation that serves.
func (r *Runner) Generation() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving.number
}

func (r *Runner) acquire() *generation {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serving.readers++
	return r.serving
}

func (r *Runner) release(g *generation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.readers--
	if g != r.serving && g.readers == 0 {
		close(g.idle)
	}
}

// replace brings a generation to where the one that serves is, calls commit,
// which is to make the change last, and lets it serve from then on. Positions
// do not go back, so whoever has seen something sees it still. Where the loop
// had stopped, it tries again with the new one at once, and is not trusted
// before. replace then waits for the reads of the old generation, and closes
// that.
func (r *Runner) replace(ctx context.Context, next *generation, commit func() error) error {
	// All but the last few events are applied without holding anybody up.
	untold := func(events.Position) {}
	err := next.reach(ctx, r.Position(), untold)
	if err == nil {
		err = next.finish(ctx)
	}
	if err == nil {
		err = next.reach(ctx, r.Position(), untold)
	}
	if err != nil {
		return err
	}
	old, err := r.swap(ctx, next, commit)
	if err != nil {
		return err
	}
	r.leave(old)
	return nil
}

// leave closes a generation that served, once nobody reads it.
func (r *Runner) leave(old *generation) {
	<-old.idle
	if err := old.close(); err != nil {
		r.logger.Warn("old generation cannot be closed", "generation", old.number, "error", err)
	}
}

func (r *Runner) swap(ctx context.Context, next *generation, commit func() error) (old *generation, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	last := r.serving.position
	if r.shared != nil { // nobody else may move on what serves meanwhile
		if held, err := r.holds(ctx); err != nil {
			return nil, err
		} else if !held {
			return nil, fault.Errorf(fault.Unavailable, "another node leads %s", r.Name())
		}
		// The lead may have been lost unnoticed, and another node be further; where
		// this one does not lead, only the tables tell how far they are.
		var at events.Position
		if err := r.serving.store.QueryRow(ctx, `SELECT position FROM checkpoint`).Scan(&at); err != nil {
			return nil, err
		}
		if !r.serving.leading {
			last = max(last, at)
		}
	}
	err = next.reach(ctx, last, func(events.Position) {})
	if err = errors.Join(err, ctx.Err()); err == nil {
		failpoint.Here(failpoint.TakeOverReady)
		err = commit()
	}
	if err != nil {
		return nil, err
	}
	old = r.change(next)
	if r.shared != nil {
		next.leading = false // until all nodes know of the other generation
		r.mu.Lock()
		r.shared.confirmed = time.Now()
		r.mu.Unlock()
	}
	return old, nil
}

// change lets a generation serve that is as far as the one that does.
func (r *Runner) change(next *generation) (old *generation) {
	r.tell(func() {
		old, r.serving, r.position, r.applied = r.serving, next, max(r.position, next.position), max(r.applied, next.applied)
		if old.readers == 0 {
			close(old.idle)
		}
	})
	return old
}
