package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"annals/projections/cluster"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/tables"

	"golang.org/x/sync/errgroup"
)

// Set is the running read models of a service.
type Set struct {
	Search *Index

	runners  []*Runner // in the order of the registry
	options  generation.Options
	outdated []readmodel.Projection // of an older version
	beside   besides
	rebuilds rebuilds
}

// Open opens the active generation of each registered read model. If a generation is
// missing, corrupt, or of a version that this program cannot read, Open replaces it by an
// empty one, to which Run applies the log. A generation of an older version that can be
// read serves until Run has rebuilt it. Open fails if the log lacks events that a read
// model has applied, because a rebuild would hide their loss.
func Open(ctx context.Context, o generation.Options) (*Set, error) {
	if home, ok := o.Tables.(*tables.Database); ok {
		named := *home
		named.Node = cluster.NewName()
		o.Tables = &named
		o.Logger.Info("this node shares read models with others", "node", named.Node)
	}
	s := &Set{options: o}
	confirmed := time.Now()
	var errs []error
	for _, m := range o.Models() {
		p := m.Projection
		g, aged, err := o.Open(ctx, p)
		if errors.Is(err, generation.ErrLogTruncated) || errors.Is(err, generation.ErrLogMismatch) {
			err = fmt.Errorf("%w; restore the missing events, or, if the log is right, delete %s and restart, which rebuilds the read models", err, o.Tables.Describe(""))
			return nil, errors.Join(err, s.Close())
		}
		if aged {
			s.outdated = append(s.outdated, p)
		}
		if g != nil {
			r := newRunner(g)
			r.notAwaited = m.NotAwaited
			join(o, r, confirmed)
			s.runners = append(s.runners, r)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Search = s.Runner(passages.Name).Index()
	return s, nil
}

// All returns every runner, in the order of the registry.
func (s *Set) All() []*Runner { return slices.Clone(s.runners) }

// Runner returns the runner of a registered read model.
func (s *Set) Runner(name string) *Runner {
	i := slices.IndexFunc(s.runners, func(r *Runner) bool { return r.Name() == name })
	if i < 0 {
		panic("projections: no read model has the name " + name)
	}
	return s.runners[i]
}

// Awaited returns the runners of those read models that a client may read right after a
// write. The reply to a write waits for all of them.
func (s *Set) Awaited() (awaited []*Runner) {
	for _, r := range s.runners {
		if r.notAwaited == "" {
			awaited = append(awaited, r)
		}
	}
	return awaited
}

// Run keeps all read models up to date with the log until ctx ends. It rebuilds read
// models that are of an older version or in which corruption is found, and activates
// generations that become ready.
func (s *Set) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	s.beside.begin(ctx)
	s.rebuilds.begin(ctx)
	for _, r := range s.All() {
		g.Go(func() error { return r.run(ctx) })
		g.Go(func() error { s.repair(ctx, r); return nil })
		g.Go(func() error { s.check(ctx, r); return nil })
	}
	for _, p := range s.outdated {
		g.Go(func() error { s.rebuildAged(ctx, p); return nil })
	}
	g.Go(func() error { s.watch(ctx); return nil })
	g.Go(func() error { s.closeUnused(ctx); return nil })
	g.Go(func() error { s.rebuilds.run(ctx); return nil })
	g.Go(func() error { s.confirm(ctx); return nil })
	g.Go(func() error { s.notify(ctx); return nil })
	g.Go(func() error { s.announce(ctx); return nil })
	return g.Wait()
}

// Close closes all read models. Call it after Run has returned.
func (s *Set) Close() error {
	var errs []error
	for _, r := range s.runners {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}
