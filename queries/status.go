package queries

import (
	"context"
	"errors"
	"time"

	"annals/events"
	"annals/projections"
)

// Status tells how far every read model is. Those that can be told of are there
// also where the error, which is of the others, is not nil.
func (q *Queries) Status(ctx context.Context) (all []Model, err error) {
	for _, m := range q.Models.All() {
		state, failure := q.status(ctx, m)
		if failure != nil {
			err = errors.Join(err, wrap(failure, "state of the read model "+m.Name()))
			continue
		}
		all = append(all, state)
	}
	return all, err
}

func (q *Queries) status(ctx context.Context, m *projections.Runner) (state Model, err error) {
	state.Name, state.Position, state.Leads = m.Name(), m.Position(), m.Leads()
	if state.Head, err = m.Head(ctx); err != nil {
		return state, err
	}
	if state.Lag, err = m.Age(ctx, state.Position); err != nil {
		return state, err
	}
	if err := m.DB().QueryRowContext(ctx, `SELECT count(*) FROM parked`).Scan(&state.Parked); err != nil {
		return state, err
	}
	if m == q.Models.Passages {
		err = m.DB().QueryRowContext(ctx, `SELECT count(*) FROM relabels`).Scan(&state.Waiting)
	}
	return state, err
}

// Backlog is what waits to be imported.
type Backlog struct {
	Files int           // whose import has not ended, those in work among them
	Age   time.Duration // of the oldest of them, since its job was accepted
}

// Backlog tells how much waits to be imported, and for how long.
func (q *Queries) Backlog(ctx context.Context) (b Backlog, err error) {
	work := q.Models.Work
	var oldest events.Position
	err = work.DB().QueryRowContext(ctx, `SELECT count(*), coalesce(min(accepted), 0) FROM files WHERE owner > ''`).Scan(&b.Files, &oldest)
	if err == nil && b.Files > 0 {
		b.Age, err = work.Age(ctx, oldest-1)
	}
	return b, wrap(err, "files that wait to be imported")
}
