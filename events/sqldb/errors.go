package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"annals/events/fault"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite/lib"
)

// replyCode returns the error code in a reply of PostgreSQL, or "" if err is no such
// reply.
func replyCode(err error) string {
	var reply *pgconn.PgError
	if errors.As(err, &reply) {
		return reply.Code
	}
	return ""
}

// class returns the class of a PostgreSQL error code: its first two characters.
func class(code string) string { return code[:min(len(code), 2)] }

// IsFull reports whether an error says that the disk of a database is full.
func IsFull(err error) bool {
	return sqliteCode(err) == sqlite3.SQLITE_FULL || replyCode(err) == "53100"
}

// IsBusy reports whether an error says that another process or transaction held a lock
// for too long.
func IsBusy(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED || replyCode(err) == "55P03"
}

// IsCorrupt reports whether an error says that a database is corrupt.
func IsCorrupt(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	code := replyCode(err)
	return code == "XX001" || code == "XX002" // data_corrupted, index_corrupted
}

// IsMissing reports whether PostgreSQL replied that a table or schema does not exist.
func IsMissing(err error) bool {
	code := replyCode(err)
	return code == "42P01" || code == "3F000" // undefined_table, invalid_schema_name
}

// IsDuplicate reports whether PostgreSQL rejected a row because its key exists.
func IsDuplicate(err error) bool { return replyCode(err) == "23505" }

// IsReply reports whether PostgreSQL replied with an error, or refused the
// connection.
func IsReply(err error) bool {
	var connecting *pgconn.ConnectError
	return replyCode(err) != "" || errors.As(err, &connecting)
}

// IsRejected reports whether PostgreSQL rejected a statement and would also reject a
// retry.
func IsRejected(err error) bool { return replyCode(err) != "" && !IsTransient(err) }

// IsStoreFault reports whether the database itself failed, independent of the statement:
// for example a full or broken disk, too little memory, a lock, corruption or an
// unreachable server.
func IsStoreFault(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return IsTransient(err)
}

// IsTransient reports whether an error of PostgreSQL is independent of the statement:
// the server is unreachable, closes or refuses the connection, or has no space or
// connections left, or another transaction conflicted.
func IsTransient(err error) bool {
	if code := replyCode(err); code != "" {
		switch class(code) {
		case "08", "28", "40", "53", "55", "57", "58", "3D": // connection, authorization, rollback, resources, state, operator, system, database
			return true
		}
		return code == "25006" // read only: the server was the primary before, and is not any more
	}
	var network *net.OpError // not net.Error, because other system errors implement that interface, too
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting) || pgconn.SafeToRetry(err) || IsDisconnected(err) ||
		errors.Is(err, sql.ErrConnDone) || errors.As(err, &network) || errors.Is(err, net.ErrClosed)
}

// isRetryable reports whether a transaction was rolled back because of a conflict with
// another transaction. It may be retried immediately.
func isRetryable(err error) bool { return class(replyCode(err)) == "40" }

// IsDisconnected reports whether an established connection was closed. A new connection
// may succeed immediately.
func IsDisconnected(err error) bool {
	if code := replyCode(err); code != "" {
		return code == "57P01" // admin_shutdown
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, driver.ErrBadConn)
}

// Messages for clients.
const (
	unreachable = "the database does not respond at the moment"
	refused     = "the database refuses the connection"
)

// Classify adds a kind to an error of PostgreSQL. Transient errors become
// fault.Unavailable, and their cause is hidden from clients. Errors that already have a
// kind are not changed.
func Classify(err error) error {
	var known *fault.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &known):
		return err
	case class(replyCode(err)) == "28", class(replyCode(err)) == "3D": // no such user or password, no such database
		return fault.Hide(fault.Unavailable, refused, err)
	case IsTransient(err):
		return fault.Hide(fault.Unavailable, unreachable, err)
	}
	return fmt.Errorf("PostgreSQL: %w", err)
}
