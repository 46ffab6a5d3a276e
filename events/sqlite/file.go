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

// What marks a file as a log, in SQLite's own header fields.
const (
	applicationID = 0x416e6e6c // "Annl"
	version       = 1          // of log.sql
)

// connect returns a pool of at most n connections to a file that is there, each
// with these pragmas.
func connect(path string, n int, pragmas ...string) (*sql.DB, error) {
	return sqldb.SQLite{Path: path, Connections: n, Pragmas: pragmas, Existing: true}.Open()
}

// prepare makes sure that the file at path is a log of this version. It looks
// before it changes anything, so that a foreign file stays as it was.
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
		return explain(ctx, err, "make the log %s", path)
	}
	failpoint.Here(failpoint.LogPrepared)
	if err := create(ctx, conn, path); err != nil {
		return explain(ctx, err, "make the log %s", path)
	}
	failpoint.Here(failpoint.LogCreated)
	return nil
}

// inspect reports whether the file is empty, or a log of this version. Anything
// else is an error.
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
func useWAL(ctx context.Context, conn *sql.Conn) error {
	var mode string
	err := sqldb.WhileBusy(ctx, func() error { return conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode) })
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the file system allows no write-ahead log, only journal mode %s", mode)
	}
	return err
}

// create fills an empty file, unless another process just did.
func create(ctx context.Context, conn *sql.Conn, path string) error {
	return sqldb.Immediate(ctx, conn, func() error {
		empty, err := inspect(ctx, conn, path)
		if err != nil || !empty {
			return err
		}
		marks := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
		_, err = conn.ExecContext(ctx, definition+marks)
		return err
	})
}

// explain gives an error of SQLite its kind, and says what it means for an
// operator. Errors that have a kind keep it.
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

// What failed, for clients.
const (
	cannotRead  = "the log cannot be read"
	cannotWrite = "the log cannot be written"
)

// conceal is explain for calls on an open log, whose errors reach clients: these
// see what failed and why, but neither the file's name nor SQLite's message.
func conceal(ctx context.Context, err error, cannot, doing string, args ...any) error {
	cause := explain(ctx, err, doing, args...)
	if sqldb.IsCorrupt(err) && ctx.Err() == nil { // it was one when it was opened
		return fault.Errorf(fault.Internal, "%s: the file is damaged; restore it from a backup (%w)", fmt.Sprintf(doing, args...), err)
	}
	kind, why := sqldb.Diagnose(cause)
	if cause == err || kind == fault.Internal {
		return cause
	}
	return fault.Hide(kind, cannot+" at the moment: "+why, cause)
}
