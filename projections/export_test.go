package projections

import (
	"context"
	"time"

	"annals/projections/cluster"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

// ShrinkAfter is how long the loop must have no new events before caches are freed and
// the log is checked.
const ShrinkAfter = shrinkAfter

var (
	// Activate makes a ready generation active, as a server does.
	Activate = activate
	// Confirm reconfirms which generation of a shared read model is active.
	Confirm = confirm
	// Revoking are the events that may revoke access.
	Revoking = revoking
)

// NewRunner returns a runner that serves a generation of any projection.
func NewRunner(g *generation.Generation) *Runner { return newRunner(g) }

// Run keeps the read model up to date with the log until ctx ends.
func (r *Runner) Run(ctx context.Context) error { return r.run(ctx) }

// Step applies one batch.
func (r *Runner) Step(ctx context.Context) (more bool, err error) { return r.step(ctx) }

// Close closes the active generation.
func (r *Runner) Close() error { return r.close() }

// Serving returns the active generation.
func (r *Runner) Serving() *generation.Generation { return r.serving }

// HasStopped reports whether the loop of this node has stopped.
func (r *Runner) HasStopped() bool { return r.hasStopped() }

// Stop makes reads fail with err.
func (r *Runner) Stop(err error) { r.update(func() { r.failure = err }) }

// Replace activates a generation that has caught up.
func (r *Runner) Replace(ctx context.Context, next *generation.Generation, commit func() error) error {
	return r.replace(ctx, next, commit)
}

// Join makes the runner a member of a cluster.
func (r *Runner) Join(m cluster.Member) { r.member = m }

// ConfirmAt records when the generation was known to be active.
func (r *Runner) ConfirmAt(at time.Time) { r.confirm(at, false) }

// Shrink frees memory.
func (r *Runner) Shrink(ctx context.Context) error { return r.shrink(ctx) }

// RebuildOnce rebuilds a read model until that succeeds.
func RebuildOnce(ctx context.Context, o generation.Options, r *Runner) {
	(&Set{options: o}).rebuild(ctx, r.Projection)
}

// Node returns the name of this node.
func (s *Set) Node() string { return s.options.Tables.(*tables.Database).Node }

// AgeBeside makes the generation that is open beside the active one unused for longer. open
// reports whether there is one.
func (s *Set) AgeBeside(d time.Duration) (open bool) {
	s.beside.mu.Lock()
	defer s.beside.mu.Unlock()
	if s.beside.open == nil {
		return false
	}
	s.beside.open.used.Add(-int64(d))
	return true
}

// Times after which an unused generation makes room for another one, and is closed.
const (
	BesidePause = besidePause
	BesideIdle  = besideIdle
)

// RebuildAged rebuilds a read model of an older version, unless a generation is held.
func (s *Set) RebuildAged(ctx context.Context, p readmodel.Projection) { s.rebuildAged(ctx, p) }
