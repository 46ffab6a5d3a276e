package projections

import (
	"context"
	"errors"
	"time"

	"annals/events/fault"
)

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
		n := r.about(reached, r.serving.position)
		if err = s.control.setReached(ctx, n.projection, n.generation, n.position); err == nil {
			err = s.hear.tell(ctx, n)
		}
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
