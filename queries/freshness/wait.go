package freshness

import (
	"cmp"
	"context"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
)

const defaultMaxLag = 5 * time.Second

// Lag returns MaxLag, or its default.
func (q *Models) Lag() time.Duration { return cmp.Or(q.MaxLag, defaultMaxLag) }

// Await returns nil once m has passed p and may be read. After MaxLag the error is of
// kind fault.Unavailable.
func (q *Models) Await(ctx context.Context, m *projections.Runner, p events.Position) error {
	return q.awaitBy(ctx, m, m.Wait, p)
}

// AwaitTables is like Await, for readers that use only m's tables and not its search
// index.
func (q *Models) AwaitTables(ctx context.Context, m *projections.Runner, p events.Position) error {
	return q.awaitBy(ctx, m, m.WaitTables, p)
}

func (q *Models) awaitBy(ctx context.Context, m *projections.Runner, wait func(context.Context, events.Position) error, p events.Position) error {
	bounded, cancel := context.WithTimeout(ctx, q.Lag())
	defer cancel()
	err := wait(bounded, p)
	switch {
	case err == nil:
		return readable(m)
	case ctx.Err() != nil:
		return err
	}
	return fault.Hide(fault.Unavailable, "the read model "+m.Name()+" does not show recent changes yet: try again later", err)
}

// AwaitHead returns nil once m has passed the current head of the log and may be read.
// After MaxLag the error is of kind fault.Unavailable.
func (q *Models) AwaitHead(ctx context.Context, m *projections.Runner) error {
	head, err := AskLog(ctx, m.Head)
	if err != nil {
		return err
	}
	return q.Await(ctx, m, head)
}

// AwaitWrite returns nil once every read model that a client may read right after a
// write has passed p. It does not wait for stopped read models: reads of these fail and
// never return stale rows (see Trusted and Usable). If a read model cannot catch up
// because its disk is full, or ctx ends, AwaitWrite still waits for the others and then
// returns the first error.
func (q *Models) AwaitWrite(ctx context.Context, p events.Position) error {
	awaited := q.Awaited()
	for _, m := range awaited {
		m.Hurry(p) // let all read models catch up in parallel
	}
	var failure error
	for _, m := range awaited {
		if err := m.Wait(ctx, p); err != nil && m.Err() == nil {
			failure = cmp.Or(failure, err)
		}
	}
	return failure
}

// UntilPassed waits until m has passed p, without a time limit and even if m fails. It
// returns an error only if ctx ends.
func UntilPassed(ctx context.Context, m *projections.Runner, p events.Position) error {
	for {
		position, moved := m.Moved()
		if position >= p && m.Err() == nil {
			return nil
		}
		m.Hurry(p)
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Passed returns the position of the tables of m. It may be ahead of the runner's
// position, because other processes can apply events to the same tables.
func Passed(ctx context.Context, m *projections.Runner) (p events.Position, err error) {
	err = m.DB().QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, Wrap(err, "position of the read model "+m.Name())
}

// logTimeout bounds queries for the log's head: a health probe must soon report that
// the log is unreachable.
const logTimeout = 2 * time.Second

// AskLog queries the log. The error is of kind fault.Unavailable if the log does not
// respond within 2 s.
func AskLog[T any](ctx context.Context, query func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	result, err := query(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fault.Hide(fault.Unavailable, "the log does not respond at the moment", err)
	}
	return result, err
}
