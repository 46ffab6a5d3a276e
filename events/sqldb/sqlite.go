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
	"modernc.org/sqlite" // also the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// BusyTimeout is how long a statement on a file waits for another process.
const BusyTimeout = 10 * time.Second

// SQLite is a database in a file.
type SQLite struct {
	Path string
	// Pragmas are settings of each connection, in their order.
	Pragmas []string
	// Connections bounds those that are open at once.
	Connections int
	// Existing opens no file that is not there; else it is made.
	Existing bool
	// Immediate begins each transaction as the one writer.
	Immediate bool
}

// Open returns a pool of connections, none of which is open yet.
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

// OpenDB is Open for a store whose statements both engines know.
func (f SQLite) OpenDB() (*DB, error) {
	db, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &DB{DB: db}, nil
}

// MakePrivate makes a file and its folder if they are not there, and lets only
// its owner read it. SQLite gives its companion files the same mode.
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

// Immediate runs do in a transaction of a connection that is the one writer from
// its beginning, and rolls it back if do fails.
func Immediate(ctx context.Context, conn *sql.Conn, do func() error) (err error) {
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	if err = do(); err == nil {
		_, err = conn.ExecContext(ctx, `COMMIT`)
	}
	if err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
		if !IsStoreFault(err) { // by which SQLite may have rolled back already
			err = errors.Join(err, undo)
		}
	}
	return err
}

// WhileBusy calls do again while another process holds the file, up to
// BusyTimeout: SQLite does not wait by itself for a change of the journal mode,
// which every process that opens a new file makes.
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

// sqliteCode returns SQLite's primary result code of an error, 0 for others.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// Diagnose returns the kind of an error of SQLite and what it means, "" for
// others.
func Diagnose(err error) (kind fault.Kind, why string) {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL:
		return fault.Unavailable, "the disk is full"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fault.Unavailable, "the file may only be read"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.Unavailable, "another process holds the file"
	case sqlite3.SQLITE_IOERR:
		return fault.Unavailable, "the disk reports an error"
	case sqlite3.SQLITE_CANTOPEN:
		return fault.Unavailable, "the file cannot be opened; is its folder there, and may it be written?"
	case sqlite3.SQLITE_NOTADB:
		return fault.Invalid, "this file is no SQLite database"
	case sqlite3.SQLITE_CORRUPT:
		return fault.Internal, "the file is damaged; restore it from a backup"
	}
	return fault.Internal, ""
}
