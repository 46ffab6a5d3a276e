package queries

import (
	"context"
	"errors"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/freshness"
)

// Ready returns nil if every read model has passed the head that the log had when the
// service started. Otherwise the error is of kind fault.Unavailable and names a read
// model that is behind. An unreachable search engine is ignored, because only search
// needs it.
func (q *Queries) Ready(ctx context.Context) error {
	for _, m := range q.Models.All() {
		if err := m.Err(); err != nil {
			return err
		}
		p := m.Position()
		if m.Unreachable() != nil {
			p = m.Applied()
		}
		if p < q.Models.Start {
			if full := m.Full(); full != nil {
				return full
			}
			return fault.Errorf(fault.Unavailable, "the read model %s is at position %d of %d", m.Name(), p, q.Models.Start)
		}
	}
	if err := q.Models.Trusted(ctx); err != nil {
		return err
	}
	_, err := freshness.Passed(ctx, q.Models.Vault) // every read begins with the vault
	return err
}

// Model is the state of a read model.
type Model struct {
	Name           string
	Position, Head events.Position // last applied position, and the log's head
	Lag            time.Duration   // age of the first event not yet applied; 0 if it is up to date
	HeadUnknown    bool            // Head and Lag are unknown, because the log does not respond
	Waiting        int             // documents whose indexing was deferred: very large ones, and those in moved folders; or that wait for vectors
	Full           bool            // the read model cannot catch up because its disk is full
	Leader         bool            // this node applies events to the read model
	Parked         int             // parked events, including later ones of their streams
}

// Status returns the state of every read model. If the log or a read model cannot be
// queried, it returns an error and the states of the others.
func (q *Queries) Status(ctx context.Context) (all []Model, err error) {
	head, err := freshness.AskLog(ctx, q.Models.Vault.Head)
	reachable := err == nil
	for _, m := range q.Models.All() {
		state, failure := q.status(ctx, m)
		if failure != nil {
			err = errors.Join(err, freshness.Wrap(failure, "state of the read model "+m.Name()))
			continue
		}
		if reachable {
			state.Head = max(head, state.Position)
			if state.Lag, failure = lag(ctx, m, state); failure != nil {
				err, reachable = errors.Join(err, failure), false
			}
		}
		state.HeadUnknown = !reachable
		all = append(all, state)
	}
	return all, err
}

// lag returns the age of the first event that a read model has not applied.
func lag(ctx context.Context, m *projections.Runner, at Model) (time.Duration, error) {
	if at.Position == at.Head {
		return 0, nil
	}
	return freshness.AskLog(ctx, func(ctx context.Context) (time.Duration, error) { return m.Age(ctx, at.Position) })
}

func (q *Queries) status(ctx context.Context, m *projections.Runner) (state Model, err error) {
	state.Name, state.Position, state.Leader, state.Full = m.Name(), m.Position(), m.Leads(), m.Full() != nil
	if err := m.DB().QueryRowContext(ctx, `SELECT count(*) FROM parked`).Scan(&state.Parked); err != nil {
		return state, err
	}
	if m == q.Models.Vectors {
		if state.Position, err = m.Reached(ctx); err != nil {
			return state, err
		}
		err = m.DB().QueryRowContext(ctx, `SELECT count(*) FROM documents WHERE waiting > 0`).Scan(&state.Waiting)
	}
	if m == q.Models.Passages {
		err = m.DB().QueryRowContext(ctx, `SELECT count(*) FROM deferred`).Scan(&state.Waiting)
	}
	return state, err
}

// Backlog counts the files that wait to be imported.
type Backlog struct {
	Files int           // files that wait or are in progress
	Age   time.Duration // of the oldest file, since its job was accepted
}

// Backlog returns the files that wait to be imported.
func (q *Queries) Backlog(ctx context.Context) (b Backlog, err error) {
	work := q.Models.Work
	var oldest events.Position
	err = work.DB().QueryRowContext(ctx, `SELECT count(*), coalesce(min(accepted), 0) FROM files WHERE owner > ''`).Scan(&b.Files, &oldest)
	if err == nil && b.Files > 0 {
		b.Age, err = freshness.AskLog(ctx, func(ctx context.Context) (time.Duration, error) { return work.Age(ctx, oldest-1) })
	}
	return b, freshness.Wrap(err, "files that wait to be imported")
}
