package aggregate

import (
	"container/list"
	"context"
	"errors"
	"sync/atomic"

	"annals/events"
	"annals/events/fault"
)

// folded is an aggregate, and the position up to which its stream was folded.
type folded[S State] struct {
	stream string
	// A command holds the lock writing from its decision to the end of its append, so
	// commands of the same process do not conflict. The lock use guards the fields below,
	// and is released while an append waits for the disk.
	writing, use lock

	state    S
	next     int64 // revision of the first event that is not folded yet
	position events.Position
	read     bool  // the stream was read at least once
	lastRead int64 // number of the last read that succeeded
	lastErr  error // of the last read or append that failed because the log was unavailable

	readsBegun atomic.Int64
	failures   atomic.Int64 // reads and appends that failed because the log was unavailable

	// Guarded by Store.mu:
	weight  int           // included in the total
	element *list.Element // nil if dropped from the cache
}

// lock is a mutex with a cancellable acquire.
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

// decide checks access and returns the events of the command. It first uses the cached
// state: if the stream has grown since that state was read, the append will conflict. If the
// command returns no events or an error, or if raced is true, decide reads the stream and
// decides again.
func (f *folded[S]) decide(ctx context.Context, log *events.Log, c Command[S], raced bool) ([]events.Data, error) {
	decide := func() ([]events.Data, error) {
		if c.Allow != nil {
			if err := c.Allow(ctx, f.state); err != nil {
				return nil, err
			}
		}
		return c.Decide(f.state)
	}
	if f.read && !raced {
		if data, err := decide(); err == nil && len(data) > 0 {
			return data, nil
		}
	}
	if err := f.refresh(ctx, log); err != nil {
		return nil, err
	}
	return decide()
}

// append appends events to the stream and folds them in. While the append waits for the
// disk, other callers may read the stream and fold in these events first.
func (f *folded[S]) append(ctx context.Context, log *events.Log, c Command[S], data []events.Data) error {
	next := f.next
	added := make([]events.New, len(data))
	for i, d := range data {
		added[i].Data = d
		if c.ID != nil {
			added[i].ID = c.ID(next+int64(i), d)
		}
	}
	f.use.release()
	got, err := log.Append(ctx, c.Stream, next-1, c.Cause, added...)
	f.use <- struct{}{} // other callers hold use only briefly
	if fault.Is(err, fault.Conflict) {
		return ErrRaced
	}
	if err != nil {
		return f.recordFailure(err)
	}
	meta := events.Metadata{Actor: c.Cause.Actor, Via: c.Cause.Via, Correlation: c.Cause.Correlation, Causation: c.Cause.Causation}
	for i, n := range added {
		f.fold(events.Event{ID: n.ID, Stream: c.Stream, Revision: next + int64(i), Position: got.Position, Type: events.TypeOf(n.Data), Data: n.Data, Metadata: meta})
	}
	return nil
}

// refresh folds in the new events of the stream.
func (f *folded[S]) refresh(ctx context.Context, log *events.Log) error {
	number := f.readsBegun.Add(1)
	err := log.ReadStream(ctx, f.stream, f.next, func(e events.Event) error {
		f.fold(e)
		return nil
	})
	if errors.Is(err, events.ErrUnreadable) {
		err = fault.Hide(fault.Unavailable, "an event was written by a newer version of the program: upgrade it", err)
	}
	if err == nil {
		f.read, f.lastRead = true, number
	}
	return f.recordFailure(err)
}

// recordFailure records err if it means that the log is unavailable, and returns it.
func (f *folded[S]) recordFailure(err error) error {
	if fault.Is(err, fault.Unavailable) {
		f.lastErr = err
		f.failures.Add(1)
	}
	return err
}

// failedSince returns the last failure if there was one since the caller read f.failures and
// got the value failures. So all callers that waited for the same lock fail together.
// Otherwise each of them in turn would wait for the log to time out.
func (f *folded[S]) failedSince(failures int64) error {
	if f.failures.Load() > failures {
		return f.lastErr
	}
	return nil
}

// fold applies the event if it is the next one.
func (f *folded[S]) fold(e events.Event) {
	if e.Revision != f.next {
		return
	}
	f.state.Apply(e)
	f.next, f.position = e.Revision+1, e.Position
}
