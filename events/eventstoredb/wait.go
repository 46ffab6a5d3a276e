package eventstoredb

import (
	"context"
	"sync"
	"time"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// heads stores the highest position that any call has seen, and notifies waiters when it
// increases.
type heads struct {
	mu      sync.Mutex
	highest events.Position
	moved   chan struct{} // closed and replaced when highest increases
}

func newHeads() *heads { return &heads{moved: make(chan struct{})} }

func (h *heads) seen() (events.Position, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.highest, h.moved
}

func (h *heads) advance(p events.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p > h.highest {
		h.highest = p
		close(h.moved)
		h.moved = make(chan struct{})
	}
}

// Wait implements events.Driver. It keeps waiting while the server is unreachable.
func (d *Driver) Wait(ctx context.Context, after events.Position) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.startFollowing(); err != nil {
		return err
	}
	for {
		head, moved := d.heads.seen()
		if head > after {
			return nil
		}
		select {
		case <-moved:
		case <-d.life.Done():
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// startFollowing starts the subscription of the driver, at the first call of Wait.
func (d *Driver) startFollowing() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return errClosed
	case d.following:
		return nil
	}
	d.following = true
	d.work.Go(d.follow)
	return nil
}

// follow opens one subscription after the other until Close. Before each subscription it
// reads the current head, so waiters miss no event between two subscriptions.
func (d *Driver) follow() {
	for pauses := newBackOff(); d.life.Err() == nil; {
		started := time.Now()
		if d.subscribe() {
			continue
		}
		if time.Since(started) > maxPause {
			pauses.Reset()
		}
		wait(d.life, pauses.NextBackOff())
	}
}

// subscribe advances the head with each new event until the subscription ends. Because a
// server may drop a subscription without notice, each subscription ends after a time
// limit; expired reports whether it ended for this reason.
func (d *Driver) subscribe() (expired bool) {
	head, err := d.Head(d.life) // Head retries transient errors
	if err != nil {
		return false
	}
	s, err := d.cluster.session(d.life)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(d.life, 3*d.deadline)
	defer cancel()
	o := ofAll(head, d.ours())
	o.CountOption = &streams.ReadReq_Options_Subscription{Subscription: &streams.ReadReq_Options_SubscriptionOptions{}}
	_, err = read(ctx, s, o, func(e *recorded) bool {
		s.saw(events.Position(e.GetCommitPosition()))
		d.heads.advance(events.Position(e.GetCommitPosition()))
		return true
	})
	if ctx.Err() != nil {
		return true
	}
	if err != nil && isTransient(err) {
		d.cluster.drop(s, err)
	}
	return false
}
