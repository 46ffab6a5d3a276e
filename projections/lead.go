package projections

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"annals/events"
)

const (
	// leadEvery is how often a node that follows tries to lead, and looks how far
	// the leader is, which tells it by itself.
	leadEvery = 2 * time.Second
	// trailEvery is how often it looks while somebody waits here: word may be lost.
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

	// Under Runner.stepping: when this node last tried to lead, and when it last
	// looked whether the one that leads hangs.
	tried, watched time.Time

	// Of the loop, while this node follows: when it last looked, and the furthest
	// position that it asked the leader to hurry to.
	looked time.Time
	asked  events.Position

	// Under Runner.mu:
	stopped   bool      // whoever led could not go on
	confirmed time.Time // until when what serves was known to be the one that does
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
	if held, err := r.serving.store.lead(ctx); err != nil || !held {
		return false, errors.Join(err, r.unseat(ctx))
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

// unseat ends the lead of a node that hangs, now and then.
func (r *Runner) unseat(ctx context.Context) error {
	s := r.shared
	if time.Since(s.watched) < unseatEvery {
		return nil
	}
	s.watched = time.Now()
	ended, err := s.hear.unseat(ctx, generationName(r.Projection, r.serving.number))
	if ended {
		r.logger.Warn("the node that led does not answer, and leads no more", "generation", r.serving.number)
		s.tried = time.Time{}
	}
	return err
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
// What is in doubt is looked at anew by whoever leads.
func (r *Runner) yield() {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	r.serving.leading = r.serving.leading && r.shared == nil && !r.strange
	if r.shared == nil {
		return
	}
	r.serving.store.yield()
	r.shared.leads.Store(false)
	r.shared.tried = time.Now()
}

// askLog returns an error where the log does not answer, or is not the one that
// was applied.
func (r *Runner) askLog(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, askEvery)
	defer cancel()
	return r.knowLog(soon)
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

// mayReplace reports whether this node may let another generation serve: it
// leads, or its loop has stopped and no other node leads. Where none can go on
// with what serves, that is not to last for ever. Until letGo none can try.
func (r *Runner) mayReplace(ctx context.Context) (bool, error) {
	if r.shared == nil {
		return true, nil
	}
	r.stepping.Lock()
	defer r.stepping.Unlock()
	return r.holds(ctx)
}

// holds is mayReplace under stepping, where nodes share tables.
func (r *Runner) holds(ctx context.Context) (bool, error) {
	if r.serving.leading {
		return r.serving.lead(ctx)
	}
	if !r.failed() {
		return false, nil
	}
	if held, err := r.serving.store.lead(ctx); err != nil || !held {
		return false, err
	}
	return r.mayLead(ctx)
}

// letGo lets another node lead where this one holds what it cannot bring further.
func (r *Runner) letGo() {
	if r.shared == nil {
		return
	}
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if !r.serving.leading {
		r.serving.store.yield()
	}
}

// trail waits for the leader to go on, lets it know who waits for that here, and
// looks now and then how far it is.
func (r *Runner) trail(ctx context.Context) error {
	s, pause := r.shared, leadEvery
	if wanted := r.awaited(); wanted > 0 {
		pause = trailEvery
		if wanted > s.asked {
			s.asked = wanted
			return s.hear.tell(ctx, r.about(awaited, wanted))
		}
	}
	if time.Since(s.looked) >= pause {
		s.looked = time.Now()
		return r.look(ctx)
	}
	again := time.NewTimer(time.Until(s.looked.Add(pause)))
	defer again.Stop()
	select {
	case <-s.woken:
		s.looked = time.Time{}
	case <-again.C:
	case <-r.hurry:
	case <-ctx.Done():
	}
	return nil
}

// awaited returns the furthest position that somebody waits for, 0 where that
// was passed.
func (r *Runner) awaited() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted > r.position {
		return r.wanted
	}
	return 0
}

func (r *Runner) look(ctx context.Context) error {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if r.strange { // what the tables hold is in doubt until the log is put right
		if err := r.knowLog(ctx); err != nil {
			return err
		}
		r.strange = false
	}
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
// Of those who wait elsewhere only the leader takes notice: others would tell it
// once more.
func (r *Runner) heard(n notice) {
	_, behind := r.Projection.(Follower) // its tables are ahead of its second store
	switch {
	case n.word == awaited && r.Leads():
		r.Hurry(n.position)
	case n.word == moved && n.position > r.Applied(), n.word == reached && n.position > r.Position():
		r.tell(func() {
			if r.applied = max(r.applied, n.position); !behind || n.word == reached {
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
