// Package aggregate executes commands on aggregates, each the fold of one stream. It
// folds the new events of the stream, lets the command decide by the state alone, and
// appends the resulting events at the revision it has folded. If another append came
// first, it starts over. It knows no particular aggregate, and imports events,
// events/fault and commands/quota.
package aggregate

import (
	"container/list"
	"context"
	"log/slog"
	"sync"
	"time"

	"annals/commands/quota"
	"annals/events"

	"github.com/google/uuid"
)

// State is an aggregate, folded from its stream.
type State interface {
	// Apply folds in the next event of the stream.
	Apply(events.Event)
}

// Store executes commands on the aggregates of one kind, and caches those that were
// used last. Set its fields before the first call. It is safe for use by several
// goroutines; stores of other processes may work on the same streams.
type Store[S State] struct {
	Log    *events.Log
	Logger *slog.Logger
	// Charge opens the budget that a user's change is charged to.
	Charge func(context.Context, events.User) (*quota.Budget, error)
	New    func() S    // returns the state of an empty stream
	Weigh  func(S) int // nil: each weighs 1
	Limit  int         // of the sum of weights in the cache; the aggregate used last is always kept

	mu      sync.Mutex
	entries map[string]*folded[S]
	order   list.List // of *folded[S], last used first
	total   int
}

// Command is one command on one stream.
type Command[S State] struct {
	Name   string // for the program's log
	Stream string
	Cause  events.Cause
	// User is charged for what the command appends. It is empty for the steps of an
	// accepted import, which nobody is charged for.
	User events.User
	// Allow checks access; nil if Decide does.
	Allow func(context.Context, S) error
	// Decide returns the events to append, by the state alone. No events and no error
	// means that there is nothing to do.
	Decide func(S) ([]events.Data, error)
	// ID returns the id of the event at a revision; nil for random ids.
	ID func(revision int64, data events.Data) uuid.UUID
	// Seen is called with the state after the command, which it must not keep. It may
	// be nil.
	Seen func(S)
}

// Do folds the stream, checks access, decides, and appends at the revision it has
// folded. If another append came first, it starts over. It returns the position of the
// last event appended or, if there was nothing to append, of the last one folded.
func (s *Store[S]) Do(ctx context.Context, c Command[S]) (events.Position, error) {
	budget, err := s.Charge(ctx, c.User)
	if err != nil {
		return 0, err
	}
	defer budget.Close()
	started := time.Now()
	tries, appended := 0, 0
	position, err := Retry(ctx, c.Stream, func() (at events.Position, err error) {
		tries++
		at, appended, err = s.attempt(ctx, c, budget, tries > 1)
		return at, err
	})
	s.Logger.LogAttrs(ctx, slog.LevelDebug, "command", slog.String("name", c.Name), slog.String("stream", c.Stream),
		slog.Int("events", appended), slog.Int("tries", tries), slog.Duration("took", time.Since(started)),
		slog.String("correlation_id", c.Cause.Correlation), slog.Any("error", err))
	return position, err
}

func (s *Store[S]) attempt(ctx context.Context, c Command[S], budget *quota.Budget, raced bool) (at events.Position, appended int, err error) {
	f := s.get(c.Stream)
	defer s.settle(f)
	failed := f.failed.Load()
	if err := f.turn.acquire(ctx); err != nil {
		return 0, 0, err
	}
	defer f.turn.release()
	if err := f.use.acquire(ctx); err != nil {
		return 0, 0, err
	}
	defer f.use.release()
	if err := f.since(failed); err != nil {
		return 0, 0, err
	}
	data, err := f.decide(ctx, s.Log, c, raced)
	if err != nil {
		return 0, 0, err
	}
	if len(data) > 0 {
		if err := budget.Spend(quota.Cost(data...), func() error { return f.append(ctx, s.Log, c, data) }); err != nil {
			return 0, 0, err
		}
	}
	if c.Seen != nil {
		c.Seen(f.state)
	}
	return f.position, len(data), nil
}

// View calls look with the current state of a stream. look must not keep it.
func (s *Store[S]) View(ctx context.Context, stream string, look func(S) error) error {
	return s.Peek(ctx, stream, func(S) bool { return false }, look)
}

// Peek is like View, but does not read the stream if enough accepts the state that is
// in the cache.
func (s *Store[S]) Peek(ctx context.Context, stream string, enough func(S) bool, look func(S) error) error {
	f := s.get(stream)
	defer s.settle(f)
	before, failed := f.begun.Load(), f.failed.Load()
	if err := f.use.acquire(ctx); err != nil {
		return err
	}
	defer f.use.release()
	// A read that began after this call did has seen everything up to the call, so
	// callers that waited for each other share one read.
	if f.current <= before && (!f.read || !enough(f.state)) {
		if err := f.since(failed); err != nil {
			return err
		}
		if err := f.refresh(ctx, s.Log); err != nil {
			return err
		}
	}
	return look(f.state)
}
