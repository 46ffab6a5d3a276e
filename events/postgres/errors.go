package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"annals/events/fault"
)

// Passes reports whether an error says nothing of what was asked: the server is
// away, ends the connection, refuses it, is out of room or of connections, or
// another transaction was in the way.
func Passes(err error) bool {
	var reply *pgconn.PgError
	if errors.As(err, &reply) {
		switch reply.Code[:2] {
		case "08", "28", "40", "53", "55", "57", "58", "3D": // connection, authorization, rollback, resources, state, operator, system, database
			return true
		}
		return reply.Code == "25006" // read only: a server that was primary before
	}
	var network *net.OpError // any other error of the system may be a net.Error too
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting) || pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.As(err, &network) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// refused reports whether the server is there and knows no such user, password
// or database.
func refused(err error) bool {
	var reply *pgconn.PgError
	return errors.As(err, &reply) && (reply.Code[:2] == "28" || reply.Code[:2] == "3D")
}

// Again reports whether a transaction was undone because another was in its way,
// and may be tried once more at once.
func Again(err error) bool {
	var reply *pgconn.PgError
	return errors.As(err, &reply) && reply.Code[:2] == "40"
}

// Severed reports whether an error says that a connection is not there any more,
// which was used before: another may be had at once.
func Severed(err error) bool {
	var reply *pgconn.PgError
	if errors.As(err, &reply) {
		return reply.Code == "57P01" // admin_shutdown
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, driver.ErrBadConn)
}

// Told gives an error of the client its kind: what passes is fault.Unavailable,
// and its cause is for operators alone.
func Told(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case refused(err):
		return fault.Hide(fault.Unavailable, "the database does not let the service in", err)
	case Passes(err):
		return fault.Hide(fault.Unavailable, "the database does not answer at the moment", err)
	}
	return fmt.Errorf("PostgreSQL: %w", err)
}
