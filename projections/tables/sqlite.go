package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/sqldb"
	"annals/projections/readmodel"

	_ "modernc.org/sqlite/vec" // functions that compare vectors, for every connection
)

// sqliteStore is an SQLite file with one writer and many readers. Commits are not
// synced.
type sqliteStore struct {
	write *sql.Conn
	wdb   *sql.DB
	read  *sql.DB
	stmts map[string]*sql.Stmt
	// inserts has the statement of Insert for each table.
	inserts map[string]string
	// unchecked is true if the file was too large to be checked when it was opened.
	unchecked bool
}

const (
	readers = 8
	// readerRest is how long an idle connection stays open and keeps its cache.
	readerRest = 30 * time.Second
)

// sqliteFile returns the file at path with the settings that all read models use.
func sqliteFile(path string, connections int, pragmas ...string) sqldb.SQLite {
	return sqldb.SQLite{
		Path: path, Connections: connections,
		Pragmas: append([]string{"journal_mode(WAL)", "synchronous(NORMAL)", "temp_store(MEMORY)"}, pragmas...),
	}
}

func (s *sqliteStore) openFile(ctx context.Context, path, name string) (err error) {
	if s.wdb, err = sqliteFile(path, 1, "cache_size(-16000)", "wal_autocheckpoint(2000)", "journal_size_limit(33554432)").Open(); err != nil {
		return err
	}
	if s.write, err = s.wdb.Conn(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx, name); err != nil {
		return err
	}
	if err := s.checkTables(ctx, name, path); err != nil {
		return err
	}
	if s.read, err = sqliteFile(path, readers, "query_only(1)", "cache_size(-4000)").Open(); err != nil {
		return err
	}
	s.read.SetConnMaxIdleTime(readerRest)
	return s.read.PingContext(ctx)
}

// CheckedAtOpen is the size in bytes up to which a file is checked when it is opened,
// which takes 0.1 s. A larger file is checked while it already serves reads.
const CheckedAtOpen = 32 << 20

// checkTables returns an error if the file at path lacks tables of the read model name,
// or is corrupt. It looks for corruption only if the file is small.
func (s *sqliteStore) checkTables(ctx context.Context, name, path string) error {
	text, err := tablesOf(sqliteSQL, name)
	if err != nil {
		return err
	}
	for _, table := range tableName.FindAllStringSubmatch(text, -1) {
		var there bool
		if err := s.write.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = $1)`, table[1]).Scan(&there); err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("the table %s of %s is missing", table[1], name)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if s.unchecked = info.Size() > CheckedAtOpen; s.unchecked {
		return nil
	}
	return sound(ctx, s.write)
}

// sound returns an error if the structure of a file is corrupt. It does not detect a
// changed value in a row.
func sound(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) error {
	var found string
	err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", ErrDamaged, found)
	}
	return err
}

func (s *sqliteStore) migrate(ctx context.Context, name string) error {
	var tables int
	err := s.write.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'checkpoint'`).Scan(&tables)
	if err != nil || tables > 0 {
		return err
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	text, err := tablesOf(sqliteSQL, name)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("create the tables of %s: %w", name, err)
	}
	failpoint.Here(failpoint.TablesCreated)
	return tx.Commit()
}

// PrepareFill makes SQLite's WAL checkpoints rarer, so that a page that changes often is
// written only once for many changes.
func (s *sqliteStore) PrepareFill(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 16000")
	return err
}

// MakeIndexes is Store.MakeIndexes. Sorting uses a temporary file, so that memory does
// not grow with the tables.
func (s *sqliteStore) MakeIndexes(ctx context.Context, name string) error {
	text, err := indexesOf(sqliteSQL, name)
	if err == nil && text == "" {
		return nil
	}
	if err == nil {
		err = s.Shrink(ctx) // sorting needs as much memory as the cache
	}
	if err == nil {
		_, err = s.write.ExecContext(ctx, "PRAGMA temp_store = FILE;"+text+"PRAGMA temp_store = MEMORY")
	}
	if err == nil {
		_, err = s.Checkpoint(ctx) // makes open readers notice the new indexes
	}
	if err != nil {
		return fmt.Errorf("create the indexes of %s: %w", name, err)
	}
	return nil
}

func (s *sqliteStore) Close() error {
	var errs []error
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	if s.wdb != nil {
		errs = append(errs, s.wdb.Close())
	}
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	return errors.Join(errs...)
}

func (s *sqliteStore) Checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, err
}

func (s *sqliteStore) Reads() *Reader { return &Reader{from: s.read, db: s.read} }

// TryLock returns true: a process that opens a folder for writing has already locked the
// folder.
func (s *sqliteStore) TryLock(context.Context) (bool, error) { return true, nil }

// Unlock does nothing: no other process may write.
func (s *sqliteStore) Unlock() {}

// Flush does nothing: statements run immediately.
func (s *sqliteStore) Flush(context.Context) error { return nil }

// Recheck makes Check check the file even if it was checked when it was opened.
func (s *sqliteStore) Recheck() { s.unchecked = true }

// Check is Store.Check.
func (s *sqliteStore) Check(ctx context.Context) error {
	if !s.unchecked {
		return nil
	}
	return sound(ctx, s.read)
}

// Transaction runs fn in one transaction of the writer. It does not use the transactions
// of database/sql, because those would prepare every statement again.
func (s *sqliteStore) Transaction(ctx context.Context, fn func(readmodel.Tx) error) error {
	return sqldb.Immediate(ctx, s.write, func() error { return fn(s) })
}

// Shrink frees the writer's cache.
func (s *sqliteStore) Shrink(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, "PRAGMA shrink_memory")
	return err
}

// stmt returns the prepared form of query. SQLite plans a statement again at every use if
// its LIMIT is a plain parameter, so queries write CAST($1 AS INTEGER).
//
// Statements run without ctx, which is only checked here: for each statement that can be
// canceled, the driver starts a goroutine, and that takes longer than most statements.
func (s *sqliteStore) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	stmt, ok := s.stmts[query]
	err := ctx.Err()
	if !ok && err == nil {
		if stmt, err = s.write.PrepareContext(ctx, query); err == nil {
			s.stmts[query] = stmt
		}
	}
	return stmt, err
}

// Exec is Tx.Exec. The store itself is the Tx, because it has only one writer. The writer
// calls these methods within Transaction.
func (s *sqliteStore) Exec(ctx context.Context, query string, args ...any) error {
	_, err := s.Changed(ctx, query, args...)
	return err
}

// Changed is Tx.Changed.
func (s *sqliteStore) Changed(ctx context.Context, query string, args ...any) (int64, error) {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := stmt.ExecContext(context.WithoutCancel(ctx), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// QueryContext is Tx.QueryContext.
func (s *sqliteStore) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(context.WithoutCancel(ctx), args...)
}

// QueryRow is Tx.QueryRow.
func (s *sqliteStore) QueryRow(ctx context.Context, query string, args ...any) readmodel.Row {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return s.write.QueryRowContext(ctx, query, args...) // Scan of this row returns the same error
	}
	return stmt.QueryRowContext(context.WithoutCancel(ctx), args...)
}

// Insert is Tx.Insert.
func (s *sqliteStore) Insert(ctx context.Context, table string, columns []string, values ...any) error {
	query, ok := s.inserts[table]
	if !ok {
		query = insertInto(table, columns)
		s.inserts[table] = query
	}
	return s.Exec(ctx, query, values...)
}
