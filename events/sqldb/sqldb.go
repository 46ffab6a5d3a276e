// Package sqldb opens the two SQL databases that parts of the service keep
// tables in, files of SQLite and schemas of PostgreSQL, and hides how they
// differ: settings, parameters, retries, and what their errors mean. It knows
// nothing of what the tables hold.
//
// It imports events/fault, and no other package of this module.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"annals/events/fault"
)

// DB is a database of either engine, for stores whose statements both know. Its
// errors have a kind; sql.ErrNoRows stays as it is. Its parameters are $1, $2, ….
type DB struct {
	*sql.DB
	// Timeout bounds each call; 0 leaves it to the caller's context.
	Timeout time.Duration
	// Repair says what an operator does about a corrupt file.
	Repair string

	server *Postgres // nil for SQLite
	schema string    // of the server
}

// Shared reports whether the database is on a server, where other processes may
// write at the same time.
func (db *DB) Shared() bool { return db.server != nil }

// ForShare returns the end of a SELECT whose rows must not change before the statement
// that uses them is committed. It is empty for SQLite, which has one writer at a time.
func (db *DB) ForShare() string {
	if db.Shared() {
		return " FOR SHARE"
	}
	return ""
}

// Snapshot is for transactions that read everything as of one moment.
func (db *DB) Snapshot() *sql.TxOptions {
	if db.Shared() {
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	return nil // a transaction of SQLite always does
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

// args returns parameters as the database takes them.
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

// bound bounds a call to a server that may have vanished.
func (db *DB) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if db.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, db.Timeout)
}

// Classify gives an error its kind. ctx is the caller's: an error of a deadline
// that is not ctx's means that the database did not answer in time.
func (db *DB) Classify(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, sql.ErrNoRows), ctx.Err() != nil:
		return err
	case db.Shared() && errors.Is(err, context.DeadlineExceeded):
		return fault.Hide(fault.Unavailable, unanswered, err)
	case db.Shared():
		return Classify(err)
	case IsCorrupt(err) && db.Repair != "":
		return fault.Errorf(fault.Internal, "the file is damaged: %s (%w)", db.Repair, err)
	}
	return err
}

// Row is a row that a query found, or why there is none.
type Row interface {
	Scan(dest ...any) error
}

// boundRow is a row whose errors have a kind. Scan ends the call.
type boundRow struct {
	*sql.Row
	done func(error) error
}

func (r boundRow) Scan(dest ...any) error { return r.done(r.Row.Scan(dest...)) }

// Row asks for one row, which is to be scanned.
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

// Row asks for the row, which is to be scanned.
func (s *Stmt) Row(ctx context.Context, args ...any) Row {
	bounded, cancel := s.db.bound(ctx)
	return s.db.row(ctx, s.QueryRowContext(bounded, s.db.args(args)...), cancel)
}

// Queryer is what rows are read from: a DB, a sql.DB, a Tx.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List reads all rows of a query; fields returns the scan destinations of a row. If from
// is a DB, errors have a kind.
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

// Column reads the one column of all rows of a query.
func Column[T any](ctx context.Context, from Queryer, query string, args ...any) ([]T, error) {
	return List(ctx, from, func(v *T) []any { return []any{v} }, query, args...)
}

// Exec runs one statement and returns how many rows it changed. It may run it
// again.
func (db *DB) Exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	err = db.retry(ctx, func(ctx context.Context) error {
		changed, err = execOn(ctx, db.DB, statement, db.args(args))
		return err
	})
	return changed, err
}

