package projections

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"annals/events/failpoint"
	"annals/events/fault"
)

// States of a generation that does not serve.
const (
	filling = "filling" // by a rebuild, which may have been interrupted
	ready   = "ready"   // to serve
	kept    = "kept"    // it served before
	gone    = "gone"    // its files are to be deleted
)

// spare is a generation of a projection beside the one that serves.
type spare struct {
	projection          string
	generation, version int
	state               string
}

func (s *spare) fields() []any { return []any{&s.projection, &s.generation, &s.version, &s.state} }

const spareColumns = `SELECT projection, generation, version, state FROM spares `

// spares returns those of a projection, the newest first.
func (c *Control) spares(ctx context.Context, projection string) ([]spare, error) {
	all, err := List(ctx, c.db, (*spare).fields, spareColumns+`WHERE projection = $1 ORDER BY generation DESC`, projection)
	return all, c.told(err)
}

// readySpares returns those of all projections that are ready to serve.
func (c *Control) readySpares(ctx context.Context) ([]spare, error) {
	all, err := List(ctx, c.db, (*spare).fields, spareColumns+`WHERE state = 'ready' ORDER BY projection, generation`)
	return all, c.told(err)
}

func (c *Control) setSpare(ctx context.Context, s spare) error {
	_, err := c.exec(ctx, `INSERT INTO spares (projection, generation, version, state) VALUES ($1, $2, $3, $4)
		ON CONFLICT (projection, generation) DO UPDATE SET state = excluded.state`, s.projection, s.generation, s.version, s.state)
	return err
}

func (c *Control) dropSpare(ctx context.Context, projection string, generation int) error {
	_, err := c.exec(ctx, `DELETE FROM spares WHERE projection = $1 AND generation = $2`, projection, generation)
	return err
}

// serve lets a spare generation that is ready serve from now on, and keeps the
// one that did, in place of any that was kept before. It is fault.Conflict where
// another process gave the spare up meanwhile, whose number may be another's by
// now.
func (c *Control) serve(ctx context.Context, s spare) error {
	err := c.transaction(ctx, 1, slices.Concat(c.settle(), []string{
		`UPDATE spares SET state = 'gone' WHERE projection = $1 AND state = 'kept' AND generation <> $2`,
		`INSERT INTO spares (projection, generation, version, state)
			SELECT projection, generation, version, 'kept' FROM generations WHERE projection = $1 AND generation <> $2`,
		`INSERT INTO generations (projection, version, generation) VALUES ($1, $3, $2)
			ON CONFLICT (projection) DO UPDATE SET version = excluded.version, generation = excluded.generation`,
		`DELETE FROM spares WHERE projection = $1 AND generation = $2 AND version = $3 AND state = 'ready'`,
	}), s.projection, s.generation, s.version)
	failpoint.Here(failpoint.TakenOver)
	return err
}

// discard gives up all generations of a projection.
func (c *Control) discard(ctx context.Context, projection string) error {
	return c.transaction(ctx, 0, []string{
		`UPDATE spares SET state = 'gone' WHERE projection = $1`,
		`INSERT INTO spares (projection, generation, version, state)
			SELECT projection, generation, version, 'gone' FROM generations WHERE projection = $1`,
		`DELETE FROM generations WHERE projection = $1`,
	}, projection)
}

// transaction carries out statements, all or none, each with as many of the
// parameters as it names. It is none, and fault.Conflict, where the last changes
// fewer rows than least.
func (c *Control) transaction(ctx context.Context, least int64, statements []string, args ...any) (err error) {
	defer func() { err = c.told(err) }()
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if c.lock != "" {
		statements = append([]string{c.lock}, statements...)
	}
	var changed int64
	for _, statement := range statements {
		named := 0
		for named < len(args) && strings.Contains(statement, fmt.Sprintf("$%d", named+1)) {
			named++
		}
		result, err := tx.ExecContext(ctx, statement, args[:named]...)
		if err == nil {
			changed, err = result.RowsAffected()
		}
		if err != nil {
			return err
		}
	}
	if changed < least {
		return fault.Errorf(fault.Conflict, "another process was there first")
	}
	return tx.Commit()
}

// nextGeneration returns a number that no generation of a projection has.
func (c *Control) nextGeneration(ctx context.Context, projection string) (number int, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT 1 + coalesce(max(generation), 0) FROM
		(SELECT generation FROM generations WHERE projection = $1 UNION ALL SELECT generation FROM spares WHERE projection = $1) AS numbers`, projection).Scan(&number)
	return number, c.told(err)
}

// find returns the newest spare of a projection in one of some states.
func (c *Control) find(ctx context.Context, projection string, states ...string) (found spare, ok bool, err error) {
	all, err := c.spares(ctx, projection)
	i := slices.IndexFunc(all, func(s spare) bool { return slices.Contains(states, s.state) })
	if err != nil || i < 0 {
		return spare{}, false, err
	}
	return all[i], true, nil
}
