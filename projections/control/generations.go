package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/sqldb"
)

// States of a generation that is not active.
const (
	Filling = "filling" // a rebuild fills it, or was interrupted
	Ready   = "ready"   // it is filled, and is to become active
	Held    = "held"    // it is filled, and becomes active only if an operator decides so
	Kept    = "kept"    // it was active before
	Gone    = "gone"    // its tables are to be deleted
)

// Generation is a generation that is not active.
type Generation struct {
	Projection      string
	Number, Version int
	State           string
}

func (s *Generation) fields() []any { return []any{&s.Projection, &s.Number, &s.Version, &s.State} }

const selectInactive = `SELECT projection, generation, version, CASE WHEN state = 'filling' AND EXISTS (SELECT 1 FROM holds h
	WHERE h.projection = s.projection AND h.generation = s.generation) THEN 'held' ELSE state END FROM spares s `

// Inactive returns the generations of a projection that are not active, the newest
// first.
func (c *Store) Inactive(ctx context.Context, projection string) ([]Generation, error) {
	all, err := sqldb.List(ctx, c.db, (*Generation).fields, selectInactive+`WHERE projection = $1 ORDER BY generation DESC`, projection)
	return all, err
}

// AllReady returns the generations of all projections that are ready to become
// active.
func (c *Store) AllReady(ctx context.Context) ([]Generation, error) {
	all, err := sqldb.List(ctx, c.db, (*Generation).fields, selectInactive+`WHERE state = 'ready' ORDER BY projection, generation`)
	return all, err
}

// Save adds a generation, or changes its state.
func (c *Store) Save(ctx context.Context, s Generation) error {
	hold := `DELETE FROM holds WHERE projection = $1 AND generation = $2`
	if s.State == Held {
		s.State, hold = Filling, `INSERT INTO holds (projection, generation) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	}
	return c.transaction(ctx, 0, []string{hold, `INSERT INTO spares (projection, generation, version, state) VALUES ($1, $2, $3, $4)
		ON CONFLICT (projection, generation) DO UPDATE SET state = excluded.state`}, s.Projection, s.Number, s.Version, s.State)
}

// Drop removes a generation whose tables were deleted.
func (c *Store) Drop(ctx context.Context, projection string, generation int) error {
	return c.transaction(ctx, 0, []string{
		`DELETE FROM holds WHERE projection = $1 AND generation = $2`,
		`DELETE FROM spares WHERE projection = $1 AND generation = $2`,
	}, projection, generation)
}

// Activate makes a ready generation the active one, keeps the previously active one, and
// gives up the generation that was kept before. If another process has given up the ready
// generation in the meantime, the error is fault.Conflict.
func (c *Store) Activate(ctx context.Context, s Generation) error {
	err := c.transaction(ctx, 1, slices.Concat(c.settle(), []string{
		`UPDATE spares SET state = 'gone' WHERE projection = $1 AND state = 'kept' AND generation <> $2`,
		`INSERT INTO spares (projection, generation, version, state)
			SELECT projection, generation, version, 'kept' FROM generations WHERE projection = $1 AND generation <> $2`,
		`INSERT INTO generations (projection, version, generation) VALUES ($1, $3, $2)
			ON CONFLICT (projection) DO UPDATE SET version = excluded.version, generation = excluded.generation`,
		`DELETE FROM spares WHERE projection = $1 AND generation = $2 AND version = $3 AND state = 'ready'`,
	}), s.Projection, s.Number, s.Version)
	failpoint.Here(failpoint.CutOver)
	return err
}

// GiveUpAll gives up all generations of a projection, including the active one.
func (c *Store) GiveUpAll(ctx context.Context, projection string) error {
	return c.transaction(ctx, 0, []string{
		`DELETE FROM holds WHERE projection = $1`,
		`UPDATE spares SET state = 'gone' WHERE projection = $1`,
		`INSERT INTO spares (projection, generation, version, state)
			SELECT projection, generation, version, 'gone' FROM generations WHERE projection = $1`,
		`DELETE FROM generations WHERE projection = $1`,
	}, projection)
}

// transaction runs statements in one transaction. Each statement gets only the parameters
// that it uses. If the last statement changes fewer than minimum rows, the transaction is
// rolled back and the error is fault.Conflict.
func (c *Store) transaction(ctx context.Context, minimum int64, statements []string, args ...any) error {
	if c.lock != "" {
		statements = append([]string{c.lock}, statements...)
	}
	return c.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		var changed int64
		for _, statement := range statements {
			named := 0
			for named < len(args) && strings.Contains(statement, fmt.Sprintf("$%d", named+1)) {
				named++
			}
			var err error
			if changed, err = tx.Exec(ctx, statement, args[:named]...); err != nil {
				return err
			}
		}
		if changed < minimum {
			return fault.Errorf(fault.Conflict, "another process has changed the generation in the meantime: try again")
		}
		return nil
	})
}

// NextNumber returns an unused generation number of a projection.
func (c *Store) NextNumber(ctx context.Context, projection string) (number int, err error) {
	err = c.db.Row(ctx, `SELECT 1 + coalesce(max(generation), 0) FROM
		(SELECT generation FROM generations WHERE projection = $1 UNION ALL SELECT generation FROM spares WHERE projection = $1) AS numbers`, projection).Scan(&number)
	return number, err
}

// Find returns the newest inactive generation of a projection in one of the given
// states.
func (c *Store) Find(ctx context.Context, projection string, states ...string) (found Generation, ok bool, err error) {
	all, err := c.Inactive(ctx, projection)
	i := slices.IndexFunc(all, func(s Generation) bool { return slices.Contains(states, s.State) })
	if err != nil || i < 0 {
		return Generation{}, false, err
	}
	return all[i], true, nil
}

// Pending reports whether a generation is active (serves), and whether it is ready to be
// activated by a server (pending).
func (c *Store) Pending(ctx context.Context, projection string, generation int) (serves, pending bool, err error) {
	err = c.db.Row(ctx, `SELECT EXISTS (SELECT 1 FROM generations WHERE projection = $1 AND generation = $2),
		EXISTS (SELECT 1 FROM spares WHERE projection = $1 AND generation = $2 AND state = 'ready')`, projection, generation).
		Scan(&serves, &pending)
	return serves, pending, err
}
