package accounts

import (
	"context"
	"time"

	"annals/events/sqldb"
)

// Internals for the tests of this package.
var (
	CompareClocks = compareClocks
	StoreFile     = storeFile
	HashPassword  = hashPassword
	Migrations    = migrations
	Scripts       = scripts
)

const (
	Schema    = accountsSchema
	TokenUses = usePause
)

// Script returns the SQL script of a migration.
func Script(dialect sqldb.Dialect, migration string) (string, error) {
	return dialect.Script(scripts, "sql", migration)
}

// Change calls change without an event.
func (a *Store) Change(ctx context.Context, name, set string, value any) error {
	return a.change(ctx, name, set, value, Event{})
}

// SetTimeout sets the timeout of database calls.
func (a *Store) SetTimeout(d time.Duration) { a.db.Timeout = d }

// WaitForUses waits until the last use of each API token is stored.
func (a *Store) WaitForUses() { a.uses.writer.Wait() }
