// Package cluster coordinates the nodes that share a read model: one node leads and
// applies events, the others follow, and no node serves reads from a generation that may
// no longer be active. With a single node it does nothing.
//
// The package imports the control store and the tables. Package projections decides what
// a leader and a follower do.
package cluster

import (
	"context"
	"time"

	"annals/events"
	"annals/projections/control"
)

// Member is this node's part in the cluster for one read model. Lead, Yield, MayReplace,
// EndReplace and Retry are not called concurrently.
type Member interface {
	// Shared reports whether other nodes may use the same tables.
	Shared() bool
	// Lead reports whether this node should apply events. The node stays the leader
	// as long as its writing session lasts.
	Lead(ctx context.Context, g Generation) (leads bool, err error)
	// Leads returns the last result of Lead.
	Leads() bool
	// Yield releases the leadership after an error: another node may be able to apply
	// events.
	Yield(g Generation)
	// Retry makes the next Lead try to acquire the lock immediately.
	Retry()
	// MayReplace reports whether this node may activate another generation: if it leads,
	// or if the read model has stopped and no other node leads. No other node can become
	// the leader until EndReplace.
	MayReplace(ctx context.Context, g Generation, stopped bool) (bool, error)
	EndReplace(g Generation)
	// Follow waits until the leader may have applied more events to the generation with
	// this number. If wanted is not 0, Follow notifies the leader that a reader waits for
	// that position. It returns early if hurry receives a value. look reports whether the
	// caller should read the position of the tables again.
	Follow(ctx context.Context, number int, wanted events.Position, hurry <-chan struct{}) (look bool, err error)
	// Wake makes a waiting Follow return immediately, and makes the next call report
	// look.
	Wake()
	// Indexed returns the position up to which the leader's search index of a generation
	// is up to date.
	Indexed(ctx context.Context, number int) (events.Position, error)
	// ReportIndexed sets the position that Indexed returns, and notifies the followers.
	ReportIndexed(ctx context.Context, number int, at events.Position) error
	// ReportStop keeps all nodes from reading a generation because it could not apply an
	// event.
	ReportStop(ctx context.Context, number int) error
	// ReportProgress allows reads again after ReportStop. changed reports whether the
	// generation was stopped.
	ReportProgress(ctx context.Context, number int) (changed bool, err error)
	// Confirm records that the generation of this node was the active one at the given
	// time, and whether it had stopped. changed reports whether the result of Stopped or
	// Stale changes.
	Confirm(at time.Time, stopped bool) (changed bool)
	// Stopped reports whether the generation had stopped at the last Confirm.
	Stopped() bool
	// Stale reports whether the last confirmation is older than the staleness bound.
	Stale() bool
}

// Generation is what a Member needs from the active generation.
type Generation interface {
	Number() int
	// Lead acquires the lock of the tables and reads the position of the tables.
	Lead(ctx context.Context) (leads bool, err error)
	// Leads returns the last result of Lead.
	Leads() bool
	// TryLock is like Lead, but does not read the position.
	TryLock(ctx context.Context) (held bool, err error)
	Yield()
}

// Control is what a Node needs from the control store.
type Control interface {
	AllActive(ctx context.Context) (map[string]control.Active, error)
	IsSettled(ctx context.Context, model string) (bool, error)
	MarkStopped(ctx context.Context, model string, generation int) error
	ClearStopped(ctx context.Context, model string, generation int) error
	SetIndexed(ctx context.Context, model string, generation int, at events.Position) error
	Indexed(ctx context.Context, model string, generation int) (events.Position, error)
}

// Alone is the Member of a node that shares its tables with no other.
type Alone struct{}

// Shared returns false.
func (Alone) Shared() bool { return false }

// Lead returns true: no other node exists.
func (Alone) Lead(context.Context, Generation) (bool, error) { return true, nil }

// Leads returns false: there are no followers.
func (Alone) Leads() bool { return false }

// Yield does nothing.
func (Alone) Yield(Generation) {}

// Retry does nothing.
func (Alone) Retry() {}

// MayReplace returns true.
func (Alone) MayReplace(context.Context, Generation, bool) (bool, error) { return true, nil }

// EndReplace does nothing.
func (Alone) EndReplace(Generation) {}

// Follow is not called, because Lead returns true.
func (Alone) Follow(context.Context, int, events.Position, <-chan struct{}) (bool, error) {
	return false, nil
}

// Wake does nothing.
func (Alone) Wake() {}

// Indexed is not called, because this node is not a follower.
func (Alone) Indexed(context.Context, int) (events.Position, error) { return 0, nil }

// ReportIndexed does nothing.
func (Alone) ReportIndexed(context.Context, int, events.Position) error { return nil }

// ReportStop does nothing.
func (Alone) ReportStop(context.Context, int) error { return nil }

// ReportProgress does nothing.
func (Alone) ReportProgress(context.Context, int) (bool, error) { return false, nil }

// Confirm does nothing.
func (Alone) Confirm(time.Time, bool) bool { return false }

// Stopped returns false.
func (Alone) Stopped() bool { return false }

// Stale returns false.
func (Alone) Stale() bool { return false }
