// Package aggregate executes commands on aggregates, each folded from one stream. It folds
// the new events of the stream, and calls the command's Decide with the state. It appends
// the events that Decide returns, on condition that the stream still ends at the last
// folded revision. If another append came first, it retries. It imports events,
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

// State is the state of an aggregate.
type State interface {
	// Apply folds in the next event of the stream.
	Apply(events.Event)
}

// Store executes commands on aggregates of one kind, and caches the most recently used
// ones. Set its fields before the first call. It is safe for concurrent use. Stores of
// other processes may append to the same streams.
type Store[S State] struct {
	Log    *events.Log
	Logger *slog.Logger
	// Charge opens the budget that a user's change is charged to.
	Charge func(context.Context, events.User) (*quota.Budget, error)
	New    func() S    // returns the state of an empty stream
	Weigh  func(S) int // returns the weight of an aggregate in the cache; nil: each weighs 1
	Limit  int         // maximum total weight of the cache; the aggregate used last is always kept

	mu      sync.Mutex
	entries map[string]*folded[S]
	order   list.List // cached aggregates (*folded[S]), most recently used first
	total   int
}

// Command is a command on one stream.
type Command[S State] struct {
	Name   string // name of the command in log lines
	Stream string
	Cause  events.Cause
	// User is charged for the events. It is empty for the steps of an import, which are
	// free of charge.
	User events.User
	// Allow checks access; nil if Decide does.
	Allow func(context.Context, S) error
	// Decide returns the events to append, none if there is nothing to do. It must
	// depend on the state alone.
	Decide func(S) ([]events.Data, error)
	// ID returns the id of the event at a revision. If it is nil, ids are random.
	ID func(revision int64, data events.Data) uuid.UUID
	// Seen is called with the state after the command, and must not retain it. It may be
	// nil.
	Seen func(S)
}

// Do executes a command. It returns the position of the last event that it appended or, if
// there was nothing to append, of the last event that it folded.
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
	defer s.weigh(f)
	failures := f.failures.Load()
	if err := f.writing.acquire(ctx); err != nil {
		return 0, 0, err
	}
	defer f.writing.release()
	if err := f.use.acquire(ctx); err != nil {
		return 0, 0, err
	}
	defer f.use.release()
	if err := f.failedSince(failures); err != nil {
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

// View calls view with the current state of a stream. The function view must not retain the
// state.
func (s *Store[S]) View(ctx context.Context, stream string, view func(S) error) error {
	return s.Peek(ctx, stream, func(S) bool { return false }, view)
}

// Peek is like View, but if enough returns true for the cached state, it uses that state and
// does not read the stream.
func (s *Store[S]) Peek(ctx context.Context, stream string, enough func(S) bool, view func(S) error) error {
	f := s.get(stream)
	defer s.weigh(f)
	before, failures := f.readsBegun.Load(), f.failures.Load()
	if err := f.use.acquire(ctx); err != nil {
		return err
	}
	defer f.use.release()
	// A read by another caller is recent enough if it began after this call. So all callers
	// that wait for the lock share one read.
	if f.lastRead <= before && (!f.read || !enough(f.state)) {
		if err := f.failedSince(failures); err != nil {
			return err
		}
		if err := f.refresh(ctx, s.Log); err != nil {
			return err
		}
	}
	return view(f.state)
}
