package cluster

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"annals/events"
	"annals/projections/control"

	"github.com/google/uuid"
)

const (
	// leadEvery is how often a follower tries to become the leader. It is also how often
	// a follower reads the leader's position, in case a notification was lost.
	leadEvery = 2 * time.Second
	// followEvery is how often a follower reads the position of the leader while a reader
	// waits.
	followEvery = 250 * time.Millisecond
	// sessionCheckEvery is how often a follower checks whether the leader's session
	// has timed out.
	sessionCheckEvery = 5 * time.Second
)

// Node is the Member of a node that shares the tables of a read model with others.
type Node struct {
	model    string
	readable func(version int) bool
	control  Control
	notifier Notifier
	logger   *slog.Logger

	leads atomic.Bool
	woken chan struct{} // has one token if the leader may have applied more events

	tried, checked time.Time // when it last tried to lead; when it last checked the leader's session

	// Used by Follow: when this node last read the position, and the furthest position
	// that it has requested from the leader.
	looked   time.Time
	notified events.Position

	mu        sync.Mutex
	stopped   bool      // the leader has stopped with an error
	confirmed time.Time // when the generation was last known to be active
}

// NewNode returns this node's Member for the read model with the given name. readable
// reports whether this program can use tables of a version. confirmed is when the open
// generation was last known to be active.
func NewNode(model string, readable func(version int) bool, c Control, n Notifier, logger *slog.Logger, confirmed time.Time) *Node {
	return &Node{model: model, readable: readable, control: c, notifier: n, logger: logger, woken: make(chan struct{}, 1), confirmed: confirmed}
}

// Shared returns true.
func (n *Node) Shared() bool { return true }

// Leads is Member.Leads.
func (n *Node) Leads() bool { return n.leads.Load() }

// Lead is Member.Lead. It tries to acquire the lock every leadEvery.
func (n *Node) Lead(ctx context.Context, g Generation) (leads bool, err error) {
	defer func() { n.leads.Store(leads) }()
	if g.Leads() {
		if leads, err = g.Lead(ctx); leads || err != nil {
			return leads, err
		}
		n.logger.Warn("lost the leader lock", "generation", g.Number())
	}
	if time.Since(n.tried) < leadEvery {
		return false, nil
	}
	n.tried = time.Now()
	if held, err := g.TryLock(ctx); err != nil || !held {
		return false, errors.Join(err, n.endHungLeader(ctx, g.Number()))
	}
	if may, err := n.mayLead(ctx, g.Number()); !may || err != nil {
		return false, err
	}
	return g.Lead(ctx)
}

// endHungLeader ends the leader's session if it has timed out.
func (n *Node) endHungLeader(ctx context.Context, number int) error {
	if time.Since(n.checked) < sessionCheckEvery {
		return nil
	}
	n.checked = time.Now()
	ended, err := n.notifier.EndHungLeader(ctx, n.model, number)
	if ended {
		n.logger.Warn("the leader did not respond, and its session was ended", "generation", number)
		n.tried = time.Time{}
	}
	return err
}

// mayLead reports whether this node, which has acquired the lock of a generation, may
// lead it: the generation must still be active, and every node must have had time to
// notice that. If this program cannot read the version of the active generation, the node
// may lead the generation that it has.
func (n *Node) mayLead(ctx context.Context, number int) (bool, error) {
	all, err := n.control.AllActive(ctx)
	if err != nil {
		return false, err
	}
	if active := all[n.model]; active.Generation != number {
		return active.Generation > 0 && !n.readable(active.Version), nil
	}
	return n.control.IsSettled(ctx, n.model)
}

// Yield is Member.Yield.
func (n *Node) Yield(g Generation) {
	g.Yield()
	n.leads.Store(false)
	n.tried = time.Now()
}

// Retry is Member.Retry.
func (n *Node) Retry() { n.tried = time.Time{} }

// MayReplace is Member.MayReplace.
func (n *Node) MayReplace(ctx context.Context, g Generation, stopped bool) (bool, error) {
	if g.Leads() {
		return g.Lead(ctx)
	}
	if !stopped {
		return false, nil
	}
	if held, err := g.TryLock(ctx); err != nil || !held {
		return false, err
	}
	return n.mayLead(ctx, g.Number())
}

// EndReplace is Member.EndReplace.
func (n *Node) EndReplace(g Generation) {
	if !g.Leads() {
		g.Yield()
	}
}

// Follow is Member.Follow.
func (n *Node) Follow(ctx context.Context, number int, wanted events.Position, hurry <-chan struct{}) (look bool, err error) {
	pause := leadEvery
	if wanted > 0 {
		pause = followEvery
		if wanted > n.notified {
			n.notified = wanted
			return false, n.notifier.Notify(ctx, Notice{Awaited, n.model, number, wanted})
		}
	}
	if time.Since(n.looked) >= pause {
		n.looked = time.Now()
		return true, nil
	}
	timer := time.NewTimer(time.Until(n.looked.Add(pause)))
	defer timer.Stop()
	select {
	case <-n.woken:
		n.looked = time.Time{}
	case <-timer.C:
	case <-hurry:
	case <-ctx.Done():
	}
	return false, nil
}

// Wake is Member.Wake.
func (n *Node) Wake() {
	select {
	case n.woken <- struct{}{}:
	default:
	}
}

// Indexed is Member.Indexed.
func (n *Node) Indexed(ctx context.Context, number int) (events.Position, error) {
	return n.control.Indexed(ctx, n.model, number)
}

// ReportIndexed is Member.ReportIndexed.
func (n *Node) ReportIndexed(ctx context.Context, number int, at events.Position) error {
	if err := n.control.SetIndexed(ctx, n.model, number, at); err != nil {
		return err
	}
	return n.notifier.Notify(ctx, Notice{Indexed, n.model, number, at})
}

// ReportStop is Member.ReportStop.
func (n *Node) ReportStop(ctx context.Context, number int) error {
	return n.control.MarkStopped(ctx, n.model, number)
}

// ReportProgress is Member.ReportProgress.
func (n *Node) ReportProgress(ctx context.Context, number int) (changed bool, err error) {
	if !n.Stopped() {
		return false, nil
	}
	if err := n.control.ClearStopped(ctx, n.model, number); err != nil {
		return false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = false
	return true, nil
}

// Confirm is Member.Confirm.
func (n *Node) Confirm(at time.Time, stopped bool) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed = n.stopped != stopped || time.Since(n.confirmed) > control.StalenessBound
	n.confirmed, n.stopped = at, stopped
	return changed
}

// Stopped is Member.Stopped.
func (n *Node) Stopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopped
}

// Stale is Member.Stale.
func (n *Node) Stale() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Since(n.confirmed) > control.StalenessBound
}

var unnameable = regexp.MustCompile(`[^A-Za-z0-9.-]`)

// NewName returns a unique node name for this process: the host name, which people
// recognise, and a random suffix. It is short because PostgreSQL limits the name of
// a session to 63 bytes.
func NewName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	host = unnameable.ReplaceAllString(host, "-")
	return host[:min(len(host), 40)] + "/" + uuid.NewString()[:8]
}

// Announce keeps the lease that shows the other nodes that this node runs, until ctx
// ends.
func Announce(ctx context.Context, c *control.Store, node string, logger *slog.Logger) {
	for ctx.Err() == nil {
		err := c.Alone(ctx, control.NodeLease+node, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		logger.Warn("cannot announce this node to the others", "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
