package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"annals/events"
	"annals/events/disk"
	"annals/events/failpoint"
	"annals/schema"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// sqliteStore is an SQLite file with one writer and many readers. It is not
// synced at every commit.
type sqliteStore struct {
	write *sql.Conn
	wdb   *sql.DB
	read  *sql.DB
	stmts map[string]*sql.Stmt
	// inserts are the statements of Insert by table.
	inserts map[string]string
	// unchecked says that the file was too large to be looked at whole when it
	// was opened.
	unchecked bool
}

const (
	readers = 8
	// readerRest is how long a connection for reading, and the cache that it
	// holds, outlives its last use.
	readerRest = 30 * time.Second
)

// dsn names the SQLite file at path with the settings of every read model.
func dsn(path string, pragmas ...string) string {
	pragmas = append([]string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "temp_store(MEMORY)"}, pragmas...)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}

func (s *sqliteStore) open(ctx context.Context, path, name string) (err error) {
	if s.wdb, err = sql.Open("sqlite", dsn(path, "cache_size(-16000)", "wal_autocheckpoint(2000)", "journal_size_limit(33554432)")); err != nil {
		return err
	}
	s.wdb.SetMaxOpenConns(1)
	if s.write, err = s.wdb.Conn(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx, name); err != nil {
		return err
	}
	if err := s.check(ctx, name, path); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", dsn(path, "query_only(1)", "cache_size(-4000)")); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	s.read.SetConnMaxIdleTime(readerRest)
	return s.read.PingContext(ctx)
}

// checkedAtStart is up to which size a file is looked at whole before it serves:
// that takes a tenth of a second. A larger one is looked at while it does.
const checkedAtStart = 32 << 20

// check returns an error where the file has other tables than those of name, or
// is so small that it can be looked at whole and is damaged.
func (s *sqliteStore) check(ctx context.Context, name, path string) error {
	text, err := tablesOf("sqlite", name)
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
	if s.unchecked = info.Size() > checkedAtStart; s.unchecked {
		return nil
	}
	return sound(ctx, s.write)
}

// sound returns an error where what holds the rows of a file together is
// damaged. It does not see another value in a row.
func sound(ctx context.Context, db rowQueryer) error {
	var found string
	err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", errDamaged, found)
	}
	return err
}

type rowQueryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
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
	text, err := tablesOf("sqlite", name)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("make the tables of %s: %w", name, err)
	}
	failpoint.Here(failpoint.TablesMade)
	return tx.Commit()
}

// fill lets the file be checkpointed more rarely than while it serves: pages
// that change often are then written and synced once for many changes.
func (s *sqliteStore) fill(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 16000")
	return err
}

// index makes the indexes of name that readers need and Apply does not, those
// that are not there yet. What it sorts and the cache cannot hold goes to a file,
// so that memory does not grow with the tables.
func (s *sqliteStore) index(ctx context.Context, name string) error {
	text, err := schema.SQL.ReadFile("sql/sqlite/" + name + "-indexes.sql")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has no others than those of its tables
	}
	if err == nil {
		err = s.rest(ctx) // sorting takes as much memory as the cache
	}
	if err == nil {
		_, err = s.write.ExecContext(ctx, "PRAGMA temp_store = FILE;"+string(text)+"PRAGMA temp_store = MEMORY")
	}
	if err == nil {
		_, err = s.checkpoint(ctx) // by which the reader that is open learns of them
	}
	if err != nil {
		return fmt.Errorf("make the indexes of %s: %w", name, err)
	}
	return nil
}

func (s *sqliteStore) close() error {
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

func (s *sqliteStore) checkpoint(ctx context.Context) (p events.Position, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT position FROM checkpoint`).Scan(&p)
	return p, err
}

func (s *sqliteStore) reads() *reader { return &reader{from: s.read, db: s.read} }

func (s *sqliteStore) answers() answerer { return s.reads() }

// lead is always true: whoever opens a folder for writing holds it.
func (s *sqliteStore) lead(context.Context) (bool, error) { return true, nil }

// yield has nobody to give the lead to.
func (s *sqliteStore) yield() {}

// settle has nothing to do: statements are carried out at once.
func (s *sqliteStore) settle(context.Context) error { return nil }

// inspect looks at a file that was too large for it when it was opened.
func (s *sqliteStore) inspect(ctx context.Context) error {
	if !s.unchecked {
		return nil
	}
	return sound(ctx, s.read)
}

// Transaction runs fn in one transaction of the writer. It is begun by hand,
// not by database/sql, whose transactions prepare every statement anew.
func (s *sqliteStore) Transaction(ctx context.Context, fn func(Tx) error) (err error) {
	if _, err := s.write.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, undo := s.write.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			if !disk.IsFull(err) { // SQLite has undone it then
				err = errors.Join(err, undo)
			}
		}
	}()
	if err := fn(s); err != nil {
		return err
	}
	_, err = s.write.ExecContext(ctx, "COMMIT")
	return err
}

// rest gives back the memory of the writer's cache, which fills again when
// there is something to write.
func (s *sqliteStore) rest(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, "PRAGMA shrink_memory")
	return err
}

// stmt returns the prepared form of query. SQLite plans it anew at every use
// where a LIMIT is a plain parameter: queries write it as an expression, CAST($1 AS INTEGER).
//
// It is not used once ctx has ended, and is then run without it: the driver
// starts a goroutine for each statement that may be cut off, which takes longer
// than most statements do.
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

// Exec is Tx.Exec. The store itself is the Tx: it has one writer, and the
// methods are called from within transaction alone.
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
func (s *sqliteStore) QueryRow(ctx context.Context, query string, args ...any) Row {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return s.write.QueryRowContext(ctx, query, args...) // which meets the same error and tells it on Scan
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
