package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"

	"github.com/google/uuid"
)

// claim gives names to holder for a time, all but those that others hold, and
// returns which it gave.
func (c *Control) claim(ctx context.Context, holder string, lease time.Duration, names ...string) (won map[string]bool, err error) {
	return c.named(ctx, `INSERT INTO leases (name, holder, expires) SELECT value, $2, `+c.clock+` + $3 FROM json_each($1) WHERE true
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires WHERE leases.expires <= `+c.clock+` RETURNING name`,
		names, holder, lease.Milliseconds())
}

// leased returns which of some leases nodes have. It is for many claims at once,
// most of which would be refused: where there is one node it tells none.
func (c *Control) leased(ctx context.Context, names ...string) (held map[string]bool, err error) {
	if !c.shared {
		return nil, nil
	}
	return c.named(ctx, `SELECT name FROM leases WHERE name IN (SELECT value FROM json_each($1)) AND expires > `+c.clock, names)
}

// named carries out a statement on a list of names, $1, and returns the names
// that it gives. No names are no statement.
func (c *Control) named(ctx context.Context, statement string, names []string, args ...any) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	found, err := Column(ctx, c.db, statement, append([]any{string(list)}, args...)...)
	given := make(map[string]bool, len(found))
	for _, name := range found {
		given[name] = true
	}
	return given, c.told(err)
}

// renewAll prolongs leases and returns which of them holder still had.
func (c *Control) renewAll(ctx context.Context, holder string, lease time.Duration, names ...string) (held map[string]bool, err error) {
	return c.named(ctx, `UPDATE leases SET expires = `+c.clock+` + $3 WHERE name IN (SELECT value FROM json_each($1)) AND holder = $2 RETURNING name`,
		names, holder, lease.Milliseconds())
}

// renew prolongs a lease and reports whether holder still had it.
func (c *Control) renew(ctx context.Context, name, holder string, lease time.Duration) (held bool, err error) {
	n, err := c.exec(ctx, `UPDATE leases SET expires = `+c.clock+` + $3 WHERE name = $1 AND holder = $2`, name, holder, lease.Milliseconds())
	return n == 1, err
}

func (c *Control) release(ctx context.Context, name, holder string) error {
	_, err := c.exec(ctx, `DELETE FROM leases WHERE name = $1 AND holder = $2`, name, holder)
	return err
}

// ReleaseAll ends the leases of a holder that is known to be gone, so that its
// work need not wait until they run out.
func (c *Control) ReleaseAll(ctx context.Context, holder string) error {
	_, err := c.exec(ctx, `DELETE FROM leases WHERE holder = $1`, holder)
	failpoint.Here(failpoint.LeasesReleased)
	return err
}

// forget removes leases that ran out a time ago. It leaves those that a node is
// just claiming: each of the two would wait for the other.
func (c *Control) forget(ctx context.Context, ago time.Duration) error {
	old := `SELECT name FROM leases WHERE expires < ` + c.clock + ` - $1`
	if c.shared {
		old += ` FOR UPDATE SKIP LOCKED`
	}
	_, err := c.exec(ctx, `DELETE FROM leases WHERE name IN (`+old+`)`, ago.Milliseconds())
	failpoint.Here(failpoint.LeasesForgotten)
	return err
}

// rebuildLease is how long a rebuild that was killed keeps others from the same
// projection.
const rebuildLease = 6 * time.Second

// alone runs fn while no other process rebuilds the same projection. It waits
// for one that was killed, as long as its lease lasts.
func (c *Control) alone(ctx context.Context, projection string, fn func(context.Context) error) error {
	return c.inTurn(ctx, "rebuild "+projection, rebuildLease, fn)
}

// Alone runs fn unless another process is at what a name stands for: that is
// fault.Conflict.
func (c *Control) Alone(ctx context.Context, name string, fn func(context.Context) error) error {
	return c.inTurn(ctx, name, 0, fn)
}

// forever is more than anything takes.
const forever = 1 << 62

// inTurn runs fn while no other process has the lease of a name, for which it
// waits so long.
func (c *Control) inTurn(ctx context.Context, name string, patience time.Duration, fn func(context.Context) error) (err error) {
	holder := uuid.NewString()
	if err := c.claimSoon(ctx, name, holder, patience); err != nil {
		return err
	}
	failpoint.Here(failpoint.RebuildClaimed)
	defer func() {
		err = errors.Join(err, c.release(context.WithoutCancel(ctx), name, holder))
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

func (c *Control) claimSoon(ctx context.Context, name, holder string, patience time.Duration) error {
	again := time.NewTicker(rebuildLease / 30)
	defer again.Stop()
	for begun := time.Now(); ; {
		if won, err := c.claim(ctx, holder, rebuildLease, name); won[name] || err != nil {
			return err
		}
		if time.Since(begun) > patience {
			return fault.Errorf(fault.Conflict, "another process is at it: %s", name)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// keep renews a lease until ctx ends, and calls lost where it cannot: where
// another has it, or may soon, since the store has not answered for long.
func (c *Control) keep(ctx context.Context, name, holder string, lost context.CancelCauseFunc) {
	const patience = rebuildLease * 2 / 3
	renew := time.NewTicker(rebuildLease / 6)
	defer renew.Stop()
	for renewed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
		}
		asked := time.Now()
		soon, cancel := context.WithTimeout(ctx, max(patience-asked.Sub(renewed), rebuildLease/6))
		held, err := c.renew(soon, name, holder, rebuildLease)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && held:
			renewed = asked
		case err == nil || time.Since(renewed) >= patience-rebuildLease/6:
			lost(errors.Join(fmt.Errorf("another process took over: %s", name), err))
			return
		}
	}
}
