package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"annals/events/failpoint"
	"annals/schema"
)

// Control is the small store of what is neither an event nor made from
// events: which generation of a read model serves, and who works on what. It
// may be lost: leases run out, and read models are made again.
type Control struct {
	db *sql.DB
}

// OpenControl opens the store at path, which it makes where it is not there.
func OpenControl(ctx context.Context, path string) (*Control, error) {
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	text, err := schema.SQL.ReadFile("sql/sqlite/control.sql")
	if err == nil {
		_, err = db.ExecContext(ctx, string(text))
	}
	if damaged(err) {
		err = fmt.Errorf("%w; it may be deleted: it holds leases and which generation serves, and read models are made anew without it", err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	failpoint.Here(failpoint.ControlMade)
	return &Control{db: db}, nil
}

// Close closes the store.
func (c *Control) Close() error { return c.db.Close() }

// generation returns the version and number of the generation that serves, 0
// and 0 where there is none.
func (c *Control) generation(ctx context.Context, projection string) (version, number int, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT version, generation FROM generations WHERE projection = $1`, projection).Scan(&version, &number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return version, number, err
}

// setGeneration lets a generation serve and gives up the one that did.
func (c *Control) setGeneration(ctx context.Context, projection string, version, number int) error {
	return c.transaction(ctx, 1, []string{
		`INSERT INTO spares (projection, generation, version, state)
			SELECT projection, generation, version, 'gone' FROM generations WHERE projection = $1 AND generation <> $3`,
		`INSERT INTO generations (projection, version, generation) VALUES ($1, $2, $3)
			ON CONFLICT (projection) DO UPDATE SET version = excluded.version, generation = excluded.generation`,
	}, projection, version, number)
}

// claim gives name to holder for a time, unless another holds it.
func (c *Control) claim(ctx context.Context, name, holder string, now time.Time, lease time.Duration) (won bool, err error) {
	res, err := c.db.ExecContext(ctx, `INSERT INTO leases (name, holder, expires) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires WHERE leases.expires <= $4`,
		name, holder, now.Add(lease).UnixMilli(), now.UnixMilli())
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// renew prolongs a lease and reports whether holder still had it.
func (c *Control) renew(ctx context.Context, name, holder string, until time.Time) (held bool, err error) {
	res, err := c.db.ExecContext(ctx, `UPDATE leases SET expires = $3 WHERE name = $1 AND holder = $2`, name, holder, until.UnixMilli())
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

func (c *Control) release(ctx context.Context, name, holder string) error {
	_, err := c.db.ExecContext(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	return err
}

// ReleaseAll ends the leases of a holder that is known to be gone, so that its
// work need not wait until they run out.
func (c *Control) ReleaseAll(ctx context.Context, holder string) error {
	_, err := c.db.ExecContext(ctx, `DELETE FROM leases WHERE holder = $1`, holder)
	failpoint.Here(failpoint.LeasesReleased)
	return err
}

// forget removes leases that ran out before t.
func (c *Control) forget(ctx context.Context, t time.Time) error {
	_, err := c.db.ExecContext(ctx, `DELETE FROM leases WHERE expires < $1`, t.UnixMilli())
	failpoint.Here(failpoint.LeasesForgotten)
	return err
}
