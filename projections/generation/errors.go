package generation

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"annals/events/fault"
	"annals/events/sqldb"
	"annals/projections/searchindex"
	"annals/projections/tables"
)

// storeFault reports whether an error was caused by the store and not by an event: the
// disk is full or broken, the file is locked, or the database is unreachable.
func storeFault(err error) bool { return sqldb.IsStoreFault(err) || fault.Is(err, fault.Unavailable) }

// logError marks an error of the log. Otherwise an error of an SQLite log would look like
// an error of a read model.
type logError struct{ error }

func (e *logError) Unwrap() error { return e.error }

// LogError marks an error as caused by the log.
func LogError(err error) error { return &logError{err} }

// IsOfLog reports whether an error was marked by LogError.
func IsOfLog(err error) bool {
	var e *logError
	return errors.As(err, &e)
}

// IsCorrupt reports whether an error means that a read model is corrupt.
func IsCorrupt(err error) bool {
	switch {
	case IsOfLog(err):
		return false
	case errors.Is(err, tables.ErrDamaged), errors.Is(err, searchindex.ErrDamaged):
		return true
	}
	return sqldb.IsCorrupt(err)
}

// machineErrors are errors of the operating system that do not mean that a file is
// corrupt.
var machineErrors = []error{
	fs.ErrPermission, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
}

// IsTransient reports whether an error may go away without a rebuild of the read
// model: the disk is full, the file is locked or not readable, an engine is
// unreachable, or the log cannot be read.
func IsTransient(err error) bool {
	return IsOfLog(err) || storeFault(err) && !IsCorrupt(err) || fault.Is(err, fault.Unavailable) ||
		slices.ContainsFunc(machineErrors, func(target error) bool { return errors.Is(err, target) })
}
