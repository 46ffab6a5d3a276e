package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/sqldb"
)

//go:embed log.sql
var definition string

// Values of SQLite header fields that identify a log.
const (
	applicationID = 0x416e6e6c // "Annl"
	version       = 1          // version of the tables in log.sql
)

// connect returns a pool of at most n connections to an existing file.
func connect(path string, n int, pragmas ...string) (*sql.DB, error) {
	return sqldb.SQLite{Path: path, Connections: n, Pragmas: pragmas, Existing: true}.Open()
}

// prepare creates the log at path if the file is missing or empty. Otherwise it checks
// that the file is a log of this version, and does not change it.
func prepare(ctx context.Context, path string) error {
	db, err := sqldb.SQLite{Path: path, Connections: 1}.Open()
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
		return explain(ctx, err, "create the log %s", path)
	}
	failpoint.Here(failpoint.LogPrepared)
	if err := create(ctx, conn, path); err != nil {
		return explain(ctx, err, "create the log %s", path)
	}
	failpoint.Here(failpoint.LogCreated)
	return nil
}

// inspect reports whether the file is empty. It returns an error for a file that is
// neither empty nor a log of this version.
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
		return false, fault.Errorf(fault.Invalid, "open the log %s: the file is a database of another program", path)
	case found > version:
		return false, fault.Errorf(fault.Invalid, "open the log %s: it has format %d, written by a newer version of Annals; this one reads formats up to %d", path, found, version)
	case found < version:
		return false, fault.Errorf(fault.Internal, "open the log %s: it has format %d, which was never released", path, found)
	}
	return false, nil
}

// useWAL switches the file to write-ahead logging permanently.
func useWAL(ctx context.Context, conn *sql.Conn) error {
	var mode string
	err := sqldb.WhileBusy(ctx, func() error { return conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode) })
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the file system does not support a write-ahead log, only journal mode %s", mode)
	}
	return err
}

// create creates the tables, unless another process has created them meanwhile.
func create(ctx context.Context, conn *sql.Conn, path string) error {
	return sqldb.Immediate(ctx, conn, func() error {
		empty, err := inspect(ctx, conn, path)
		if err != nil || !empty {
			return err
		}
		header := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
		_, err = conn.ExecContext(ctx, definition+header)
		return err
	})
}

// explain adds a kind and an explanation for operators to an error of SQLite. Errors
// that already have a kind are not changed.
func explain(ctx context.Context, err error, doing string, args ...any) error {
	doing = fmt.Sprintf(doing, args...)
	var known *fault.Error
	switch {
	case errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	kind, why := sqldb.Diagnose(err)
	if why == "" {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fault.Errorf(kind, "%s: %s (%w)", doing, why, err)
}

// Messages for clients.
const (
	cannotRead  = "the log cannot be read"
	cannotWrite = "the log cannot be written"
)

// conceal is explain for calls on an open log. Clients see errors of these calls, so it
// hides the file name and SQLite's message from them.
func conceal(ctx context.Context, err error, cannot, doing string, args ...any) error {
	cause := explain(ctx, err, doing, args...)
	if sqldb.IsCorrupt(err) && ctx.Err() == nil { // not fault.Invalid, because it was a log when it was opened
		return fault.Errorf(fault.Internal, "%s: the file is corrupt: restore it from a backup (%w)", fmt.Sprintf(doing, args...), err)
	}
	kind, why := sqldb.Diagnose(cause)
	if cause == err || kind == fault.Internal {
		return cause
	}
	return fault.Hide(kind, cannot+" at the moment: "+why, cause)
}
