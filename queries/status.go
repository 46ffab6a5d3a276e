package queries

import (
	"context"
	"errors"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
)

// logPatience is for how long the log is asked how far it is: whoever probes the
// service is to learn soon that it is away.
const logPatience = 2 * time.Second

// askLog asks the log something. Where it does not answer soon the error is of
// kind fault.Unavailable.
func askLog[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	soon, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	answer, err := ask(soon)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		err = fault.Hide(fault.Unavailable, "the log does not answer at the moment", err)
	}
	return answer, err
}

// Status tells how far every read model is. Those that can be told of are there
// also where the error, which is of the others or of the log, is not nil.
func (q *Queries) Status(ctx context.Context) (all []Model, err error) {
	head, err := askLog(ctx, q.Models.Vault.Head)
	heard := err == nil
	for _, m := range q.Models.All() {
		state, failure := q.status(ctx, m)
		if failure != nil {
			err = errors.Join(err, wrap(failure, "state of the read model "+m.Name()))
			continue
		}
		if heard {
			state.Head = max(head, state.Position)
			if state.Lag, failure = lag(ctx, m, state); failure != nil {
				err, heard = errors.Join(err, failure), false
			}
		}
		state.Unheard = !heard
		all = append(all, state)
	}
	return all, err
}

// lag returns for how long the first event that a read model has not passed is
// in the log.
func lag(ctx context.Context, m *projections.Runner, at Model) (time.Duration, error) {
	if at.Position == at.Head {
		return 0, nil
	}
	return askLog(ctx, func(ctx context.Context) (time.Duration, error) { return m.Age(ctx, at.Position) })
}

func (q *Queries) status(ctx context.Context, m *projections.Runner) (state Model, err error) {
	state.Name, state.Position, state.Leads, state.Full = m.Name(), m.Position(), m.Leads(), m.Full() != nil
	if err := m.DB().QueryRowContext(ctx, `SELECT count(*) FROM parked`).Scan(&state.Parked); err != nil {
		return state, err
	}
	if m == q.Models.Passages {
		err = m.DB().QueryRowContext(ctx, `SELECT count(*) FROM deferred`).Scan(&state.Waiting)
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
		b.Age, err = askLog(ctx, func(ctx context.Context) (time.Duration, error) { return work.Age(ctx, oldest-1) })
	}
	return b, wrap(err, "files that wait to be imported")
}
