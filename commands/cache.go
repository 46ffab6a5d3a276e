package commands

import (
	"container/list"
	"context"
	"sync"

	"annals/events"
)

// folded is an aggregate with the place in its stream up to which it was
// folded. Whoever holds the lock may use it.
type folded[S state] struct {
	stream   string
	lock     chan struct{} // a channel, so that waiting for it ends with the context
	state    S
	next     int64 // revision of the first event that is not folded yet
	position events.Position

	weight int           // as counted in the cache
	place  *list.Element // in the cache; nil once dropped
}

func (f *folded[S]) acquire(ctx context.Context) error {
	select {
	case f.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refresh folds what is new in the stream.
func (f *folded[S]) refresh(ctx context.Context, log *events.Log) error {
	return log.ReadStream(ctx, f.stream, f.next, func(e events.Event) error {
		f.fold(e)
		return nil
	})
}

func (f *folded[S]) fold(e events.Event) {
	f.state.apply(e)
	f.next, f.position = e.Revision+1, e.Position
}

// cache keeps the aggregates that were used last, so that a command reads
// only what is new. It is a saving and nothing else: one that was dropped
// while in use, and folded again by someone else, meets its conflicts in the
// log.
type cache[S state] struct {
	fresh func() S
	weigh func(S) int
	limit int // of all weights

	mu      sync.Mutex
	entries map[string]*folded[S]
	order   *list.List // of *folded[S], last used first
	total   int
}

func newCache[S state](fresh func() S, limit int, weigh func(S) int) *cache[S] {
	return &cache[S]{fresh: fresh, weigh: weigh, limit: limit, entries: make(map[string]*folded[S]), order: list.New()}
}

// get returns the aggregate of a stream, not locked and not up to date.
func (c *cache[S]) get(stream string) *folded[S] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.entries[stream]; ok {
		c.order.MoveToFront(f.place)
		return f
	}
	f := &folded[S]{stream: stream, lock: make(chan struct{}, 1), state: c.fresh()}
	f.place = c.order.PushFront(f)
	c.entries[stream] = f
	return f
}

// release unlocks f, and drops those unused for longest while all together
// weigh more than the limit; never the one used last.
func (c *cache[S]) release(f *folded[S]) {
	weight := c.weigh(f.state)
	<-f.lock
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.place == nil {
		return
	}
	c.total += weight - f.weight
	f.weight = weight
	for c.total > c.limit && c.order.Len() > 1 {
		last := c.order.Remove(c.order.Back()).(*folded[S])
		delete(c.entries, last.stream)
		c.total -= last.weight
		last.place = nil
	}
}
