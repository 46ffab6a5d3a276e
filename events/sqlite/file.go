package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"annals/events/failpoint"
	"annals/events/fault"
)

//go:embed log.sql
var definition string

// What marks a file as a log, in SQLite's own header fields.
const (
	applicationID = 0x416e6e6c // "Annl"
	version       = 1          // of log.sql
)

// busyTimeout is how long a transaction waits for one of another process.
const busyTimeout = 10 * time.Second

// connect returns a pool of at most n connections, each with these pragmas.
// The mode is SQLite's: "rw" opens a file that is there, "rwc" makes one.
func connect(path, mode string, n int, pragmas ...string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	q := url.Values{"mode": {mode}, "_pragma": append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// prepare makes sure that the file at path is a log of this version. It looks
// before it changes anything, so that a foreign file stays as it was.
func prepare(ctx context.Context, path string) error {
	db, err := connect(path, "rwc", 1)
	if err != nil {
		return explain(ctx, err, "open the log %s", path)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return explain(ctx, err, "open the log %s", path)
	}
	defer conn.Close()
	empty, err := inspect(ctx, conn, path)
	if err != nil || !empty {
		return err
	}
	if err := useWAL(ctx, conn); err != nil {
		return explain(ctx, err, "make the log %s", path)
	}
	failpoint.Here(failpoint.LogPrepared)
	if err := create(ctx, conn, path); err != nil {
		return explain(ctx, err, "make the log %s", path)
	}
	failpoint.Here(failpoint.LogMade)
	return nil
}

// inspect tells an empty file from a log of this version; anything else is an
// error.
func inspect(ctx context.Context, conn *sql.Conn, path string) (empty bool, err error) {
	var application, found, tables int
	err = conn.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&application, &found, &tables)
	switch {
	case err != nil:
		return false, explain(ctx, err, "read the log %s", path)
	case application == 0 && found == 0 && tables == 0:
		return true, nil
	case application != applicationID:
		return false, fault.Errorf(fault.Invalid, "open the log %s: this file is a database of another program", path)
	case found > version:
		return false, fault.Errorf(fault.Invalid, "open the log %s: it has format %d, written by a newer version of Annals; this one reads formats up to %d", path, found, version)
	case found < version:
		return false, fault.Errorf(fault.Internal, "open the log %s: it has format %d, which was never released", path, found)
	}
	return false, nil
}

// useWAL switches the file to write-ahead logging, which it then keeps.
// SQLite does not wait by itself when two processes try that at once.
func useWAL(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for {
		var mode string
		err := conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("the file system allows no write-ahead log, only journal mode %s", mode)
		case code(err) != sqlite3.SQLITE_BUSY:
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// create fills an empty file, unless another process just did.
func create(ctx context.Context, conn *sql.Conn, path string) (err error) {
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, undo := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
			err = errors.Join(err, undo)
		}
	}()
	empty, err := inspect(ctx, conn, path)
	if err != nil {
		return err
	}
	if empty {
		marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
		if _, err := conn.ExecContext(ctx, definition+marks); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, `COMMIT`)
	return err
}

// code returns SQLite's primary result code of an error, 0 for others.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain gives an error of SQLite's the kind and the words that help whoever
// operates the log. Errors that have a kind keep it.
func explain(ctx context.Context, err error, doing string, args ...any) error {
	doing = fmt.Sprintf(doing, args...)
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	kind, why := diagnose(err)
	if why == "" {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fault.Errorf(kind, "%s: %s (%w)", doing, why, err)
}

// What cannot be done, in words for clients.
const (
	cannotRead  = "the log cannot be read"
	cannotWrite = "the log cannot be written"
)

// conceal is explain for the work on an open log. Clients meet those errors:
// they are told what cannot be done and why, and neither the file nor what
// SQLite says of it.
func conceal(ctx context.Context, err error, cannot, doing string, args ...any) error {
	cause := explain(ctx, err, doing, args...)
	if code(err) == sqlite3.SQLITE_NOTADB && ctx.Err() == nil { // it was one when it was opened
		return fault.Errorf(fault.Internal, "%s: the file is damaged; restore it from a backup (%w)", fmt.Sprintf(doing, args...), err)
	}
	kind, why := diagnose(cause)
	if cause == err || kind == fault.Internal {
		return cause
	}
	return fault.Hide(kind, cannot+" at the moment: "+why, cause)
}

// diagnose returns the kind of an error of SQLite's and what it means, "" for
// others.
func diagnose(err error) (kind fault.Kind, why string) {
	switch code(err) {
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
