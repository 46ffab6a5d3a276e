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

// What nodes tell each other of a generation, each on a channel of this name as
// "<schema> <position>".
const (
	moved   = "annals_moved"   // its tables hold all up to a position
	reached = "annals_reached" // its search index does, too
	awaited = "annals_awaited" // somebody waits for that
)

// listener carries word between the nodes that share tables.
type listener interface {
	// listen hears of commits and of those who wait, until ctx ends or the
	// connection is lost. It calls ready once nothing is missed any more.
	listen(ctx context.Context, ready func(), heard func(notice)) error
	// tell gives all nodes a notice.
	tell(ctx context.Context, n notice) error
	// unseat ends the lead of a node that hangs, and reports whether one did.
	unseat(ctx context.Context, generation string) (ended bool, err error)
}

// notice is a word about a position of a generation: moved, reached or awaited.
type notice struct {
	word       string
	projection string
	generation int
	position   events.Position
}

func (r *Runner) about(word string, p events.Position) notice {
	return notice{word, r.Name(), r.Generation(), p}
}

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
		if _, err := c.Exec(ctx, "LISTEN "+moved+"; LISTEN "+reached+"; LISTEN "+awaited); err != nil {
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
	name, ours := strings.CutPrefix(name, d.db.Schema(""))
	i := strings.LastIndexByte(name, '_')
	if !ours || i < 0 {
		return notice{}, false
	}
	p, errPosition := strconv.ParseInt(position, 10, 64)
	number, errNumber := strconv.Atoi(name[i+1:])
	return notice{channel, name[:i], number, events.Position(p)}, errPosition == nil && errNumber == nil
}

func (d *Database) tell(ctx context.Context, n notice) error {
	schema := d.db.Schema(fmt.Sprintf("%s_%d", n.projection, n.generation))
	_, err := d.pool.ExecContext(ctx, `SELECT pg_notify($1, $2)`, n.word, fmt.Sprintf("%s %d", schema, n.position))
	return postgres.Told(err)
}
