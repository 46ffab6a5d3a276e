package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"annals/events"
	"annals/events/fault"
)

// asked is a wish that parked events of a read model are taken up again.
type asked struct{ projection, stream string }

// AskRetry asks the server that holds the read models, or else the next one, to
// do as Options.Retry does.
func (c *Control) AskRetry(ctx context.Context, projection, stream string) error {
	_, err := c.exec(ctx, `INSERT INTO retries (projection, stream) VALUES ($1, $2)
		ON CONFLICT (projection, stream) DO UPDATE SET applied = NULL, barred = NULL`, projection, stream)
	return err
}

// AnswerOf returns what came of AskRetry; found is false as long as nothing did.
func (c *Control) AnswerOf(ctx context.Context, projection, stream string) (done Retried, found bool, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT applied, barred FROM retries WHERE projection = $1 AND stream = $2 AND applied IS NOT NULL`, projection, stream).
		Scan(&done.Applied, &done.Barred)
	if errors.Is(err, sql.ErrNoRows) {
		return Retried{}, false, nil
	}
	return done, err == nil, c.told(err)
}

// ForgetRetry takes back what AskRetry asked, with the answer.
func (c *Control) ForgetRetry(ctx context.Context, projection, stream string) error {
	_, err := c.exec(ctx, `DELETE FROM retries WHERE projection = $1 AND stream = $2`, projection, stream)
	return err
}

// retries returns what was asked and has no answer yet.
func (c *Control) retries(ctx context.Context) ([]asked, error) {
	all, err := List(ctx, c.db, func(a *asked) []any { return []any{&a.projection, &a.stream} },
		`SELECT projection, stream FROM retries WHERE applied IS NULL ORDER BY projection, stream`)
	return all, c.told(err)
}

func (c *Control) answer(ctx context.Context, a asked, done Retried) error {
	_, err := c.exec(ctx, `UPDATE retries SET applied = $3, barred = $4 WHERE projection = $1 AND stream = $2`,
		a.projection, a.stream, done.Applied, done.Barred)
	return err
}

// retryAsked takes up parked events where that was asked for.
func (s *Set) retryAsked(ctx context.Context) error {
	var errs []error
	for _, control := range s.options.controls() {
		all, err := control.retries(ctx)
		errs = append(errs, err)
		for _, a := range all {
			for _, r := range s.All() {
				if r.Name() == a.projection {
					errs = append(errs, s.options.retryFor(ctx, r, a))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// retryFor does what was asked. The answer comes last: what is cut off, or fails
// for a fault that passes, is done again.
func (o Options) retryFor(ctx context.Context, r *Runner, a asked) error {
	if leads, err := r.leading(ctx); err != nil || !leads {
		return err // whoever leads does
	}
	done, err := r.retry(ctx, a.stream)
	switch {
	case err == nil:
		o.Logger.Info("parked events were taken up", "projection", a.projection, "applied", done.Applied, "streams_for_a_rebuild", done.Barred)
	case ctx.Err() != nil, passing(err):
		return fmt.Errorf("%s: %w", a.projection, err)
	default:
		o.Logger.Error("parked events cannot be taken up", "projection", a.projection, "error", err)
	}
	return o.ControlOf(a.projection).answer(ctx, a, done)
}

// RebuildAnew is Rebuild from the first event on: what was begun may have been
// filled by a program that could not apply what this one can.
func (o Options) RebuildAnew(ctx context.Context, name string, told func(done, head events.Position)) (generation int, err error) {
	p, err := named(name)
	if err != nil {
		return 0, err
	}
	err = o.ControlOf(name).alone(ctx, name, func(ctx context.Context) error {
		s, ok, err := o.ControlOf(name).find(ctx, name, filling, ready)
		switch {
		case err != nil || !ok:
			return err
		case s.state == ready:
			return fault.Errorf(fault.Conflict, "generation %d of %s is still to be taken up", s.generation, name)
		}
		return o.giveUp(ctx, p, s)
	})
	if err != nil {
		return 0, err
	}
	return o.rebuild(ctx, p, told)
}
