package queriestest

import (
	"context"
	"errors"
	"sync/atomic"

	"annals/projections/searchindex"
)

// Engine is a search engine that fails or blocks on request.
type Engine struct {
	searchindex.Engine
	writes, reads, unreachable atomic.Pointer[error]
	held                       atomic.Pointer[hold]
	searched                   atomic.Pointer[func()]
}

var _ searchindex.Remote = (*Engine)(nil)

// errBroken is the error of a failing Engine. It contains a path, as errors of real
// engines do.
var errBroken = errors.New("open /srv/index/store: input/output error")

// FailWrites makes all later writes fail.
func (e *Engine) FailWrites() { e.writes.Store(&errBroken) }

// FailReads makes all later searches fail.
func (e *Engine) FailReads() { e.reads.Store(&errBroken) }

// SetUnreachable sets the result of Unreachable.
func (e *Engine) SetUnreachable(err error) { e.unreachable.Store(&err) }

// AfterSearch calls f after each later search, before the hits are returned.
func (e *Engine) AfterSearch(f func()) { e.searched.Store(&f) }

// hold blocks one write.
type hold struct{ entered, open chan struct{} }

// Hold blocks the next write until release is called. entered is closed when the write
// begins.
func (e *Engine) Hold() (entered <-chan struct{}, release func()) {
	h := &hold{make(chan struct{}), make(chan struct{})}
	e.held.Store(h)
	return h.entered, func() { close(h.open) }
}

// HoldDuring calls change and blocks the first write to the search index that it
// causes until release is called. It returns after the vault has applied the change.
func (w *World) HoldDuring(e *Engine, change func()) (release func()) {
	w.t.Helper()
	entered, release := e.Hold()
	change()
	w.Models.Passages.Hurry(w.At) // do not wait for more events
	<-entered
	w.Await(w.Models.Vault)
	return release
}

// Apply implements searchindex.Engine.
func (e *Engine) Apply(ctx context.Context, b searchindex.Batch) error {
	if err := e.writes.Load(); err != nil {
		return *err
	}
	if h := e.held.Swap(nil); h != nil {
		close(h.entered)
		select {
		case <-h.open:
		case <-ctx.Done():
		}
	}
	return e.Engine.Apply(ctx, b)
}

// Search implements searchindex.Engine.
func (e *Engine) Search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	if err := e.reads.Load(); err != nil {
		return nil, *err
	}
	hits, err := e.Engine.Search(ctx, q)
	if f := e.searched.Load(); f != nil {
		(*f)()
	}
	return hits, err
}

// Unreachable implements searchindex.Remote.
func (e *Engine) Unreachable() error {
	if err := e.unreachable.Load(); err != nil {
		return *err
	}
	return nil
}
