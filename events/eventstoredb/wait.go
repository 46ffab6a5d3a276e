package eventstoredb

import (
	"context"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"annals/events"
)

// heads is the highest position that was seen of the log, from whatever call.
type heads struct {
	mu      sync.Mutex
	highest events.Position
	moved   chan struct{} // closed and replaced when it rises
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

// Wait implements events.Driver. While the server is away it goes on waiting.
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

// startFollowing makes the one subscription of the driver, when the first call
// of Wait comes.
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

// follow keeps a subscription until Close. Each begins where the log's head is
// when it is made, so that nothing between two of them is missed.
func (d *Driver) follow() {
	for pause := firstPause; d.life.Err() == nil; {
		begun := time.Now()
		if d.subscribe() {
			continue
		}
		if time.Since(begun) > maxPause {
			pause = firstPause
		}
		wait(d.life, pause)
		pause = min(2*pause, maxPause)
	}
}

// subscribe advances the head with what is appended, until the subscription
// ends. One that a server has forgotten says nothing; so each is given up in
// time, and renewed is true then.
func (d *Driver) subscribe() (renewed bool) {
	head, err := d.Head(d.life) // with all patience
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
	if err != nil && passes(err) {
		d.cluster.drop(s, err)
	}
	return false
}