func execOn(ctx context.Context, on Execer, statement string, args []any) (changed int64, err error) {
	result, err := on.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Transaction runs statements that count together or not at all. It may run them
// again.
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

// Tx is a transaction. Its errors are for DB.Classify.
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

// Lock waits for all other transactions of the store that have called it.
func (tx *Tx) Lock(ctx context.Context) error {
	if !tx.db.Shared() {
		return nil // there is one writer at a time
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 0))`)
	return err
}

// Exec runs one statement and returns how many rows it changed.
func (tx *Tx) Exec(ctx context.Context, statement string, args ...any) (changed int64, err error) {
	return execOn(ctx, tx.Tx, statement, tx.db.args(args))
}

// Row asks for one row.
func (tx *Tx) Row(ctx context.Context, statement string, args ...any) Row {
	return tx.QueryRowContext(ctx, statement, tx.db.args(args)...)
}

// attempts is how many times a transaction is tried that conflicts with others.
const attempts = 5

// retry calls do again if it conflicts with another transaction, up to attempts times.
func (db *DB) retry(ctx context.Context, do func(context.Context) error) error {
	bounded, cancel := db.bound(ctx)
	defer cancel()
	err := do(bounded)
	for n := 1; n < attempts && IsRetryable(err); n++ {
		err = do(bounded)
	}
	return db.Classify(ctx, err)
}

// Setup creates tables by statements that do nothing if the tables exist. Any number of
// processes may call it at once.
func (db *DB) Setup(ctx context.Context, statements string) error {
	if db.Shared() {
		return db.server.setup(ctx, db.DB, db.schema, statements)
	}
	return db.Classify(ctx, WhileBusy(ctx, func() error {
		_, err := db.ExecContext(ctx, statements)
		return err
	}))
}

// HasTable reports whether a table exists in PostgreSQL. It does not need the right to
// create tables.
func (db *DB) HasTable(ctx context.Context, name string) (there bool, err error) {
	err = db.Row(ctx, `SELECT to_regclass($1) IS NOT NULL`, name).Scan(&there)
	return there, err
}

// Migrate runs, in one transaction, the scripts beyond the store's version, which is the
// number of scripts already run. It does not write to a store that is up to date. The
// error is fault.Invalid if the store has a later version.
func (db *DB) Migrate(ctx context.Context, scripts []string) error {
	if db.Shared() {
		return db.migrateServer(ctx, scripts)
	}
	return db.Classify(ctx, WhileBusy(ctx, func() error { return db.migrateFile(ctx, scripts) }))
}

// checkVersion refuses a store that a later program has migrated.
func checkVersion(version int, scripts []string) error {
	if version > len(scripts) {
		return fault.Errorf(fault.Invalid, "the store has version %d, this program knows %d: use a newer program", version, len(scripts))
	}
	return nil
}

func (db *DB) migrateFile(ctx context.Context, scripts []string) error {
	version, err := fileVersion(ctx, db.DB, scripts)
	if err != nil || version == len(scripts) {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return Immediate(ctx, conn, func() error {
		if version, err = fileVersion(ctx, conn, scripts); err != nil { // another process may have done it
			return err
		}
		for _, script := range scripts[version:] {
			if _, err := conn.ExecContext(ctx, script); err != nil {
				return err
			}
		}
		_, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, len(scripts)))
		return err
	})
}

func fileVersion(ctx context.Context, on interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, scripts []string) (version int, err error) {
	if err := on.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkVersion(version, scripts)
}

func (db *DB) migrateServer(ctx context.Context, scripts []string) error {
	version := 0
	there, err := db.HasTable(ctx, "version")
	if err == nil && there {
		err = db.Row(ctx, serverVersion).Scan(&version)
	}
	if err == nil {
		err = checkVersion(version, scripts)
	}
	if err != nil || version == len(scripts) {
		return err
	}
	return db.Transaction(ctx, func(ctx context.Context, tx *Tx) error {
		// The schema, which may not be there, has a lock to itself by its name.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 1))`, db.server.Schema(db.schema)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+db.server.quoted(db.schema)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS version (version integer NOT NULL)`); err != nil {
			return err
		}
		if err := tx.Row(ctx, serverVersion).Scan(&version); err != nil {
			return err
		}
		if err := checkVersion(version, scripts); err != nil {
			return err
		}
		for i, script := range scripts[version:] {
			if _, err := tx.Exec(ctx, script); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO version (version) VALUES ($1)`, version+i+1); err != nil {
				return err
			}
		}
		return nil
	})
}

const serverVersion = `SELECT coalesce(max(version), 0) FROM version`
