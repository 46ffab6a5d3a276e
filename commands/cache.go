package commands

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"annals/events"
	"annals/events/fault"
)

// folded is an aggregate with the place in its stream up to which it was
// folded.
type folded[S state] struct {
	stream string
	// turn is held by a command from its decision to the end of its append,
	// so that commands of this process do not meet each other's conflicts.
	// use is held by whoever uses the fields below it, not while an append
	// waits for the disk.
	turn, use lock

	state    S
	next     int64 // revision of the first event that is not folded yet
	position events.Position
	read     bool         // the stream was read, once at least
	current  int64        // number of the last reading that came to its end
	begun    atomic.Int64 // readings, not under use
	refused  atomic.Int64 // readings and appends that the log did not answer, not under use
	away     error        // what came of the last of them

	weight int           // as counted in the cache, under its lock
	place  *list.Element // in the cache; nil once dropped
}

// lock is a mutex for which one can wait until a context ends.
type lock chan struct{}

func (l lock) acquire(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l lock) release() { <-l }

// refresh folds what is new in the stream.
func (f *folded[S]) refresh(ctx context.Context, log *events.Log) error {
	reading := f.begun.Add(1)
	err := log.ReadStream(ctx, f.stream, f.next, func(e events.Event) error {
		f.fold(e)
		return nil
	})
	if errors.Is(err, events.ErrUnreadable) {
		err = fault.Hide(fault.Unavailable, "the history of it cannot be read by this version of the program", err)
	}
	if err == nil {
		f.read, f.current = true, reading
	}
	return f.heard(err)
}

// heard notes whether the log has answered, and returns err.
func (f *folded[S]) heard(err error) error {
	if fault.Is(err, fault.Unavailable) {
		f.away = err
		f.refused.Add(1)
	}
	return err
}

// since returns what came of a reading or an append that the log did not answer
// while one waited, who had counted so many before: to ask once more would keep
// all the others waiting, one after another.
func (f *folded[S]) since(refused int64) error {
	if f.refused.Load() > refused {
		return f.away
	}
	return nil
}

// fold applies the next event, once.
func (f *folded[S]) fold(e events.Event) {
	if e.Revision != f.next {
		return
	}
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
	f := &folded[S]{stream: stream, turn: make(lock, 1), use: make(lock, 1), state: c.fresh()}
	f.place = c.order.PushFront(f)
	c.entries[stream] = f
	return f
}

// settle weighs f after it was used, and drops those unused for longest while
// all together weigh more than the limit; never the one used last.
func (c *cache[S]) settle(f *folded[S]) {
	select {
	case f.use <- struct{}{}:
	default:
		return // whoever uses it settles it afterwards
	}
	weight := c.weigh(f.state)
	f.use.release()
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
