package projections

import (
	"context"
	"fmt"
	"time"

	"annals/events/postgres"
)

const (
	// unseatAfter is for how long a node must not have told that it is there,
	// beyond its lease on that, before another ends its lead.
	unseatAfter = 9 * time.Second
	// unseatEvery is how often a node that follows looks.
	unseatEvery = 5 * time.Second
)

// leaderName begins the application_name of sessions that write, which goes on
// with the node's own name.
const leaderName = "annals-node "

// leaderSettings are writerSettings of a server's sessions, by which others know
// whose they are.
func (d *Database) leaderSettings() map[string]string {
	if d.Node == "" {
		return writerSettings
	}
	settings := map[string]string{"application_name": leaderName + d.Node}
	for name, value := range writerSettings {
		settings[name] = value
	}
	return settings
}

// unseat ends the session that leads a generation where its node hangs: it does
// not tell any more that it is there, but its machine keeps the connection.
func (d *Database) unseat(ctx context.Context, generation string) (ended bool, err error) {
	leases := d.db.Schema("control") + ".leases"
	err = d.pool.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(bool_or(pg_terminate_backend(l.pid)), false)
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.datname = current_database()
		AND (l.classid::bigint << 32 | l.objid::bigint) = $1
		AND a.application_name LIKE '%s%%' AND a.backend_start < now() - interval '%d seconds'
		AND NOT EXISTS (SELECT 1 FROM %s WHERE name = '%s' || substr(a.application_name, %d) AND expires > %s - %d)`,
		leaderName, int(2*unseatAfter.Seconds()), leases, nodeLease, len(leaderName)+1, sharedClock, unseatAfter.Milliseconds()),
		lockOf(d.db.Schema(schemaOf(generation)))).Scan(&ended)
	return ended, postgres.Told(err)
}
