package freshness

import (
	"cmp"
	"context"

	"annals/events"
	"annals/projections"
)

// AwaitWrite returns nil once every read model that a client may read right after
// a write has passed p. It does not wait for stopped ones: their readers get an error,
// never stale rows (see Trusted and Usable). If one cannot continue, because ctx ends
// or its disk is full, its error is returned once all others have passed p.
func (q *Models) AwaitWrite(ctx context.Context, p events.Position) error {
	awaited := q.Awaited()
	for _, m := range awaited {
		m.Hurry(p) // let all catch up at the same time
	}
	var failure error
	for _, m := range awaited {
		if err := m.Wait(ctx, p); err != nil && m.Err() == nil {
			failure = cmp.Or(failure, err)
		}
	}
	return failure
}

// AwaitHead returns nil once m has passed the current head of the log. After MaxLag
// the error is of kind fault.Unavailable.
func (q *Models) AwaitHead(ctx context.Context, m *projections.Runner) error {
	head, err := AskLog(ctx, m.Head)
	if err != nil {
		return err
	}
	return q.Await(ctx, m, head)
}
