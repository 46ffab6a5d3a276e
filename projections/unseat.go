package projections

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"time"

	"annals/events/postgres"

	"github.com/google/uuid"
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

var notPlain = regexp.MustCompile(`[^A-Za-z0-9.-]`)

// nodeName names this process among nodes: by its host, which people know, and by
// what no other has. The name of a session takes 63 bytes.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	host = notPlain.ReplaceAllString(host, "-")
	return host[:min(len(host), 40)] + "/" + uuid.NewString()[:8]
}

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

// leadingSession finds the session of a node that leads the generation whose lock is $1.
const leadingSession = `FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
	WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND a.datname = current_database()
	AND (l.classid::bigint << 32 | l.objid::bigint) = $1 AND a.application_name LIKE '` + leaderName + `%'`

// toldWithin is true of a node whose lease on telling that it is there ended so
// many milliseconds ago at most.
func (d *Database) toldWithin(ms int64) string {
	return fmt.Sprintf(`EXISTS (SELECT 1 FROM %s.leases WHERE name = '%s' || substr(a.application_name, %d) AND expires > %s - %d)`,
		d.db.Schema("control"), nodeLease, len(leaderName)+1, sharedClock, ms)
}

// leader returns the node that leads a generation, "" where none does, and whether
// it does not tell any more that it is there.
func (d *Database) leader(ctx context.Context, generation string) (node string, silent bool, err error) {
	err = d.pool.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(max(substr(a.application_name, %d)), ''), coalesce(bool_or(NOT %s), false) %s`,
		len(leaderName)+1, d.toldWithin(0), leadingSession), lockOf(d.db.Schema(schemaOf(generation)))).Scan(&node, &silent)
	return node, silent, postgres.Told(err)
}

// unseat ends the session that leads a generation where its node hangs: it does
// not tell any more that it is there, but its machine keeps the connection.
func (d *Database) unseat(ctx context.Context, generation string) (ended bool, err error) {
	err = d.pool.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(bool_or(pg_terminate_backend(l.pid)), false) %s
		AND a.backend_start < now() - interval '%d seconds' AND NOT %s`,
		leadingSession, int(2*unseatAfter.Seconds()), d.toldWithin(unseatAfter.Milliseconds())),
		lockOf(d.db.Schema(schemaOf(generation)))).Scan(&ended)
	return ended, postgres.Told(err)
}
