package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"annals/events/fault"

	"github.com/cenkalti/backoff/v5"
	"modernc.org/sqlite" // also registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// BusyTimeout is how long a statement waits while another process locks the file.
const BusyTimeout = 10 * time.Second

// SQLite is a database in a file.
type SQLite struct {
	Path string
	// Pragmas are executed on each new connection, in order.
	Pragmas []string
	// Connections is the maximum number of open connections.
	Connections int
	// Existing means that a missing file is an error and is not created.
	Existing bool
	// Immediate means that each transaction takes the write lock when it begins.
	Immediate bool
}

// Open returns a pool of connections, which it opens on demand.
func (f SQLite) Open() (*sql.DB, error) {
	path, err := filepath.Abs(f.Path)
	if err != nil {
		return nil, fmt.Errorf("locate the file %s: %w", f.Path, err)
	}
	query := url.Values{"_pragma": append([]string{fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds())}, f.Pragmas...)}
	if f.Existing {
		query.Set("mode", "rw")
	}
	if f.Immediate {
		query.Set("_txlock", "immediate")
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(f.Connections)
	db.SetMaxIdleConns(f.Connections)
	return db, nil
}

// OpenDB is Open for stores whose SQL runs on both SQLite and PostgreSQL.
func (f SQLite) OpenDB() (*DB, error) {
	db, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &DB{DB: db}, nil
}

// MakePrivate creates a file and its folder if they are missing, and sets file modes
// that give access to the owner only. SQLite uses the mode of a database file for its
// companion files, too.
func MakePrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// Immediate calls do in a transaction that takes the write lock when it begins. If do
// fails, the transaction is rolled back.
func Immediate(ctx context.Context, conn *sql.Conn, do func() error) (err error) {
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if err = do(); err == nil {
		_, err = conn.ExecContext(ctx, `COMMIT`)
	}
	if err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
		if !IsStoreFault(err) { // after a store fault SQLite may already have rolled back
			err = errors.Join(err, undo)
		}
	}
	return err
}

// WhileBusy retries do while another process locks the file, up to BusyTimeout. It is
// needed to change the journal mode, for which SQLite ignores its busy timeout.
func WhileBusy(ctx context.Context, do func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do()
		if err != nil && !IsBusy(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(backoff.NewConstantBackOff(10*time.Millisecond)), backoff.WithMaxElapsedTime(BusyTimeout))
	return err
}

// sqliteCode returns the primary result code of an error of SQLite, or 0 for other
// errors.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// Diagnose returns the kind of an error of SQLite and the reason to show to users. For
// other errors the reason is "".
func Diagnose(err error) (kind fault.Kind, why string) {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL:
		return fault.Unavailable, "the disk is full"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fault.Unavailable, "the file is read-only"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.Unavailable, "another process locks the file"
	case sqlite3.SQLITE_IOERR:
		return fault.Unavailable, "the disk reports an error"
	case sqlite3.SQLITE_CANTOPEN:
		return fault.Unavailable, "the file cannot be opened: check that its folder exists and is writable"
	case sqlite3.SQLITE_NOTADB:
		return fault.Invalid, "the file is not a SQLite database"
	case sqlite3.SQLITE_CORRUPT:
		return fault.Internal, "the file is corrupt: restore it from a backup"
	}
	return fault.Internal, ""
}
