package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/postgres"
	"annals/schema"
)

// Control is the small store of what is neither an event nor made from
// events: which generation of a read model serves, and who works on what. It
// may be lost: leases run out, and read models are made again.
//
// It is a file, of the one node that has the read models to itself, or lies in
// the database that nodes share. Leases are judged by the clock of the store.
type Control struct {
	db     *sql.DB
	clock  string // Unix milliseconds, as the store's SQL says it
	lock   string // what begins transactions where they do not wait for each other by themselves
	shared bool   // nodes that have it are told apart
	schema string // in the database, where it is shared
}

// OpenControl opens the store at path, which it makes where it is not there.
func OpenControl(ctx context.Context, path string) (*Control, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of %s: %w", filepath.Base(path), err)
	}
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
	return &Control{db: db, clock: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`}, nil
}

// controlConnections bounds those of one node: importing takes few at a time, and
// two for each gate may wait.
const controlConnections = 6

// sharedClock is the clock of PostgreSQL.
const sharedClock = `CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`

// OpenSharedControl opens the store in a database, which any number of nodes
// may do at once; whoever is the first makes it.
func OpenSharedControl(ctx context.Context, database *postgres.Database) (*Control, error) {
	const name = "control"
	text, err := schema.SQL.ReadFile("sql/postgres/control.sql")
	if err != nil {
		return nil, err
	}
	db := database.Open(name, controlConnections, nil)
	if err := database.Setup(ctx, db, name, string(text)); err != nil {
		return nil, errors.Join(fmt.Errorf("open the control store in %s: %w", database, err), db.Close())
	}
	return &Control{
		db: db, shared: true, schema: database.Schema(name),
		clock: sharedClock,
		lock:  `LOCK TABLE generations IN SHARE ROW EXCLUSIVE MODE`, // which reads go on beside
	}, nil
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
	return version, number, c.told(err)
}

// setGeneration lets a generation serve and gives up the one that did.
func (c *Control) setGeneration(ctx context.Context, projection string, version, number int) error {
	return c.transaction(ctx, 1, []string{
		`INSERT INTO spares (projection, generation, version, state)
			SELECT projection, generation, version, 'gone' FROM generations WHERE projection = $1 AND generation <> $2`,
		`INSERT INTO generations (projection, version, generation) VALUES ($1, $3, $2)
			ON CONFLICT (projection) DO UPDATE SET version = excluded.version, generation = excluded.generation`,
	}, projection, number, version)
}

// exec carries out a statement and returns how many rows it changed.
func (c *Control) exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	result, err := c.db.ExecContext(ctx, statement, args...)
	if err == nil {
		changed, err = result.RowsAffected()
	}
	return changed, c.told(err)
}

// told gives errors of a shared store their kind: one that does not answer is
// fault.Unavailable.
func (c *Control) told(err error) error {
	if !c.shared || fault.KindOf(err) != fault.Internal {
		return err
	}
	return postgres.Told(err)
}
