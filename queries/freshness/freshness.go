// Package freshness decides when a read model may be read: whether it has passed a
// position, whether it can be trusted, and how long a read waits for it. It imports
// projections and events.
package freshness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
)

// Models are the read models that queries read, and the rules for waiting for them. Its
// methods are safe for concurrent use.
type Models struct {
	*projections.Set
	Vault, Jobs, Work, Summaries, Audit, Usage, Passages *projections.Runner
	// MaxLag bounds how long a read waits for a read model that is behind another. 0
	// means 5 s.
	MaxLag time.Duration
	// Start is the head of the log when the service started. The service is
	// ready once every read model has passed it.
	Start events.Position
}

// New returns the read models of a set.
func New(s *projections.Set, maxLag time.Duration, start events.Position) *Models {
	return &Models{
		Set:   s,
		Vault: s.Runner("vault"), Jobs: s.Runner("jobs"), Work: s.Runner("work"), Summaries: s.Runner("summaries"),
		Audit: s.Runner("audit"), Usage: s.Runner("usage"), Passages: s.Runner("passages"),
		MaxLag: maxLag, Start: start,
	}
}

const defaultMaxLag = 5 * time.Second

// Lag returns MaxLag, or its default.
func (q *Models) Lag() time.Duration { return cmp.Or(q.MaxLag, defaultMaxLag) }

// Await returns nil once m has passed p. After MaxLag the error is of kind
// fault.Unavailable.
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
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fault.Hide(fault.Unavailable, "wait for recent changes: the read model "+m.Name()+" is behind: try again later", err)
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
// position, because other processes see the tables first.
func Passed(ctx context.Context, m *projections.Runner) (p events.Position, err error) {
	err = m.DB().QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, Wrap(err, "position of the read model "+m.Name())
}

// Trusted returns an error of kind fault.Unavailable if the vault, which holds all
// permissions, must not be read: because it stopped, has not caught up since the
// start, or cannot apply revocations because its disk is full.
func (q *Models) Trusted(ctx context.Context) error {
	err := q.Vault.Err()
	if full := q.Vault.Full(); full != nil && err == nil {
		var withdraws bool
		if withdraws, err = q.Vault.Revokes(ctx); withdraws {
			err = cmp.Or(err, full)
		}
	}
	if err != nil {
		return fault.Errorf(fault.Unavailable, "the vault cannot be read at the moment: %w", err)
	}
	if p := q.Vault.Position(); p < q.Start {
		return fault.Errorf(fault.Unavailable, "the vault is being brought up to date: it is at position %d of %d", p, q.Start)
	}
	return nil
}

// Usable returns an error of kind fault.Unavailable if m has stopped, or has not
// caught up with the log since the start. Readers of a read model other than the vault
// call it first: replies to writes do not wait for one that has stopped.
func (q *Models) Usable(ctx context.Context, m *projections.Runner) error {
	if err := m.Err(); err != nil {
		return fault.Hide(fault.Unavailable, "the read model "+m.Name()+" cannot be read at the moment", err)
	}
	return q.Await(ctx, m, q.Start)
}

// Wrap adds what could not be read to an error. A damaged read model becomes
// fault.Unavailable, since it is rebuilt while the service runs.
func Wrap(err error, what string) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case projections.IsCorrupt(err):
		return fault.Hide(fault.Unavailable, what+" cannot be read at the moment: the read model is damaged and is being rebuilt", err)
	}
	return fmt.Errorf("read %s: %w", what, err)
}
