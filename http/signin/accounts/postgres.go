package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
)

// accountsSchema is the suffix of the schema's name.
const accountsSchema = "accounts"

// OpenShared opens the store in a database that nodes share, and creates it if it does not
// exist. Every node sees what the others wrote at its next call. Nodes use their own clocks;
// if this one differs from the database's by more than ClockSkew, it is Unavailable.
func OpenShared(ctx context.Context, d *sqldb.Postgres) (*Store, error) {
	db := d.OpenDB(accountsSchema, 8, map[string]string{
		"idle_in_transaction_session_timeout": "15s", // frees the rows that a vanished node has locked
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
		return nil, fmt.Errorf("open the accounts in %s: %w", d, errors.Join(err, a.Close()))
	}
	return a, nil
}

func (a *Store) checkClock(ctx context.Context) error {
	before := time.Now()
	var there time.Time
	if err := a.db.Row(ctx, `SELECT clock_timestamp()`).Scan(&there); err != nil {
		return err
	}
	return compareClocks(before, there, time.Now())
}

// compareClocks compares the database's time with the local time before and after asking.
func compareClocks(before, there, after time.Time) error {
	if there.Before(before.Add(-ClockSkew)) || there.After(after.Add(ClockSkew)) {
		return fault.Errorf(fault.Unavailable, "this machine's clock says %s and the database's %s: set them by the same time service",
			before.UTC().Format(time.RFC3339), there.UTC().Format(time.RFC3339))
	}
	return nil
}
