package projections

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	// leadEvery is how often a node that follows tries to lead.
	leadEvery = time.Second
	// trailEvery is how often it looks how far the leader is, which tells it by
	// itself as a rule.
	trailEvery = 250 * time.Millisecond
	// askEvery is how often a node that leads asks a quiet log whether it is
	// there, and how long that may take: waiting for it tells nothing.
	askEvery = 5 * time.Second
)

// sharing is what a Runner has besides where nodes share its tables: one of
// them leads, which is to say that it applies events, and the others follow.
type sharing struct {
	control *Control
	hear    listener
	woken   chan struct{} // holds one token when the leader may have gone on

	leads atomic.Bool // for those who ask; that of the generation is what counts
	tried time.Time   // when this node last tried to lead; under Runner.stepping

	// Under Runner.mu:
	stopped   bool      // whoever led could not go on
	confirmed time.Time // until when what serves was known to be the one that does
}

// listener carries word between the nodes that share tables.
type listener interface {
	// listen hears of commits and of those who wait, until ctx ends or the
	// connection is lost. It calls ready once nothing is missed any more.
	listen(ctx context.Context, ready func(), heard func(notice)) error
	// hurry tells the node that leads a generation that somebody waits for a position.
	hurry(ctx context.Context, generation string, p events.Position) error
}

// notice is that a generation has passed a position, or that somebody waits for
// it to.
type notice struct {
	generation string
	position   events.Position
	awaited    bool
}

func (r *Runner) generationName() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return generationName(r.Projection, r.serving.number)
}

// lead reports whether this node is to apply events. It holds on to that as long
// as the connection that writes them lasts.
func (r *Runner) lead(ctx context.Context) (leads bool, err error) {
	s := r.shared
	if s == nil {
		return true, nil
	}
	r.stepping.Lock()
	defer r.stepping.Unlock()
	defer func() { s.leads.Store(leads) }()
	if r.serving.leading {
		if leads, err = r.serving.lead(ctx); leads || err != nil {
			return leads, err
		}
		r.logger.Warn("leads no more", "generation", r.serving.number)
	}
	if time.Since(s.tried) < leadEvery {
		return false, nil
	}
	s.tried = time.Now()
	if held, err := r.serving.store.lead(ctx); !held || err != nil {
		return false, err
	}
	if may, err := r.mayLead(ctx); !may || err != nil {
		return false, err
	}
	if leads, err = r.serving.lead(ctx); leads && err == nil {
		r.logger.Info("leads", "generation", r.serving.number, "position", r.serving.position)
		r.tell(func() { r.position, r.applied = max(r.position, r.serving.position), max(r.applied, r.serving.applied) })
	}
	return leads, err
}

// mayLead reports whether the generation of which this node holds the lead is
// still the one that serves, and all nodes know so: the pointer is moved by
// whoever leads alone. One that serves another version of the program goes on
// beside, led by a node that can read no other.
func (r *Runner) mayLead(ctx context.Context) (bool, error) {
	all, err := r.shared.control.pointers(ctx)
	if err != nil {
		return false, err
	}
	if p := all[r.Name()]; p.generation != r.serving.number {
		return p.generation > 0 && !readable(r.Projection, p.version), nil
	}
	return r.shared.control.settled(ctx, r.Name())
}

// yield lets another node lead, which may be able to go on where this one is not.
func (r *Runner) yield() {
	if r.shared == nil {
		return
	}
	r.stepping.Lock()
	defer r.stepping.Unlock()
	r.serving.store.yield()
	r.serving.leading = false
	r.shared.leads.Store(false)
	r.shared.tried = time.Now()
}

// askLog returns an error where the log does not answer.
func (r *Runner) askLog(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, askEvery)
	defer cancel()
	if _, err := r.log.Head(soon); err != nil {
		return &logError{err}
	}
	return nil
}

// Leads reports whether this node applies events to what nodes share.
func (r *Runner) Leads() bool { return r.shared != nil && r.shared.leads.Load() }

// leading reports whether this node leads now.
func (r *Runner) leading(ctx context.Context) (bool, error) {
	if r.shared == nil {
		return true, nil
	}
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if !r.serving.leading {
		return false, nil
	}
	return r.serving.lead(ctx)
}

