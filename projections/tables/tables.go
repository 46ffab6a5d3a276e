// Package tables keeps the tables of read models: each generation in a file of
// SQLite, or in a schema of PostgreSQL that any number of processes may open and
// one of them writes.
//
// It imports events/sqldb, schema, and the interfaces of readmodel. Package
// readmodel decides what the tables hold, and generation which of them are active.
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
	// Open opens the tables of a generation for writing. If there are none it creates
	// those of model.
	Open(ctx context.Context, generation, model string) (Store, error)
	// View opens the tables of a generation for reading, while another process may
	// write them. If there are none the error is fs.ErrNotExist.
	View(ctx context.Context, generation string) (*Reader, error)
	// Exists returns nil if a generation has tables, and fs.ErrNotExist if not.
	Exists(ctx context.Context, generation string) error
	// Remove deletes the tables of a generation, if they exist.
	Remove(ctx context.Context, generation string) error
	// Describe returns where the tables of a generation are. For "" it returns where
	// all tables are.
	Describe(generation string) string
}

// Store holds the tables of one generation: one writer and many readers. A commit
// may be lost together with its checkpoint; the events are then applied again.
type Store interface {
	readmodel.Tables
	// Reads returns the tables for reading.
	Reads() *Reader
	// TryLock acquires the lock for writing unless another process has it, and reports
	// whether this process has it. It is called before every batch, because the lock ends
	// if the session is lost, and writing without the lock fails. For a folder it returns
	// true.
	TryLock(ctx context.Context) (leads bool, err error)
	// Unlock releases the lock.
	Unlock()
	// Flush sends gathered statements and returns their error.
	Flush(ctx context.Context) error
	// Checkpoint returns the position up to which the tables are up to date.
	Checkpoint(ctx context.Context) (events.Position, error)
	// PrepareFill makes writing cheaper during a rebuild, which ends with
	// MakeIndexes.
	PrepareFill(ctx context.Context) error
	// MakeIndexes creates the indexes that only readers need.
	MakeIndexes(ctx context.Context, model string) error
	// Shrink frees memory while there is nothing to write.
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

// MapRow returns a row that maps its errors by to. If row is nil, the error is to(nil).
func MapRow(row readmodel.Row, to func(error) error) readmodel.Row { return mappedRow{row, to} }

// Classify sets the kind of errors of an unreachable database, and of tables that
// another process has removed because another generation is active.
func Classify(err error) error {
	switch {
	case sqldb.IsTransient(err):
		return sqldb.Classify(err)
	case sqldb.IsMissing(err):
		return fault.Hide(fault.Unavailable, "another process has removed these tables of a read model: try again", err)
	}
	return err
}

// QueryContext is like that of sql.DB.
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

// QueryRowContext is like that of sql.DB.
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

// severed reports whether a query failed because its connection had been lost before.
// All connections of the pool may be lost, so a query is retried for each of them.
func (r *Reader) severed(err error) bool { return r.db != nil && sqldb.IsDisconnected(err) }

// Snapshot returns a reader that sees no changes until release.
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
