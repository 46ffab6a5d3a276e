// Package freshness decides whether a read model may be read, and waits until it has
// passed a position. It imports projections and events.
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

// Models are the read models of all queries. Its methods are safe for concurrent use.
type Models struct {
	*projections.Set
	Vault, Jobs, Work, Summaries, Audit, Usage, Passages *projections.Runner
	Search                                               *projections.Index  // of Passages
	Vectors                                              *projections.Runner // nil if the service makes no vectors
	// MaxLag is the maximum time that a read waits for a read model to catch up. 0 means
	// 5 s.
	MaxLag time.Duration
	// Start is the head of the log when the service started. A read model is not read
	// before it has passed this position.
	Start events.Position
}

// New returns the read models of a set.
func New(s *projections.Set, maxLag time.Duration, start events.Position) *Models {
	m := &Models{
		Set:   s,
		Vault: s.Runner("vault"), Jobs: s.Runner("jobs"), Work: s.Runner("work"), Summaries: s.Runner("summaries"),
		Audit: s.Runner("audit"), Usage: s.Runner("usage"), Passages: s.Runner("passages"), Search: s.Search,
		MaxLag: maxLag, Start: start,
	}
	for _, r := range s.All() {
		if r.Name() == "vectors" {
			m.Vectors = r
		}
	}
	return m
}

// Beside returns read models in which Passages is an inactive generation. Its readers wait
// until that has the events that the active one has now. release must be called after the
// last read. The errors are those of projections.Set.Beside.
func (q *Models) Beside(ctx context.Context, generation int) (m *Models, release func(), err error) {
	passages, release, err := q.Set.Beside(ctx, q.Passages.Name(), generation)
	if err != nil {
		return nil, nil, err
	}
	other := *q
	other.Start = max(q.Start, q.Passages.Position())
	other.Passages, other.Search = passages, passages.Index()
	return &other, release, nil
}

// Trusted returns an error of kind fault.Unavailable if the vault, which holds all
// permissions, must not be read: it has stopped, has not caught up since the start, or
// has a full disk and cannot apply revocations.
func (q *Models) Trusted(ctx context.Context) error {
	err := q.Vault.Err()
	if full := q.Vault.Full(); full != nil && err == nil {
		var revokes bool
		if revokes, err = q.Vault.Revokes(ctx); revokes {
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

// Usable returns an error of kind fault.Unavailable if m has stopped, or has not caught
// up with the log since the start. Call it or Await before reading a read model other
// than the vault: AwaitWrite does not wait for stopped read models, so their rows may be
// stale.
func (q *Models) Usable(ctx context.Context, m *projections.Runner) error {
	if err := readable(m); err != nil {
		return err
	}
	return q.Await(ctx, m, q.Start)
}

// readable returns an error if m has stopped, or if this node may be reading a
// generation that is no longer active.
func readable(m *projections.Runner) error {
	if err := m.Err(); err != nil {
		return fault.Hide(fault.Unavailable, "the read model "+m.Name()+" cannot be read at the moment", err)
	}
	return nil
}

// Wrap adds what, the thing that could not be read, to an error. A corrupt read model
// becomes fault.Unavailable, since it is rebuilt while the service runs.
func Wrap(err error, what string) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case projections.IsCorrupt(err):
		return fault.Hide(fault.Unavailable, what+" cannot be read at the moment: the read model is corrupt and is being rebuilt", err)
	}
	return fmt.Errorf("read %s: %w", what, err)
}
