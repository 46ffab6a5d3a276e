package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

const (
	// confirmEvery is how often a node asks which generation serves.
	confirmEvery = 250 * time.Millisecond
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
		if r.shared != nil && r.generationName() == n.generation {
			r.heard(n)
		}
	}
}

// present tells that a node serves what nodes share, until ctx ends.
func (s *Set) present(ctx context.Context) {
	control := s.options.Control
	for control.shared && ctx.Err() == nil {
		err := control.Alone(ctx, nodeLease+uuid.NewString(), func(ctx context.Context) error {
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
