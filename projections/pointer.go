package projections

import (
	"context"
	"fmt"
	"time"

	"annals/events"
)

const (
	// settling is for how long nothing is applied to a generation that was just
	// taken up: every node learns of it before it holds more than the last one.
	settling = 4 * time.Second
	// unsure is for how long a node answers from a generation without being told
	// that it is still the one that serves: less than settling, by more than
	// a statement takes to begin.
	unsure = 3 * time.Second
)

// pointer tells which generation of a projection serves.
type pointer struct {
	projection          string
	version, generation int
	stopped             bool // nobody may trust it
}

func (p *pointer) fields() []any { return []any{&p.projection, &p.version, &p.generation, &p.stopped} }

// pointers returns those of all projections, by their names.
func (c *Control) pointers(ctx context.Context) (map[string]pointer, error) {
	all, err := List(ctx, c.db, (*pointer).fields, `SELECT projection, version, generation, EXISTS (SELECT 1 FROM stops s
		WHERE s.projection = g.projection AND s.generation = g.generation) FROM generations g`)
	named := make(map[string]pointer)
	for _, p := range all {
		named[p.projection] = p
	}
	return named, c.told(err)
}

// isStopped reports whether nobody may trust a generation.
func (c *Control) isStopped(ctx context.Context, projection string, number int) (stopped bool, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM stops WHERE projection = $1 AND generation = $2)`, projection, number).Scan(&stopped)
	return stopped, c.told(err)
}

// stop tells all nodes that a generation cannot be trusted; goOn that it can.
func (c *Control) stop(ctx context.Context, projection string, number int) error {
	_, err := c.exec(ctx, `INSERT INTO stops (projection, generation) VALUES ($1, $2) ON CONFLICT DO NOTHING`, projection, number)
	return err
}

func (c *Control) goOn(ctx context.Context, projection string, number int) error {
	_, err := c.exec(ctx, `DELETE FROM stops WHERE projection = $1 AND generation = $2`, projection, number)
	return err
}

// setReached notes how far a generation is with its second store, which tells
// nobody else.
func (c *Control) setReached(ctx context.Context, projection string, number int, at events.Position) error {
	_, err := c.exec(ctx, `INSERT INTO reached (projection, generation, position) VALUES ($1, $2, $3)
		ON CONFLICT (projection, generation) DO UPDATE SET position = excluded.position`, projection, number, at)
	return err
}

func (c *Control) reached(ctx context.Context, projection string, number int) (at events.Position, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT coalesce(max(position), 0) FROM reached WHERE projection = $1 AND generation = $2`, projection, number).Scan(&at)
	return at, c.told(err)
}

// settled reports whether all nodes know which generation of a projection
// serves.
func (c *Control) settled(ctx context.Context, projection string) (settled bool, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT NOT EXISTS (SELECT 1 FROM leases WHERE name = $1 AND expires > `+c.clock+`)`, settlingLease(projection)).Scan(&settled)
	return settled, c.told(err)
}

// settle are the statements that go with a change of the pointer where nodes
// share it: what was not to be trusted is not before the other generation has
// gone on, which it does once all nodes know of it.
func (c *Control) settle() []string {
	if !c.shared {
		return nil
	}
	return []string{
		`INSERT INTO stops (projection, generation) SELECT projection, CAST($2 AS INTEGER) FROM stops s
			WHERE projection = $1 AND generation = (SELECT generation FROM generations g WHERE g.projection = s.projection) ON CONFLICT DO NOTHING`,
		fmt.Sprintf(`INSERT INTO leases (name, holder, expires) VALUES ('%s' || $1, '', %s + %d)
			ON CONFLICT (name) DO UPDATE SET expires = excluded.expires`, settlingLease(""), c.clock, settling.Milliseconds()),
	}
}

func settlingLease(projection string) string { return "settling/" + projection }
