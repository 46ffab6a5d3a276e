package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	// confirmEvery is how often a node asks which generation serves.
	confirmEvery = 500 * time.Millisecond
	// listenAgain is the pause after the connection on which nodes hear of each
	// other was lost; they look by themselves meanwhile.
	listenAgain = time.Second
)

// share tells a Runner of the nodes that have its tables too, where there are.
func (o Options) share(r *Runner, confirmed time.Time) {
	control := o.ControlOf(r.Name())
	if !control.shared {
		return
	}
	hear, _ := o.home(r.Projection).(listener)
	r.shared = &sharing{control: control, hear: hear, woken: make(chan struct{}, 1), confirmed: confirmed}
}

// confirm asks again and again which generations serve that nodes share, and lets
// them serve here too, until ctx ends.
func (s *Set) confirm(ctx context.Context) {
	if !s.options.Control.shared {
		return
	}
	again := time.NewTicker(confirmEvery)
	defer again.Stop()
	for {
		if err := s.confirmAll(ctx); err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("cannot tell which generations serve", "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Set) confirmAll(ctx context.Context) error {
	asked := time.Now()
	all, err := s.options.Control.pointers(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range s.All() {
		if r.shared != nil {
			errs = append(errs, s.options.confirm(ctx, r, all[r.Name()], asked))
		}
	}
	return errors.Join(errs...)
}

func (o Options) confirm(ctx context.Context, r *Runner, p pointer, asked time.Time) error {
	if p.generation == 0 {
		return fmt.Errorf("no generation of %s serves", r.Name())
	}
	// A node that a newer program leaves behind goes on with what it can read.
	if p.generation != r.Generation() && readable(r.Projection, p.version) {
		if changed, err := o.adopt(ctx, r, p); !changed || err != nil {
			return err
		}
	}
	if serves := r.Generation(); p.generation != serves {
		stopped, err := o.ControlOf(r.Name()).isStopped(ctx, r.Name(), serves)
		if err != nil {
			return err
		}
		p.stopped = stopped
	}
	r.confirm(asked, p.stopped)
	return nil
}

// adopt lets a generation serve that another node took up.
func (o Options) adopt(ctx context.Context, r *Runner, p pointer) (changed bool, err error) {
	if !r.switching.TryLock() {
		return false, nil // this node is just taking one up
	}
	defer r.switching.Unlock()
	if r.Generation() == p.generation {
		return true, nil
	}
	g, err := o.openMade(ctx, r.Projection, p.generation)
	if err != nil {
		return false, err
	}
	old, err := r.take(ctx, g)
	if err != nil {
		return false, errors.Join(err, g.close())
	}
	o.Logger.Info("another generation serves", "projection", p.projection, "generation", p.generation)
	r.leaving.Go(func() { r.leave(old) })
	return true, nil
}

// openBeside opens a generation that this program can read beside nodes of another
// version, which go on with theirs: one that is kept from before, where a newer
// program has taken over, or one that is made first.
func (o Options) openBeside(ctx context.Context, p Projection, version int) (*Runner, error) {
	control := o.ControlOf(p.Name())
	s, found, err := control.find(ctx, p.Name(), kept)
	if err != nil {
		return nil, err
	}
	if version < p.Version() {
		o.Logger.Info("read model is made anew before this node serves", "projection", p.Name(), "version", version)
		s = spare{projection: p.Name(), version: p.Version()}
		if s.generation, err = o.rebuild(ctx, p, func(done, head events.Position) {}); err == nil {
			err = control.serve(ctx, s)
		}
	} else if !found || !readable(p, s.version) {
		err = fault.Errorf(fault.Conflict, "the read model %s is of version %d, which a newer program has made; this one makes version %d", p.Name(), version, p.Version())
	}
	if err != nil {
		return nil, err
	}
	g, err := o.openMade(ctx, p, s.generation)
	if err != nil {
		return nil, err
	}
	return g.serve(), nil
}

// renewAged makes a read model anew whose older version serves, unless another
// node has done so meanwhile.
func (s *Set) renewAged(ctx context.Context, p Projection) {
	control := s.options.ControlOf(p.Name())
	if !control.shared {
		s.renew(ctx, p)
		return
	}
	again := time.NewTicker(listenAgain)
	defer again.Stop()
	for {
		version, _, err := control.generation(ctx, p.Name())
		if err == nil && version < p.Version() {
			_, err = s.options.rebuild(ctx, p, func(done, head events.Position) {})
		}
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Conflict) { // another node is at it
			s.options.Logger.Error("read model cannot be made anew", "projection", p.Name(), "error", err)
		}
		if err == nil && version >= p.Version() {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// listen hears what other nodes tell of the read models that they share, until
// ctx ends.
func (s *Set) listen(ctx context.Context) {
	hear, ok := s.options.Tables.(listener)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		err := hear.listen(ctx, s.wakeAll, s.heard)
		if ctx.Err() != nil {
			return
		}
		s.options.Logger.Warn("other nodes are not heard at the moment", "error", err, "retry_in", listenAgain)
		select {
		case <-time.After(listenAgain):
		case <-ctx.Done():
		}
	}
}

func (s *Set) wakeAll() {
	for _, r := range s.All() {
		if r.shared != nil {
			r.shared.wake()
		}
	}
}

func (s *Set) heard(n notice) {
	for _, r := range s.All() {
		if r.shared != nil && r.Name() == n.projection && r.Generation() == n.generation {
			r.heard(n)
		}
	}
}

// present tells that a node serves what nodes share, until ctx ends.
func (s *Set) present(ctx context.Context) {
	home, shared := s.options.Tables.(*Database)
	for shared && ctx.Err() == nil {
		err := s.options.Control.Alone(ctx, nodeLease+home.Node, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		s.options.Logger.Warn("this node cannot tell that it is there", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

const nodeLease = "node/"

// Served reports whether a node serves what nodes share.
func (c *Control) Served(ctx context.Context) (served bool, err error) {
	if !c.shared {
		return false, nil
	}
	err = c.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM leases WHERE name LIKE '`+nodeLease+`%' AND expires > `+c.clock+`)`).Scan(&served)
	return served, c.told(err)
}
