// Package commands is the write side: a file for each aggregate (folder.go,
// document.go, job.go) with its state, its commands, and for each command a
// pure decide from state to events. Handler does the rest, in one place. It
// imports events and events/fault, and knows nothing of projections, queries
// and http.
package commands

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Handler carries out commands on a log. Set its fields before the first
// call. It is safe for use by several goroutines; other handlers, in other
// processes too, may work on the same log, where they have a Gate in common.
type Handler struct {
	Log        *events.Log
	Duplicates Duplicates     // nil: no file is known from elsewhere
	Names      Names          // nil: documents may have names that look alike
	Contents   Contents       // nil: folders are deleted with what is in them, or not at all
	Quota      *quota.Ledger  // nil: nothing is limited
	Changes    *quota.Changes // nil: changes are not limited
	Gate       Gate           // between processes that file on the same log; nil: this is the only one
	Logger     *slog.Logger   // nil: slog.Default()
	Rules      Rules          // of sharing, and of folders at the top level

	once      sync.Once
	folders   *cache[*tree]
	documents *cache[*document]
	jobs      *cache[*job]
	filing    *filing

	mu        sync.Mutex
	finishing map[uuid.UUID]*outcomes // by job
}

// Duplicates is what commands ask of the read side when a file is filed.
type Duplicates interface {
	// DuplicateOf returns a document with these bytes that the user may read,
	// if there is one: one in the folder if it can, or else anywhere.
	DuplicateOf(ctx context.Context, user events.User, folder uuid.UUID, sha256 string) (document uuid.UUID, found bool, err error)
}

// Names is what commands ask of the read side when documents get names.
type Names interface {
	// AlikeDocuments returns, for each name that a document is to have in a
	// folder, that of another document there that it would be taken for, and ""
	// where there is none. The document except is not compared with.
	AlikeDocuments(ctx context.Context, folders []uuid.UUID, names []string, except uuid.UUID) ([]string, error)

	// DocumentsNamed returns the documents of a name in a folder, the newest
	// first, by the log up to a position at least.
	DocumentsNamed(ctx context.Context, folder uuid.UUID, name string, after events.Position) ([]uuid.UUID, error)

	// NamesTaken reports for each name whether a document in the folder has it.
	NamesTaken(ctx context.Context, folders []uuid.UUID, names []string) ([]bool, error)
}

// Contents is what commands ask of the read side when a folder is deleted.
type Contents interface {
	// HoldsDocuments reports whether documents are directly in a folder, by
	// the log up to a position at least.
	HoldsDocuments(ctx context.Context, folder uuid.UUID, after events.Position) (bool, error)
}

// Bounds of what is kept folded between commands.
const (
	keptDocuments = 4096
	keptFiles     = 200_000 // of all jobs; 300 bytes each
)

func (h *Handler) init() {
	h.once.Do(func() {
		h.folders = newCache(func() *tree { return newTreeUnder(h.Rules) }, 1, func(*tree) int { return 1 })
		h.documents = newCache(func() *document { return &document{} }, keptDocuments, func(*document) int { return 1 })
		h.jobs = newCache(func() *job { return &job{} }, keptFiles, (*job).weight)
		h.filing = newFiling(h.Gate)
		h.finishing = make(map[uuid.UUID]*outcomes)
		if h.Logger == nil {
			h.Logger = slog.Default()
		}
	})
}

// state is an aggregate as its stream tells it.
type state interface {
	// apply folds the stream's next event in.
	apply(events.Event)
}

// action is one command on one stream.
type action[S state] struct {
	name   string
	stream string
	cause  events.Cause
	// user is charged for what the command appends; nobody for what follows from
	// an import that was accepted.
	user events.User
	// allow checks access; nil where decide does.
	allow func(context.Context, S) error
	// decide judges the command on the state alone. No events and no error
	// means that there is nothing to do.
	decide func(S) ([]events.Data, error)
	// id names the event that is to stand at a revision; nil for random ids.
	id func(revision int64, data events.Data) uuid.UUID
	// seen looks at the state as the command left it; may be nil. It must
	// not keep it.
	seen func(S)
}

