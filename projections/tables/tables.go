// Package tables stores the tables of read models. Each generation is an SQLite file, or
// a schema of PostgreSQL that any number of processes may open and one of them writes to.
//
// The package imports events/sqldb, schema, and the interfaces of readmodel. Package
// readmodel decides what the tables contain, and package generation which of them are
// active.
package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/schema"
)

// Home stores the tables of read models. It is a Folder or a Database.
type Home interface {
	// Open opens the tables of a generation for writing. If there are none, it creates
	// the tables of the read model named model.
	Open(ctx context.Context, generation, model string) (Store, error)
	// View opens the tables of a generation for reading, while another process may write
	// to them. If there are none, the error is fs.ErrNotExist.
	View(ctx context.Context, generation string) (*Reader, error)
	// Exists returns nil if a generation has tables, and fs.ErrNotExist if not.
	Exists(ctx context.Context, generation string) error
	// Remove deletes the tables of a generation, if they exist.
	Remove(ctx context.Context, generation string) error
	// Describe returns where the tables of a generation are, for errors and output. If
	// generation is "", it returns where the tables of all generations are.
	Describe(generation string) string
}

// Store has the tables of one generation: one writer and many readers. A crash may lose
// the last commits together with their checkpoint. The events are then applied again.
type Store interface {
	readmodel.Tables
	// Reads returns the tables for reading.
	Reads() *Reader
	// TryLock acquires the lock for writing unless another process has the lock, and
	// reports whether this process has it. It is called before every batch: the lock ends
	// if its session is lost, and writing without the lock fails. For a Folder it always
	// returns true.
	TryLock(ctx context.Context) (leads bool, err error)
	// Unlock releases the lock.
	Unlock()
	// Flush sends gathered statements and rows, and returns their error.
	Flush(ctx context.Context) error
	// Checkpoint returns the position up to which the tables are up to date.
	Checkpoint(ctx context.Context) (events.Position, error)
	// PrepareFill makes writing cheaper during a rebuild. MakeIndexes is called at the
	// end of the rebuild.
	PrepareFill(ctx context.Context) error
	// MakeIndexes creates the indexes that only readers need.
	MakeIndexes(ctx context.Context, model string) error
	// Shrink frees memory. It is called while there is nothing to write.
	Shrink(ctx context.Context) error
	// Check looks for corruption in a file that was too large to be checked when it
	// was opened.
	Check(ctx context.Context) error
	// Close closes the tables.
	Close() error
}

// Reader reads tables, or a snapshot of them.
type Reader struct {
	from interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	db        *sql.DB // nil for a snapshot
	arguments func([]any) []any
}

type mappedRow struct {
	readmodel.Row
	to func(error) error
}

func (r mappedRow) Scan(dest ...any) error {
	if r.Row == nil {
		return r.to(nil)
	}
	return r.to(r.Row.Scan(dest...))
}

// MapRow returns a row whose errors are mapped by to. If row is nil, its error is
// to(nil).
func MapRow(row readmodel.Row, to func(error) error) readmodel.Row { return mappedRow{row, to} }

// Classify sets the kind of two errors: that the database is unreachable, and that
// another process has removed the tables because another generation is active.
func Classify(err error) error {
	switch {
	case sqldb.IsTransient(err):
		return sqldb.Classify(err)
	case sqldb.IsMissing(err):
		return fault.Hide(fault.Unavailable, "another process has removed these tables of a read model: try again", err)
	}
	return err
}

// QueryContext is like QueryContext of sql.DB.
func (r *Reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if r.arguments != nil {
		args = r.arguments(args)
	}
	rows, err := r.from.QueryContext(ctx, query, args...)
	for again := 0; again < postgresReaders && r.severed(err); again++ {
		rows, err = r.from.QueryContext(ctx, query, args...)
	}
	return rows, Classify(err)
}

// QueryRowContext is like QueryRowContext of sql.DB.
func (r *Reader) QueryRowContext(ctx context.Context, query string, args ...any) readmodel.Row {
	if r.arguments != nil {
		args = r.arguments(args)
	}
	row := r.from.QueryRowContext(ctx, query, args...)
	for again := 0; again < postgresReaders && r.severed(row.Err()); again++ {
		row = r.from.QueryRowContext(ctx, query, args...)
	}
	return MapRow(row, Classify)
}

// severed reports whether a query failed because its connection was already lost. All
// connections of the pool may be lost, so a query is retried as often as there are
// connections.
func (r *Reader) severed(err error) bool { return r.db != nil && sqldb.IsDisconnected(err) }

// Snapshot returns a reader that sees no later changes. It must be released.
func (r *Reader) Snapshot(ctx context.Context) (held *Reader, release func(), err error) {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, nil, Classify(fmt.Errorf("begin a snapshot: %w", err))
	}
	return &Reader{from: tx, arguments: r.arguments}, func() { _ = tx.Rollback() }, nil // nothing was written
}

// Close closes the connections of the reader.
func (r *Reader) Close() error { return r.db.Close() }

// The dialects of the tables. Both compare strings by bytes.
var (
	sqliteSQL   = sqldb.Dialect{}
	postgresSQL = sqldb.Dialect{Postgres: true, ByteOrder: true}
)

// tablesOf returns the statements that create the tables of a read model.
func tablesOf(dialect sqldb.Dialect, model string) (string, error) {
	base, err := dialect.Script(schema.SQL, "sql", "base")
	if err != nil {
		return "", err
	}
	own, err := dialect.Script(schema.SQL, "sql", model)
	return base + own, err
}

// indexesOf returns the statements that create the indexes of a read model that only
// readers need, or "" if it has none.
func indexesOf(dialect sqldb.Dialect, model string) (string, error) {
	text, err := dialect.Script(schema.SQL, "sql", model+"-indexes")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}

var tableName = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// ErrDamaged is returned if a file is corrupt.
var ErrDamaged = errors.New("the file is corrupt")
