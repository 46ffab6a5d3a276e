package projections

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"annals/events"
	"annals/events/postgres"

	"github.com/jackc/pgx/v5"
)

// awaited is the channel on which a node tells that somebody waits for a
// position, in the words of Moved.
const awaited = "annals_awaited"

// listen hears of all generations in the database, on a connection of its own.
func (d *Database) listen(ctx context.Context, ready func(), heard func(notice)) error {
	pool := d.db.Open("", 1, writerSettings)
	defer pool.Close()
	session, err := pool.Conn(ctx)
	if err != nil {
		return postgres.Told(err)
	}
	defer session.Close()
	err = postgres.Conn(session, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "LISTEN "+Moved+"; LISTEN "+awaited); err != nil {
			return err
		}
		for ready(); ; {
			n, err := c.WaitForNotification(ctx)
			if err != nil {
				return err
			}
			if notice, ok := d.noticeOf(n.Channel, n.Payload); ok {
				heard(notice)
			}
		}
	})
	return postgres.Told(err)
}

// noticeOf reads what was told; ok is false for what is of other services in
// the same database.
func (d *Database) noticeOf(channel, payload string) (n notice, ok bool) {
	name, position, _ := strings.Cut(payload, " ")
	p, err := strconv.ParseInt(position, 10, 64)
	name, ours := strings.CutPrefix(name, d.db.Schema(""))
	i := strings.LastIndexByte(name, '_')
	if err != nil || !ours || i < 0 {
		return notice{}, false
	}
	return notice{generation: name[:i] + "-" + name[i+1:], position: events.Position(p), awaited: channel == awaited}, true
}

// hurry tells the node that leads a generation that somebody waits.
func (d *Database) hurry(ctx context.Context, generation string, p events.Position) error {
	_, err := d.pool.ExecContext(ctx, `SELECT pg_notify($1, $2)`, awaited, fmt.Sprintf("%s %d", d.db.Schema(schemaOf(generation)), p))
	return postgres.Told(err)
}
