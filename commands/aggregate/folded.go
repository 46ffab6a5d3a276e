package aggregate

import (
	"container/list"
	"context"
	"errors"
	"sync/atomic"

	"annals/events"
	"annals/events/fault"
)

// folded is an aggregate, and how far its stream was folded.
type folded[S State] struct {
	stream string
	// turn is held by a command from its decision to the end of its append, so
	// commands of one process do not conflict with each other. use guards the
	// fields below, and is released while an append waits for the disk.
	turn, use lock

	state    S
	next     int64 // revision of the first event that is not folded yet
	position events.Position
	read     bool         // the stream was read at least once
	current  int64        // number of the last read that completed
	begun    atomic.Int64 // reads begun; not guarded by use
	failed   atomic.Int64 // reads and appends for which the log was unavailable; not guarded by use
	lastErr  error        // of the last of those

	// Guarded by the lock of the cache:
	weight  int           // as included in the total
	element *list.Element // nil once dropped
}

// lock is a mutex whose acquire ends with a context.
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

// decide checks access and returns the events of the command. It first tries the state as
// it is in the cache: if the stream has grown since, the append will conflict. An error,
// or a decision to append nothing, counts only on the current state.
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

// append appends events to the stream and folds them in. While the append waits, other
// callers may read the state, and refresh it with the events being appended.
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
	f.use <- struct{}{} // others hold it only for moments
	if fault.Is(err, fault.Conflict) {
		return ErrRaced
	}
	if err != nil {
		return f.count(err)
	}
	meta := events.Metadata{Actor: c.Cause.Actor, Via: c.Cause.Via, Correlation: c.Cause.Correlation, Causation: c.Cause.Causation}
	for i, n := range added {
		f.fold(events.Event{ID: n.ID, Stream: c.Stream, Revision: next + int64(i), Position: got.Position, Type: events.TypeOf(n.Data), Data: n.Data, Metadata: meta})
	}
	return nil
}

// refresh folds in the new events of the stream.
func (f *folded[S]) refresh(ctx context.Context, log *events.Log) error {
	reading := f.begun.Add(1)
	err := log.ReadStream(ctx, f.stream, f.next, func(e events.Event) error {
		f.fold(e)
		return nil
	})
	if errors.Is(err, events.ErrUnreadable) {
		err = fault.Hide(fault.Unavailable, "this version of the program cannot read its history", err)
	}
	if err == nil {
		f.read, f.current = true, reading
	}
	return f.count(err)
}

// count counts err if it means that the log was unavailable, and returns it.
func (f *folded[S]) count(err error) error {
	if fault.Is(err, fault.Unavailable) {
		f.lastErr = err
		f.failed.Add(1)
	}
	return err
}

// since returns the last error if the log was unavailable again since failed was read.
// All callers that waited meanwhile then fail at once, instead of trying the log one
// after another.
func (f *folded[S]) since(failed int64) error {
	if f.failed.Load() > failed {
		return f.lastErr
	}
	return nil
}

// fold applies the next event, once.
func (f *folded[S]) fold(e events.Event) {
	if e.Revision != f.next {
		return
	}
	f.state.Apply(e)
	f.next, f.position = e.Revision+1, e.Position
}
