package projections

import (
	"context"
	"errors"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/cluster"
	"annals/projections/generation"
	"annals/projections/readmodel"
)

// pollLogEvery is how often a leader checks that a quiet log is reachable, and how long
// that check may take. A call that waits for events does not notice that the log is
// unreachable.
const pollLogEvery = 5 * time.Second

// lead reports whether this node should apply events.
func (r *Runner) lead(ctx context.Context) (leads bool, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	g := r.serving
	before := g.Leads()
	if leads, err = r.member.Lead(ctx, g); leads && !before && r.member.Shared() {
		r.logger.Info("became the leader", "generation", g.Number(), "position", g.Position())
		r.update(func() { r.position, r.applied = max(r.position, g.Position()), max(r.applied, g.Applied()) })
	}
	return leads, err
}

// Leads reports whether this node is a leader: other nodes share the read model, and this
// node applies the events.
func (r *Runner) Leads() bool { return r.member.Leads() }

// yield releases the leadership after an error, so that another node can lead. The next
// leader reads the position from the tables again.
func (r *Runner) yield() {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if r.mismatch {
		r.serving.Invalidate()
	}
	r.member.Yield(r.serving)
}

// pollLog returns an error if the log is unreachable, or is not the log that the read
// model was built from.
func (r *Runner) pollLog(ctx context.Context) error {
	soon, cancel := context.WithTimeout(ctx, pollLogEvery)
	defer cancel()
	return r.checkLog(soon)
}

// mayReplace reports whether this node may activate another generation. No other node can
// become the leader until endReplace.
func (r *Runner) mayReplace(ctx context.Context) (bool, error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	return r.member.MayReplace(ctx, r.serving, r.hasStopped())
}

func (r *Runner) endReplace() {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	r.member.EndReplace(r.serving)
}

// follow waits until the leader may have applied more events, and from time to time
// reads the position of the tables.
func (r *Runner) follow(ctx context.Context) error {
	look, err := r.member.Follow(ctx, r.Generation(), r.awaited(), r.hurry)
	if err != nil || !look {
		return err
	}
	return r.look(ctx)
}

// look reads the position of the leader from the tables.
func (r *Runner) look(ctx context.Context) error {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if r.mismatch {
		if err := r.checkLog(ctx); err != nil {
			return err
		}
		r.mismatch = false
	}
	g := r.serving
	applied, err := g.Store().Checkpoint(ctx)
	at := applied
	if _, ok := r.Projection.(readmodel.Follower); ok && err == nil {
		at, err = r.member.Indexed(ctx, g.Number())
	}
	if err != nil {
		return err
	}
	if at > r.Position() || applied > r.Applied() || r.hasStopped() {
		r.update(func() { r.position, r.applied, r.failure = max(r.position, at), max(r.applied, applied), nil })
	}
	return nil
}

// hasStopped reports whether the loop of this node has stopped.
func (r *Runner) hasStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure != nil
}

// receive handles a notice about the active generation. Only the leader handles Awaited:
// it applies events for a reader that waits on another node.
func (r *Runner) receive(n cluster.Notice) {
	_, indexed := r.Projection.(readmodel.Follower)
	switch {
	case n.Kind == cluster.Awaited && r.Leads():
		r.Hurry(n.Position)
	case n.Kind == cluster.Applied && n.Position > r.Applied(), n.Kind == cluster.Indexed && n.Position > r.Position():
		r.update(func() {
			if r.applied = max(r.applied, n.Position); !indexed || n.Kind == cluster.Indexed {
				r.position = max(r.position, n.Position)
			}
		})
	}
}

// adopt switches this node to a generation that another node has activated, and
// returns the previous one.
func (r *Runner) adopt(ctx context.Context, next *generation.Generation) (old *generation.Generation, err error) {
	r.stepping.Lock()
	defer r.stepping.Unlock()
	if err := next.Refresh(ctx); err != nil {
		return nil, err
	}
	if next.Applied() < r.Applied() {
		return nil, errBehind
	}
	r.member.Retry()
	return r.change(next), nil
}

var errBehind = errors.New("the active generation is behind the previous one: this node switches to it once it has caught up")

// reportStop keeps all nodes from reading the read model if an event could not be
// applied. It ignores other errors, such as a full disk, because they concern only this
// node.
func (r *Runner) reportStop(ctx context.Context, why error) error {
	if !errors.As(why, new(*generation.PoisonError)) {
		return nil
	}
	return r.member.ReportStop(ctx, r.Generation())
}

// reportStep reports what other nodes cannot see in the tables: the position of the
// search index, and that the read model is no longer stopped.
func (r *Runner) reportStep(ctx context.Context) error {
	g := r.serving
	if _, ok := r.Projection.(readmodel.Follower); ok {
		if err := r.member.ReportIndexed(ctx, g.Number(), g.Position()); err != nil {
			return err
		}
	}
	changed, err := r.member.ReportProgress(ctx, g.Number())
	if changed {
		r.update(func() {})
	}
	return err
}

// confirm records that at the given time this node's generation was the active one,
// and whether it had stopped.
func (r *Runner) confirm(at time.Time, stopped bool) {
	if r.member.Confirm(at, stopped) {
		r.update(func() {})
	}
}

// stale returns an error if the shared tables must not be read from this node at the
// moment.
func (r *Runner) stale() error {
	switch {
	case r.member.Stopped():
		return r.stoppedError()
	case r.member.Stale():
		return fault.Errorf(fault.Unavailable, "read %s: this node could not confirm in time that its generation is still active; try again", r.Name())
	}
	return nil
}

func (r *Runner) stoppedError() error {
	return fault.Errorf(fault.Unavailable, "the read model %s cannot be brought up to date at the moment", r.Name())
}

// awaited returns the furthest position that a reader waits for, or 0 if none waits.
func (r *Runner) awaited() events.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted > r.position {
		return r.wanted
	}
	return 0
}
