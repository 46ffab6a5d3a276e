package cluster

import (
	"context"
	"fmt"
	"time"

	"annals/events/sqldb"
	"annals/projections/control"
	"annals/projections/tables"
)

// sessionTimeout is how long other nodes wait, after a leader's announcement has
// expired, before they end the leader's session.
const sessionTimeout = 9 * time.Second

// leaderSession finds the session of the leader that holds the lock $1.
const leaderSession = `FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.datname = current_database()
	AND (l.classid::bigint << 32 | l.objid::bigint) = $1 AND a.application_name LIKE '` + tables.SessionPrefix + `%'`

// announcedWithin returns an SQL condition for a session. It is true if the lease of
// Announce of the session's node was valid at some time in the last ms milliseconds.
func (d *postgres) announcedWithin(ms int64) string {
	return fmt.Sprintf(`EXISTS (SELECT 1 FROM %s.leases WHERE name = '%s' || substr(a.application_name, %d) AND expires > %s - %d)`,
		d.db.Schema("control"), control.NodeLease, len(tables.SessionPrefix)+1, control.SharedClock, ms)
}

// Leader is Notifier.Leader.
func (d *postgres) Leader(ctx context.Context, model string, generation int) (node string, silent bool, err error) {
	err = d.pool.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(max(substr(a.application_name, %d)), ''), coalesce(bool_or(NOT %s), false) %s`,
		len(tables.SessionPrefix)+1, d.announcedWithin(0), leaderSession), sqldb.LockKey(d.schema(model, generation))).Scan(&node, &silent)
	return node, silent, sqldb.Classify(err)
}

// EndHungLeader is Notifier.EndHungLeader. Without it, a hung process would keep its
// connection, and with it the leader's lock.
func (d *postgres) EndHungLeader(ctx context.Context, model string, generation int) (ended bool, err error) {
	err = d.pool.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(bool_or(pg_terminate_backend(l.pid)), false) %s
		AND a.backend_start < now() - interval '%d seconds' AND NOT %s`,
		leaderSession, int(2*sessionTimeout.Seconds()), d.announcedWithin(sessionTimeout.Milliseconds())),
		sqldb.LockKey(d.schema(model, generation))).Scan(&ended)
	return ended, sqldb.Classify(err)
}
