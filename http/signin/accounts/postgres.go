package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
)

// accountsSchema is the suffix of the name of the PostgreSQL schema.
const accountsSchema = "accounts"

// OpenShared opens the store in a PostgreSQL database that nodes share, and creates the store
// if it does not exist. Expiry is checked with the clocks of the nodes. If the clock of this
// machine differs from the clock of the database by more than ClockSkew, the error is
// Unavailable.
func OpenShared(ctx context.Context, d *sqldb.Postgres) (*Store, error) {
	db := d.OpenDB(accountsSchema, 8, map[string]string{
		"idle_in_transaction_session_timeout": "15s", // releases the row locks of a node that crashed
	})
	db.Timeout = 10 * time.Second
	a := &Store{db: db}
	err := a.checkClock(ctx)
	if err == nil {
		err = migrate(ctx, db)
	}
	if err == nil {
		err = a.prepare(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open the account store in %s: %w", d, errors.Join(err, a.Close()))
	}
	return a, nil
}

func (a *Store) checkClock(ctx context.Context) error {
	before := time.Now()
	var database time.Time
	if err := a.db.Row(ctx, `SELECT clock_timestamp()`).Scan(&database); err != nil {
		return err
	}
	return compareClocks(before, database, time.Now())
}

// compareClocks returns an error if the database's clock differs too much from the local
// clock. database is the result of a query; before and after are the local times before and
// after that query.
func compareClocks(before, database, after time.Time) error {
	if database.Before(before.Add(-ClockSkew)) || database.After(after.Add(ClockSkew)) {
		return fault.Errorf(fault.Unavailable, "the clock of this machine (%s) differs from the database's (%s) by more than %s: synchronise both with a time service",
			before.UTC().Format(time.RFC3339), database.UTC().Format(time.RFC3339), ClockSkew)
	}
	return nil
}
