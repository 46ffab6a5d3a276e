// Package sqldb opens SQLite files and PostgreSQL schemas, and hides how they differ:
// settings, parameters, retries, and error codes. Its users define the tables.
//
// It imports events/fault, and no other package of this module.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"annals/events/fault"
)

// DB is a database in SQLite or PostgreSQL, for stores whose SQL runs on both. Errors
// have a kind, except sql.ErrNoRows. Parameters are $1, $2, ….
type DB struct {
	*sql.DB
	// Timeout is the time limit of each call. 0 means that only the caller's context
	// limits a call.
	Timeout time.Duration
	// Repair tells the operator how to repair a corrupt file.
	Repair string

	server *Postgres // nil for SQLite
	schema string    // schema in PostgreSQL
}

// Shared reports whether the database is in PostgreSQL, where other processes may write
// concurrently.
func (db *DB) Shared() bool { return db.server != nil }

// ForShare returns the clause for the end of a SELECT that locks the selected rows until
// the transaction ends, so that other transactions cannot change them. The clause is
// empty for SQLite, which has one writer at a time.
func (db *DB) ForShare() string {
	if db.Shared() {
		return " FOR SHARE"
	}
	return ""
}

// Snapshot returns the options of a transaction that reads a consistent snapshot.
func (db *DB) Snapshot() *sql.TxOptions {
	if db.Shared() {
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	return nil // every transaction in SQLite reads a snapshot
}

// Text returns a string in the form in which the database can store and compare it:
// PostgreSQL rejects U+0000 and invalid UTF-8.
func (db *DB) Text(s string) string {
	if db.Shared() {
		return ValidText(s)
	}
	return s
}

// ValidText replaces characters that PostgreSQL rejects by U+FFFD.
func ValidText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// args returns parameters with strings that the database accepts.
func (db *DB) args(args []any) []any {
	if !db.Shared() {
		return args
	}
	out := make([]any, len(args))
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			arg = ValidText(text)
		}
		out[i] = arg
	}
	return out
}

// bound returns ctx with Timeout as time limit, because a server may be unreachable.
func (db *DB) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if db.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, db.Timeout)
}

// Classify adds a kind to an error. ctx is the context of the caller: if ctx has not
// ended, an exceeded deadline means that the database did not respond in time.
func (db *DB) Classify(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, sql.ErrNoRows), ctx.Err() != nil:
		return err
	case db.Shared() && errors.Is(err, context.DeadlineExceeded):
		return fault.Hide(fault.Unavailable, unreachable, err)
	case db.Shared():
		return Classify(err)
	case IsCorrupt(err) && db.Repair != "":
		return fault.Errorf(fault.Internal, "the file is corrupt: %s (%w)", db.Repair, err)
	}
	return err
}

// Row is the result of a query for one row.
type Row interface {
	Scan(dest ...any) error
}

// boundRow is a row whose errors have a kind. Scan releases the timer of the timeout.
type boundRow struct {
	*sql.Row
	done func(error) error
}

func (r boundRow) Scan(dest ...any) error { return r.done(r.Row.Scan(dest...)) }

// Row queries one row. The caller must call Scan.
func (db *DB) Row(ctx context.Context, statement string, args ...any) Row {
	bounded, cancel := db.bound(ctx)
	return db.row(ctx, db.QueryRowContext(bounded, statement, db.args(args)...), cancel)
}

func (db *DB) row(ctx context.Context, row *sql.Row, cancel func()) Row {
	return boundRow{row, func(err error) error {
		cancel()
		return db.Classify(ctx, err)
	}}
}

// Stmt is a prepared query of one row.
type Stmt struct {
	*sql.Stmt
	db *DB
}

// Prepare prepares a query of one row.
func (db *DB) Prepare(ctx context.Context, query string) (*Stmt, error) {
	bounded, cancel := db.bound(ctx)
	defer cancel()
	stmt, err := db.PrepareContext(bounded, query)
	if err != nil {
		return nil, db.Classify(ctx, err)
	}
	return &Stmt{stmt, db}, nil
}

// Row runs the query. The caller must call Scan.
func (s *Stmt) Row(ctx context.Context, args ...any) Row {
	bounded, cancel := s.db.bound(ctx)
	return s.db.row(ctx, s.QueryRowContext(bounded, s.db.args(args)...), cancel)
}

// Queryer runs queries. A DB, a sql.DB and a Tx implement it.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List returns all rows of a query; fields returns the scan destinations of a row. If
// from is a DB, errors have a kind.
func List[T any](ctx context.Context, from Queryer, fields func(*T) []any, query string, args ...any) ([]T, error) {
	return Collect(ctx, from, func(row Row) (one T, err error) { return one, row.Scan(fields(&one)...) }, query, args...)
}

// Collect is like List, but calls scan to convert each row.
func Collect[T any](ctx context.Context, from Queryer, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	db, ok := from.(*DB)
	if !ok {
		return collect(ctx, from, scan, query, args)
	}
	bounded, cancel := db.bound(ctx)
	defer cancel()
	all, err := collect(bounded, db.DB, scan, query, db.args(args))
	return all, db.Classify(ctx, err)
}

func collect[T any](ctx context.Context, from Queryer, scan func(Row) (T, error), query string, args []any) (all []T, err error) {
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// Column returns all rows of a query with one column.
func Column[T any](ctx context.Context, from Queryer, query string, args ...any) ([]T, error) {
	return List(ctx, from, func(v *T) []any { return []any{v} }, query, args...)
}

// Exec runs a statement and returns the number of changed rows. After a conflict with
// another transaction it runs the statement again.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	err = db.retry(ctx, func(ctx context.Context) error {
		changed, err = execOn(ctx, db.DB, statement, db.args(args))
		return err
	})
	return changed, err
}

// execer runs statements: a database, a session, or a transaction.
type execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
}

func execOn(ctx context.Context, on execer, statement string, args []any) (changed int64, err error) {
	result, err := on.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Transaction calls run in a transaction. After a conflict with another transaction it
// calls run again.
func (db *DB) Transaction(ctx context.Context, run func(ctx context.Context, tx *Tx) error) error {
	return db.retry(ctx, func(ctx context.Context) error {
		tx, err := db.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := run(ctx, tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Tx is a transaction. Its errors have no kind; use DB.Classify.
type Tx struct {
	*sql.Tx
	db *DB
}

// Begin begins a transaction.
func (db *DB) Begin(ctx context.Context) (*Tx, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &Tx{tx, db}, nil
}

// Lock excludes other transactions of the store that call Lock, until the transaction
// ends.
func (tx *Tx) Lock(ctx context.Context) error {
	if !tx.db.Shared() {
		return nil // SQLite has one writer at a time
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 0))`)
	return err
}

// Exec runs a statement and returns the number of changed rows.
func (tx *Tx) Exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	return execOn(ctx, tx.Tx, statement, tx.db.args(args))
}

// Row queries one row.
func (tx *Tx) Row(ctx context.Context, statement string, args ...any) Row {
	return tx.QueryRowContext(ctx, statement, tx.db.args(args)...)
}

// attempts is how often a transaction is tried if it conflicts with other transactions.
const attempts = 5

// retry calls do, and calls it again after a conflict with another transaction, at most
// attempts times in total.
func (db *DB) retry(ctx context.Context, do func(context.Context) error) error {
	bounded, cancel := db.bound(ctx)
	defer cancel()
	err := do(bounded)
	for n := 1; n < attempts && isRetryable(err); n++ {
		err = do(bounded)
	}
	return db.Classify(ctx, err)
}