// Retries of an append that met another one: 12 times, with pauses that
// double from 2 ms to 250 ms, about two seconds in all.
const (
	maxConflicts = 12
	firstPause   = 2 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// do folds the stream, checks access, decides, and appends at the revision up
// to which it folded; all of it again where another append came first. It
// returns the position of what was appended, or where nothing was, of what
// was decided on.
func do[S state](ctx context.Context, h *Handler, c *cache[S], a action[S]) (events.Position, error) {
	budget, err := h.charge(ctx, a.user)
	if err != nil {
		return 0, err
	}
	defer budget.Close()
	started := time.Now()
	pause := firstPause
	for try := 1; ; try++ {
		position, appended, err := attempt(ctx, h, c, a, budget, try > 1)
		if !errors.Is(err, errRaced) {
			h.Logger.LogAttrs(ctx, slog.LevelDebug, "command", slog.String("name", a.name), slog.String("stream", a.stream),
				slog.Int("events", appended), slog.Int("tries", try), slog.Duration("took", time.Since(started)),
				slog.String("correlation_id", a.cause.Correlation), slog.Any("error", err))
			return position, err
		}
		if try == maxConflicts {
			return 0, fault.Errorf(fault.Unavailable, "too many changes to %s at once: try again", a.stream)
		}
		if err := sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return 0, err
		}
		pause = min(2*pause, longestPause)
	}
}

// errRaced says that an append was made to the stream since it was read.
var errRaced = errors.New("another append came first")

func attempt[S state](ctx context.Context, h *Handler, c *cache[S], a action[S], budget *quota.Budget, raced bool) (at events.Position, appended int, err error) {
	f := c.get(a.stream)
	defer c.settle(f)
	refused := f.refused.Load()
	if err := f.turn.acquire(ctx); err != nil {
		return 0, 0, err
	}
	defer f.turn.release()
	if err := f.use.acquire(ctx); err != nil {
		return 0, 0, err
	}
	defer f.use.release()
	if err := f.since(refused); err != nil {
		return 0, 0, err
	}
	data, err := f.judge(ctx, h.Log, a, raced)
	if err != nil {
		return 0, 0, err
	}
	if len(data) > 0 {
		if err := budget.Spend(cost(data...), func() error { return f.append(ctx, h.Log, a, data) }); err != nil {
			return 0, 0, err
		}
	}
	if a.seen != nil {
		a.seen(f.state)
	}
	return f.position, len(data), nil
}

// judge decides on the stream. What is new in it is not looked for at first,
// where it was folded before: should anything be, the append meets a conflict.
// Only that there is nothing to append must not be said of an old state.
func (f *folded[S]) judge(ctx context.Context, log *events.Log, a action[S], raced bool) ([]events.Data, error) {
	decide := func() ([]events.Data, error) {
		if a.allow != nil {
			if err := a.allow(ctx, f.state); err != nil {
				return nil, err
			}
		}
		return a.decide(f.state)
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

// append adds events to the stream and folds them in. Meanwhile the state may
// be looked at by others, and be refreshed by what is being appended here.
func (f *folded[S]) append(ctx context.Context, log *events.Log, a action[S], data []events.Data) error {
	next := f.next
	added := make([]events.New, len(data))
	for i, d := range data {
		added[i].Data = d
		if a.id != nil {
			added[i].ID = a.id(next+int64(i), d)
		}
	}
	f.use.release()
	got, err := log.Append(ctx, a.stream, next-1, a.cause, added...)
	f.use <- struct{}{} // held for moments only
	if fault.Is(err, fault.Conflict) {
		return errRaced
	}
	if err != nil {
		return f.heard(err)
	}
	meta := events.Metadata{Actor: a.cause.Actor, Via: a.cause.Via, Correlation: a.cause.Correlation, Causation: a.cause.Causation}
	for i, n := range added {
		f.fold(events.Event{ID: n.ID, Stream: a.stream, Revision: next + int64(i), Position: got.Position, Type: events.TypeOf(n.Data), Data: n.Data, Metadata: meta})
	}
	return nil
}

// view calls look with the state of a stream, up to date. look must not keep
// it.
func view[S state](ctx context.Context, h *Handler, c *cache[S], stream string, look func(S) error) error {
	return peek(ctx, h, c, stream, func(S) bool { return false }, look)
}

// peek is view that does not look for what is new where the state as it was
// last known will do.
func peek[S state](ctx context.Context, h *Handler, c *cache[S], stream string, willDo func(S) bool, look func(S) error) error {
	f := c.get(stream)
	defer c.settle(f)
	before, refused := f.begun.Load(), f.refused.Load()
	if err := f.use.acquire(ctx); err != nil {
		return err
	}
	defer f.use.release()
	// A reading that began after this call did has seen all that there was
	// then: those who waited for each other share it.
	if f.current <= before && (!f.read || !willDo(f.state)) {
		if err := f.since(refused); err != nil {
			return err
		}
		if err := f.refresh(ctx, h.Log); err != nil {
			return err
		}
	}
	return look(f.state)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
