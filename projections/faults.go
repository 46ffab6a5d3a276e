package projections

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"annals/events/fault"
	"annals/events/postgres"
	"annals/projections/searchindex"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// storeFault reports whether an error is of the store as such: a full or
// broken disk, no memory, a lock, a database that is away.
func storeFault(err error) bool {
	if postgres.Passes(err) || fault.Is(err, fault.Unavailable) {
		return true
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// ofTables reports whether the database of the tables gave an error, and not
// the second store of a read model.
func ofTables(err error) bool {
	var reply *pgconn.PgError
	var connecting *pgconn.ConnectError
	return errors.As(err, &reply) || errors.As(err, &connecting)
}

// refused reports whether PostgreSQL refused a statement for what it says. It
// may be one that was gathered for any event of a batch.
func refused(err error) bool {
	var reply *pgconn.PgError
	return errors.As(err, &reply) && !postgres.Passes(err)
}

var errDamaged = errors.New("the file is damaged")

// logError is an error of the log, which may be a file of SQLite's too: it says
// nothing of a read model.
type logError struct{ error }

func (e *logError) Unwrap() error { return e.error }

func ofLog(err error) bool {
	var e *logError
	return errors.As(err, &e)
}

// damaged reports whether an error says that a file is not as it was written.
func damaged(err error) bool {
	var e *sqlite.Error
	switch {
	case ofLog(err), ofReplica(err):
		return false
	case errors.Is(err, errDamaged), errors.Is(err, searchindex.ErrDamaged):
		return true
	}
	if reply := (*pgconn.PgError)(nil); errors.As(err, &reply) {
		return reply.Code == "XX001" || reply.Code == "XX002" // data_corrupted, index_corrupted
	}
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// Damaged reports whether an error of a read says that the read model is damaged.
// It is being made anew then.
func Damaged(err error) bool { return damaged(err) }

// ofMachine are errors that say nothing of a file itself.
var ofMachine = []error{
	fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
}

// passing reports whether an error says nothing of a read model itself: the disk
// is full, another holds a lock, there is no right to a file, an engine does not
// answer, or the log cannot be read.
func passing(err error) bool {
	return ofLog(err) || storeFault(err) && !damaged(err) || fault.Is(err, fault.Unavailable) ||
		slices.ContainsFunc(ofMachine, func(of error) bool { return errors.Is(err, of) })
}
