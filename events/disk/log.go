package disk

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logEvery is the interval at which a full disk is logged. Without this limit every
// writer would log it at each retry, every few seconds.
const logEvery = time.Minute

// Quiet returns a handler that limits records about full disks to one a minute, and
// passes on all other records.
func Quiet(next slog.Handler) slog.Handler { return &quiet{next, &last{now: time.Now}} }

type quiet struct {
	slog.Handler
	last *last // shared by all handlers derived from the same handler
}

type last struct {
	now     func() time.Time
	mu      sync.Mutex
	at      time.Time
	skipped int // number of suppressed records since the last logged one
}

func (q *quiet) Handle(ctx context.Context, r slog.Record) error {
	isFull := false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		isFull = ok && IsFull(err)
		return !isFull
	})
	if isFull {
		now, skipped := q.last.allow()
		if !now {
			return nil
		}
		r = r.Clone()
		r.AddAttrs(slog.Int("not_logged", skipped))
	}
	return q.Handler.Handle(ctx, r)
}

// allow reports whether to log a record, and how many records were suppressed since the
// last logged one.
func (l *last) allow() (now bool, skipped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.now(); l.at.IsZero() || at.Sub(l.at) >= logEvery {
		skipped, l.at, l.skipped = l.skipped, at, 0
		return true, skipped
	}
	l.skipped++
	return false, 0
}

func (q *quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &quiet{q.Handler.WithAttrs(attrs), q.last}
}

func (q *quiet) WithGroup(name string) slog.Handler {
	return &quiet{q.Handler.WithGroup(name), q.last}
}