// trail notes how far the leader is, and waits for it to go on.
func (r *Runner) trail(ctx context.Context) error {
	if err := r.look(ctx); err != nil {
		return err
	}
	again := time.NewTimer(trailEvery)
	defer again.Stop()
	select {
	case <-r.shared.woken:
	case <-again.C:
	case <-r.hurry:
		r.mu.Lock()
		wanted, awaited := r.wanted, r.wanted > r.position
		r.mu.Unlock()
		if awaited {
			return r.shared.hear.hurry(ctx, r.generationName(), wanted)
		}
	case <-ctx.Done():
	}
	return nil
}

func (r *Runner) look(ctx context.Context) error {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	applied, err := r.serving.store.checkpoint(ctx)
	at := applied
	if _, ok := r.Projection.(Follower); ok && err == nil {
		at, err = r.shared.control.reached(ctx, r.Name(), r.serving.number)
	}
	if err != nil {
		return err
	}
	if at > r.Position() || applied > r.Applied() || r.failed() {
		r.tell(func() { r.position, r.applied, r.failure = max(r.position, at), max(r.applied, applied), nil })
	}
	return nil
}

// failed reports whether this node's loop had stopped.
func (r *Runner) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure != nil
}

// heard takes up what the nodes tell each other of the generation that serves.
func (r *Runner) heard(n notice) {
	if n.awaited {
		r.Hurry(n.position)
		return
	}
	_, behind := r.Projection.(Follower) // its tables are ahead of its second store
	if n.position > r.Applied() {
		r.tell(func() {
			if r.applied = max(r.applied, n.position); !behind {
				r.position = max(r.position, n.position)
			}
		})
	}
}

// wake lets a node that follows look at once.
func (s *sharing) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// tellStop tells all nodes that what serves cannot be trusted, where an event is
// why: a store that does not answer at the moment says nothing of it.
func (r *Runner) tellStop(ctx context.Context, why error) error {
	if r.shared == nil || !errors.As(why, new(*poisonError)) {
		return nil
	}
	return r.shared.control.stop(ctx, r.Name(), r.Generation())
}

// tellStep tells all nodes of a step that this one made, where the tables do not.
func (r *Runner) tellStep(ctx context.Context) (err error) {
	s := r.shared
	if s == nil {
		return nil
	}
	if _, ok := r.Projection.(Follower); ok {
		err = s.control.setReached(ctx, r.Name(), r.serving.number, r.serving.position)
	}
	r.mu.Lock()
	stopped := s.stopped
	r.mu.Unlock()
	if stopped && err == nil {
		if err = s.control.goOn(ctx, r.Name(), r.serving.number); err == nil {
			r.tell(func() { s.stopped = false })
		}
	}
	return err
}

// confirm notes that at a time the generation that serves here was the one that
// serves, and whether it may be trusted.
func (r *Runner) confirm(at time.Time, stopped bool) {
	r.mu.Lock()
	changed := r.shared.stopped != stopped || time.Since(r.shared.confirmed) > unsure
	r.shared.confirmed = at
	r.mu.Unlock()
	if changed {
		r.tell(func() { r.shared.stopped = stopped })
	}
}

// untrusted returns why what nodes share cannot be trusted here; under Runner.mu.
func (r *Runner) untrusted() error {
	switch s := r.shared; {
	case s == nil:
		return nil
	case s.stopped:
		return r.stoppedError()
	case time.Since(s.confirmed) > unsure:
		return fault.Errorf(fault.Unavailable, "it cannot be told at the moment which generation of the read model %s serves", r.Name())
	}
	return nil
}

func (r *Runner) stoppedError() error {
	return fault.Errorf(fault.Unavailable, "the read model %s cannot be brought up to date at the moment", r.Name())
}

// take lets a generation serve that another node took up, and returns the one
// that served, or an error where the other is not as far.
func (r *Runner) take(ctx context.Context, next *generation) (old *generation, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if next.applied, err = next.store.checkpoint(ctx); err != nil {
		return nil, err
	}
	if next.applied < r.Applied() {
		return nil, errBehind
	}
	r.shared.tried = time.Time{}
	return r.change(next), nil
}

var errBehind = errors.New("the generation that serves is behind the one that did")
