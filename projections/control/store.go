// Package control stores state that is not derived from events: which generation of a
// read model is active, leases, notes for commands, and the gate that keeps deleting
// folders apart from filing documents. Leases expire by the clock of the store.
//
// The package imports events and schema. Its callers decide what a lease or a generation
// means.
package control

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"annals/events/failpoint"
	"annals/events/sqldb"
	"annals/schema"
)

// Store is the control store: a file, or tables in the database that nodes share.
// It may be lost: leases expire, and read models are rebuilt.
type Store struct {
	db     *sqldb.DB
	clock  string // SQL for the time in Unix milliseconds
	lock   string // statement that serializes transactions; "" if the database always serializes them
	schema string // in the shared database
}

// Open opens the store at path, and creates it if it does not exist.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of %s: %w", filepath.Base(path), err)
	}
	db, err := sqldb.SQLite{
		Path: path, Connections: 1, Pragmas: []string{"journal_mode(WAL)", "synchronous(NORMAL)", "temp_store(MEMORY)"},
	}.OpenDB()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.Repair = "delete it: it holds leases and which generation is active, and read models are rebuilt without it"
	if err := setupControl(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	failpoint.Here(failpoint.ControlOpened)
	return &Store{db: db, clock: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`}, nil
}

func setupControl(ctx context.Context, db *sqldb.DB) error {
	text, err := db.Dialect().Script(schema.SQL, "sql", "control")
	if err != nil {
		return err
	}
	return db.Setup(ctx, text)
}

// controlConnections is the maximum number of connections of one node. Importing uses
// only a few at a time, and each Gate up to two.
const controlConnections = 6

// SharedClock is the clock of PostgreSQL, in Unix milliseconds.
const SharedClock = `CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`

// OpenShared opens the store in a database. Several nodes may do this at the same time;
// the first one creates the tables.
func OpenShared(ctx context.Context, database *sqldb.Postgres) (*Store, error) {
	const name = "control"
	db := database.OpenDB(name, controlConnections, nil)
	if err := setupControl(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open the control store in %s: %w", database, err), db.Close())
	}
	return &Store{
		db: db, schema: database.Schema(name),
		clock: SharedClock,
		lock:  `LOCK TABLE generations IN SHARE ROW EXCLUSIVE MODE`, // allows reads
	}, nil
}

// Close closes the store.
func (c *Store) Close() error { return c.db.Close() }

// Active returns the version and number of a projection's active generation. Both
// are 0 if there is none.
func (c *Store) Active(ctx context.Context, projection string) (version, number int, err error) {
	err = c.db.Row(ctx, `SELECT version, generation FROM generations WHERE projection = $1`, projection).Scan(&version, &number)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return version, number, err
}

// Replace makes a generation the active one and gives up the previous one.
func (c *Store) Replace(ctx context.Context, projection string, version, number int) error {
	return c.transaction(ctx, 1, []string{
		`INSERT INTO spares (projection, generation, version, state)
			SELECT projection, generation, version, 'gone' FROM generations WHERE projection = $1 AND generation <> $2`,
		`INSERT INTO generations (projection, version, generation) VALUES ($1, $3, $2)
			ON CONFLICT (projection) DO UPDATE SET version = excluded.version, generation = excluded.generation`,
	}, projection, number, version)
}

// Shared reports whether nodes share the store.
func (c *Store) Shared() bool { return c.db.Shared() }
