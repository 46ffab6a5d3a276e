package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/projections/cluster"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

const (
	// confirmEvery is how often a node reads which generations are active.
	confirmEvery = 500 * time.Millisecond
	// rebuildAgedEvery is how often a node checks whether another node has rebuilt a read
	// model of an older version.
	rebuildAgedEvery = time.Second
)

// join makes a runner a member of the cluster if nodes share its tables.
func join(o generation.Options, r *Runner, confirmed time.Time) {
	if c := o.ControlOf(r.Name()); c.Shared() {
		readable := func(version int) bool { return generation.Readable(r.Projection, version) }
		r.member = cluster.NewNode(r.Name(), readable, c, cluster.NotifierOf(o.HomeOf(r.Projection)), r.logger, confirmed)
	}
}

// confirm reconfirms which of the shared generations are active, and adopts generations
// that other nodes have activated. It runs until ctx ends.
func (s *Set) confirm(ctx context.Context) {
	if !s.options.Control.Shared() {
		return
	}
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	for {
		if err := s.confirmAll(ctx); err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("active generations cannot be reconfirmed", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Set) confirmAll(ctx context.Context) error {
	begun := time.Now()
	all, err := s.options.Control.AllActive(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range s.All() {
		if r.member.Shared() {
			errs = append(errs, confirm(ctx, s.options, r, all[r.Name()], begun))
		}
	}
	return errors.Join(errs...)
}

func confirm(ctx context.Context, o generation.Options, r *Runner, p control.Active, at time.Time) error {
	if p.Generation == 0 {
		return fmt.Errorf("no generation of %s is active", r.Name())
	}
	// If a newer program has activated a version that this program cannot read, this node
	// keeps its own generation.
	if p.Generation != r.Generation() && generation.Readable(r.Projection, p.Version) {
		if changed, err := adopt(ctx, o, r, p); !changed || err != nil {
			return err
		}
	}
	if serves := r.Generation(); p.Generation != serves {
		stopped, err := o.ControlOf(r.Name()).IsStopped(ctx, r.Name(), serves)
		if err != nil {
			return err
		}
		p.Stopped = stopped
	}
	r.confirm(at, p.Stopped)
	return nil
}

// adopt activates on this node a generation that another node has activated.
func adopt(ctx context.Context, o generation.Options, r *Runner, p control.Active) (changed bool, err error) {
	if !r.switching.TryLock() {
		return false, nil // this node is activating a generation
	}
	defer r.switching.Unlock()
	if r.Generation() == p.Generation {
		return true, nil
	}
	g, err := o.OpenExisting(ctx, r.Projection, p.Generation)
	if err != nil {
		return false, err
	}
	old, err := r.adopt(ctx, g)
	if err != nil {
		return false, errors.Join(err, g.Close())
	}
	o.Logger.Info("switched to the generation that another node activated", "projection", p.Projection, "generation", p.Generation)
	r.draining.Go(func() { r.closeDrained(old) })
	return true, nil
}

// rebuildAged rebuilds a read model whose active generation is of an older version,
// unless another node has rebuilt it. A generation that an operator holds stays held.
func (s *Set) rebuildAged(ctx context.Context, p readmodel.Projection) {
	store := s.options.ControlOf(p.Name())
	if held, ok, err := store.Find(ctx, p.Name(), control.Held); err == nil && ok && held.Version == p.Version() {
		s.options.Logger.Info("read model of an older version keeps serving, since the rebuilt generation is held", "projection", p.Name(), "generation", held.Number)
		return
	}
	if !store.Shared() {
		s.rebuild(ctx, p)
		return
	}
	tick := time.NewTicker(rebuildAgedEvery)
	defer tick.Stop()
	for {
		version, _, err := store.Active(ctx, p.Name())
		if err == nil && version < p.Version() {
			_, err = s.options.Make(ctx, p, nil)
		}
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Conflict) { // another node rebuilds it
			s.options.Logger.Error("read model cannot be rebuilt", "projection", p.Name(), "error", err)
		}
		if err == nil && version >= p.Version() {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// notify passes notices from other nodes to the runners of the read models until ctx
// ends.
func (s *Set) notify(ctx context.Context) {
	notifier := cluster.NotifierOf(s.options.Tables)
	if notifier == nil {
		return
	}
	ready := func() {
		for _, r := range s.runners {
			r.member.Wake()
		}
	}
	cluster.Listen(ctx, notifier, ready, s.receive, s.options.Logger)
}

func (s *Set) receive(n cluster.Notice) {
	for _, r := range s.runners {
		if r.member.Shared() && r.Name() == n.Model && r.Generation() == n.Generation {
			r.receive(n)
		}
	}
}

// announce shows the other nodes that this node runs, until ctx ends.
func (s *Set) announce(ctx context.Context) {
	if home, ok := s.options.Tables.(*tables.Database); ok {
		cluster.Announce(ctx, s.options.Control, home.Node, s.options.Logger)
	}
}
