package signin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"annals/events/fault"
	"annals/events/postgres"
)

// accountsSchema is the end of the name of the accounts' schema.
const accountsSchema = "accounts"

// postgresEngine is a database that several nodes share. Each statement sees what
// was committed before it began, and waits for rows that another changes.
var postgresEngine = engine{
	name:  "postgres",
	told:  postgres.Told,
	again: postgres.Again,
	// Its text holds neither NUL nor bytes that are no UTF-8, and nothing that is
	// kept has them: but names and ids come from outside, to be looked up.
	text: func(text string) string {
		return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	},
	hold:     " FOR SHARE",
	alone:    `SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 0))`,
	snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	patience: 10 * time.Second,
}

// maxClockSkew is how far the clocks of this machine and of the database may
// differ: as far as tokens allow between those who sign and those who verify.
const maxClockSkew = leeway

// OpenSharedAccounts opens the store in a database that several nodes share, and
// makes it where it is missing. What one node writes holds for all the others at
// their next call. Nodes tell the time by their own clocks; one whose clock is
// more than half a minute off the database's is refused.
func OpenSharedAccounts(ctx context.Context, d *postgres.Database) (*Accounts, error) {
	db := d.Open(accountsSchema, 8, map[string]string{
		"idle_in_transaction_session_timeout": "15s", // a node that vanished holds no row for long
	})
	a := &Accounts{db: &store{db, postgresEngine}}
	err := a.checkClock(ctx)
	if err == nil {
		err = a.upgradeShared(ctx, d)
	}
	if err == nil {
		err = a.prepare(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open the accounts in %s: %w", d, errors.Join(err, a.Close()))
	}
	return a, nil
}

func (a *Accounts) checkClock(ctx context.Context) error {
	before := time.Now()
	var there time.Time
	if err := a.db.row(ctx, `SELECT clock_timestamp()`).Scan(&there); err != nil {
		return err
	}
	return compareClocks(before, there, time.Now())
}

// compareClocks compares what the database's clock said with what the one here
// said before and after.
func compareClocks(before, there, after time.Time) error {
	if there.Before(before.Add(-maxClockSkew)) || there.After(after.Add(maxClockSkew)) {
		return fault.Errorf(fault.Unavailable, "this machine's clock says %s and the database's %s: set them by the same time service",
			before.UTC().Format(time.RFC3339), there.UTC().Format(time.RFC3339))
	}
	return nil
}

// upgradeShared runs the scripts that are missing, at one node at a time. A store
// that is as it should be is not touched, so that no right to make tables is
// needed then.
func (a *Accounts) upgradeShared(ctx context.Context, d *postgres.Database) error {
	if version, err := a.sharedVersion(ctx); err != nil || version == len(migrations) {
		return err
	}
	return a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		// The schema, which may not be there, has a lock to itself by its name.
		if _, err := tx.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 1))`, d.Schema(accountsSchema)); err != nil {
			return err
		}
		if err := d.Make(ctx, tx, accountsSchema); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, `CREATE TABLE IF NOT EXISTS version (version integer NOT NULL)`); err != nil {
			return err
		}
		var version int
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM version`).Scan(&version); err != nil {
			return err
		}
		if err := checkVersion(version); err != nil {
			return err
		}
		for i, migration := range migrations[version:] {
			script, err := a.db.script(migration)
			if err != nil {
				return err
			}
			if _, err := tx.exec(ctx, script); err != nil {
				return err
			}
			if _, err := tx.exec(ctx, `INSERT INTO version (version) VALUES ($1)`, version+i+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// sharedVersion returns the store's version, 0 where there is none.
func (a *Accounts) sharedVersion(ctx context.Context) (version int, err error) {
	var there bool
	if err := a.db.row(ctx, `SELECT to_regclass('version') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, err
	}
	if err := a.db.row(ctx, `SELECT coalesce(max(version), 0) FROM version`).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkVersion(version)
}
