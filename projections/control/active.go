package control

import (
	"context"
	"fmt"
	"time"

	"annals/events"
	"annals/events/sqldb"
)

const (
	// settleTime is how long a generation applies no events after it became active. Every
	// node notices the change in that time.
	settleTime = 4 * time.Second
	// StalenessBound is how long a node may read a generation without reconfirming
	// that it is active. It is shorter than settleTime by more than the time a
	// statement takes to begin.
	StalenessBound = 3 * time.Second
)

// Active is the active generation of a projection.
type Active struct {
	Projection          string
	Version, Generation int
	Stopped             bool // no node may read it
}

func (p *Active) fields() []any { return []any{&p.Projection, &p.Version, &p.Generation, &p.Stopped} }

// AllActive returns the active generations by projection.
func (c *Store) AllActive(ctx context.Context) (map[string]Active, error) {
	all, err := sqldb.List(ctx, c.db, (*Active).fields, `SELECT projection, version, generation, EXISTS (SELECT 1 FROM stops s
		WHERE s.projection = g.projection AND s.generation = g.generation) FROM generations g`)
	named := make(map[string]Active)
	for _, p := range all {
		named[p.Projection] = p
	}
	return named, err
}

// IsStopped reports whether a generation is marked as stopped.
func (c *Store) IsStopped(ctx context.Context, projection string, number int) (stopped bool, err error) {
	err = c.db.Row(ctx, `SELECT EXISTS (SELECT 1 FROM stops WHERE projection = $1 AND generation = $2)`, projection, number).Scan(&stopped)
	return stopped, err
}

// MarkStopped marks a generation as stopped: no node may read it.
func (c *Store) MarkStopped(ctx context.Context, projection string, number int) error {
	_, err := c.db.Exec(ctx, `INSERT INTO stops (projection, generation) VALUES ($1, $2) ON CONFLICT DO NOTHING`, projection, number)
	return err
}

// ClearStopped removes the mark that MarkStopped set. Call it when the generation applies
// events again.
func (c *Store) ClearStopped(ctx context.Context, projection string, number int) error {
	_, err := c.db.Exec(ctx, `DELETE FROM stops WHERE projection = $1 AND generation = $2`, projection, number)
	return err
}

// SetIndexed stores the position up to which the leader's search index of a generation is
// up to date. Followers cannot read this position from the tables.
func (c *Store) SetIndexed(ctx context.Context, projection string, number int, at events.Position) error {
	_, err := c.db.Exec(ctx, `INSERT INTO reached (projection, generation, position) VALUES ($1, $2, $3)
		ON CONFLICT (projection, generation) DO UPDATE SET position = excluded.position`, projection, number, at)
	return err
}

// Indexed returns the position that SetIndexed stored, or 0.
func (c *Store) Indexed(ctx context.Context, projection string, number int) (at events.Position, err error) {
	err = c.db.Row(ctx, `SELECT coalesce(max(position), 0) FROM reached WHERE projection = $1 AND generation = $2`, projection, number).Scan(&at)
	return at, err
}

// IsSettled reports whether every node has had time to notice which generation of a
// projection is active.
func (c *Store) IsSettled(ctx context.Context, projection string) (settled bool, err error) {
	err = c.db.Row(ctx, `SELECT NOT EXISTS (SELECT 1 FROM leases WHERE name = $1 AND expires > `+c.clock+`)`, settlingLease(projection)).Scan(&settled)
	return settled, err
}

// settle returns the statements to run when a shared generation becomes active. If the
// previous generation is marked as stopped, so is the new one, until it applies events.
// It applies none for settleTime, so that every node can notice the change first.
func (c *Store) settle() []string {
	if !c.Shared() {
		return nil
	}
	return []string{
		`INSERT INTO stops (projection, generation) SELECT projection, CAST($2 AS INTEGER) FROM stops s
			WHERE projection = $1 AND generation = (SELECT generation FROM generations g WHERE g.projection = s.projection) ON CONFLICT DO NOTHING`,
		fmt.Sprintf(`INSERT INTO leases (name, holder, expires) VALUES ('%s' || $1, '', %s + %d)
			ON CONFLICT (name) DO UPDATE SET expires = excluded.expires`, settlingLease(""), c.clock, settleTime.Milliseconds()),
	}
}

func settlingLease(projection string) string { return "settling/" + projection }
