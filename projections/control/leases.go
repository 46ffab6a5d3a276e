package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/sqldb"

	"github.com/google/uuid"
)

// Claim acquires the leases with the given names for holder, and returns the acquired
// ones. It skips leases that another holder has.
func (c *Store) Claim(ctx context.Context, holder string, lease time.Duration, names ...string) (won map[string]bool, err error) {
	return c.named(ctx, `INSERT INTO leases (name, holder, expires) SELECT value, $2, `+c.clock+` + $3 FROM json_each($1) WHERE true
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires WHERE leases.expires <= `+c.clock+` RETURNING name`,
		names, holder, lease.Milliseconds())
}

// Leased returns which of the given leases some holder has, so that callers need not try
// to claim them. On a single node it always returns none.
func (c *Store) Leased(ctx context.Context, names ...string) (held map[string]bool, err error) {
	if !c.Shared() {
		return nil, nil
	}
	return c.named(ctx, `SELECT name FROM leases WHERE name IN (SELECT value FROM json_each($1)) AND expires > `+c.clock, names)
}

// named runs a statement with a list of names as $1 and returns the names in its
// result.
func (c *Store) named(ctx context.Context, statement string, names []string, args ...any) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	found, err := sqldb.Column[string](ctx, c.db, statement, append([]any{string(list)}, args...)...)
	set := make(map[string]bool, len(found))
	for _, name := range found {
		set[name] = true
	}
	return set, err
}

// Renew extends leases of holder and returns those that it had not lost.
func (c *Store) Renew(ctx context.Context, holder string, lease time.Duration, names ...string) (held map[string]bool, err error) {
	return c.named(ctx, `UPDATE leases SET expires = `+c.clock+` + $3 WHERE name IN (SELECT value FROM json_each($1)) AND holder = $2 RETURNING name`,
		names, holder, lease.Milliseconds())
}

// renewOne extends a lease, and reports false if holder has lost it.
func (c *Store) renewOne(ctx context.Context, name, holder string, lease time.Duration) (held bool, err error) {
	n, err := c.db.Exec(ctx, `UPDATE leases SET expires = `+c.clock+` + $3 WHERE name = $1 AND holder = $2`, name, holder, lease.Milliseconds())
	return n == 1, err
}

// Release ends a lease of holder.
func (c *Store) Release(ctx context.Context, name, holder string) error {
	_, err := c.db.Exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	return err
}

// ReleaseAll ends the leases of a holder that no longer runs, so that other processes
// need not wait until the leases expire.
func (c *Store) ReleaseAll(ctx context.Context, holder string) error {
	_, err := c.db.Exec(ctx, `DELETE FROM leases WHERE holder = $1`, holder)
	failpoint.Here(failpoint.LeasesReleased)
	return err
}

// RemoveExpired removes leases that expired some time ago. It skips those that another
// node is claiming, because waiting for them could deadlock.
func (c *Store) RemoveExpired(ctx context.Context, ago time.Duration) error {
	old := `SELECT name FROM leases WHERE expires < ` + c.clock + ` - $1`
	if c.Shared() {
		old += ` FOR UPDATE SKIP LOCKED`
	}
	_, err := c.db.Exec(ctx, `DELETE FROM leases WHERE name IN (`+old+`)`, ago.Milliseconds())
	failpoint.Here(failpoint.LeasesForgotten)
	return err
}

// rebuildLease is how long a killed rebuild blocks the next rebuild of the same
// projection.
const rebuildLease = 6 * time.Second

// WhileRebuilding runs fn while no other process rebuilds the same projection. If another
// process was killed during a rebuild, it waits until that process's lease expires.
func (c *Store) WhileRebuilding(ctx context.Context, projection string, fn func(context.Context) error) error {
	return c.InTurn(ctx, "rebuild "+projection, rebuildLease, fn)
}

// Alone runs fn under the named lease. If another process holds the lease, the error is
// fault.Conflict.
func (c *Store) Alone(ctx context.Context, name string, fn func(context.Context) error) error {
	return c.InTurn(ctx, name, 0, fn)
}

// Forever makes InTurn wait without a limit.
const Forever = 1 << 62

// InTurn runs fn under the named lease. If another process holds the lease for longer
// than patience, the error is fault.Conflict.
func (c *Store) InTurn(ctx context.Context, name string, patience time.Duration, fn func(context.Context) error) (err error) {
	holder := uuid.NewString()
	if err := c.claimSoon(ctx, name, holder, patience); err != nil {
		return err
	}
	failpoint.Here(failpoint.RebuildClaimed)
	defer func() {
		err = errors.Join(err, c.Release(context.WithoutCancel(ctx), name, holder))
		failpoint.Here(failpoint.RebuildReleased)
	}()
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		c.keep(held, name, holder, cancel)
	}()
	err = fn(held)
	if lost := context.Cause(held); lost != nil && ctx.Err() == nil {
		err = errors.Join(lost, err)
	}
	cancel(nil)
	<-renewing
	return err
}

// claimSoon claims a lease, and retries until patience is over.
func (c *Store) claimSoon(ctx context.Context, name, holder string, patience time.Duration) error {
	retry := time.NewTicker(rebuildLease / 30)
	defer retry.Stop()
	for begun := time.Now(); ; {
		if won, err := c.Claim(ctx, holder, rebuildLease, name); won[name] || err != nil {
			return err
		}
		if time.Since(begun) > patience {
			return fault.Errorf(fault.Conflict, "another process has the lease %q: try again when it has finished", name)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// keep renews a lease until ctx ends. It calls lost if another process holds the
// lease, or may soon hold it because the store has not responded for too long.
func (c *Store) keep(ctx context.Context, name, holder string, lost context.CancelCauseFunc) {
	const patience = rebuildLease * 2 / 3
	renew := time.NewTicker(rebuildLease / 6)
	defer renew.Stop()
	for renewed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
		}
		begun := time.Now()
		soon, cancel := context.WithTimeout(ctx, max(patience-begun.Sub(renewed), rebuildLease/6))
		held, err := c.renewOne(soon, name, holder, rebuildLease)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && held:
			renewed = begun
		case err == nil || time.Since(renewed) >= patience-rebuildLease/6:
			lost(errors.Join(fmt.Errorf("the lease %q was lost to another process", name), err))
			return
		}
	}
}

// NodeLease is the prefix of the names of the leases by which nodes show that they
// run.
const NodeLease = "node/"

// Served reports whether any node serves the shared read models.
func (c *Store) Served(ctx context.Context) (served bool, err error) {
	if !c.Shared() {
		return false, nil
	}
	err = c.db.Row(ctx, `SELECT EXISTS (SELECT 1 FROM leases WHERE name LIKE '`+NodeLease+`%' AND expires > `+c.clock+`)`).Scan(&served)
	return served, err
}
