package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections/tables"

	"github.com/jackc/pgx/v5"
)

// Kinds of a Notice. Each is the name of a channel of PostgreSQL, with the payload
// "<schema> <position>".
const (
	Applied = "annals_moved"   // the tables have all events up to the position
	Indexed = "annals_reached" // the search index has all events up to the position
	Awaited = "annals_awaited" // a reader waits for the position
)

// Notice is a position of a generation, sent to other nodes.
type Notice struct {
	Kind       string
	Model      string
	Generation int
	Position   events.Position
}

// Notifier carries notices between nodes, and finds and ends the session of a
// leader.
type Notifier interface {
	// Listen receives all notices until ctx ends or the connection is lost. It calls
	// ready as soon as no further notice can be missed.
	Listen(ctx context.Context, ready func(), receive func(Notice)) error
	// Notify sends a notice to all nodes.
	Notify(ctx context.Context, n Notice) error
	// Leader returns the node that leads a generation, "" if none does, and whether
	// its announcement has expired.
	Leader(ctx context.Context, model string, generation int) (node string, silent bool, err error)
	// EndHungLeader ends the session of the node that leads a generation if its
	// announcement expired longer ago than the session timeout.
	EndHungLeader(ctx context.Context, model string, generation int) (ended bool, err error)
}

// postgres is the Notifier of nodes that share a database.
type postgres struct {
	db   *sqldb.Postgres
	pool *sql.DB
}

// NotifierOf returns the notifier of the nodes that share a tables.Database. It returns
// nil for a tables.Folder, which nodes cannot share.
func NotifierOf(home tables.Home) Notifier {
	if d, ok := home.(*tables.Database); ok {
		return &postgres{d.Server(), d.Pool()}
	}
	return nil
}

func (d *postgres) schema(model string, generation int) string {
	return d.db.Schema(fmt.Sprintf("%s_%d", model, generation))
}

// Listen is Notifier.Listen. It opens its own connection.
func (d *postgres) Listen(ctx context.Context, ready func(), receive func(Notice)) error {
	pool := d.db.Open("", 1, tables.SessionSettings)
	defer pool.Close()
	session, err := pool.Conn(ctx)
	if err != nil {
		return sqldb.Classify(err)
	}
	defer session.Close()
	err = sqldb.PgxConn(session, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "LISTEN "+Applied+"; LISTEN "+Indexed+"; LISTEN "+Awaited); err != nil {
			return err
		}
		for ready(); ; {
			n, err := c.WaitForNotification(ctx)
			if err != nil {
				return err
			}
			if notice, ok := d.parse(n.Channel, n.Payload); ok {
				receive(notice)
			}
		}
	})
	return sqldb.Classify(err)
}

// parse reads a notice. ok is false if the notice is of another service that uses the
// same database.
func (d *postgres) parse(channel, payload string) (n Notice, ok bool) {
	name, position, _ := strings.Cut(payload, " ")
	name, ours := strings.CutPrefix(name, d.db.Schema(""))
	i := strings.LastIndexByte(name, '_')
	if !ours || i < 0 {
		return Notice{}, false
	}
	p, errPosition := strconv.ParseInt(position, 10, 64)
	number, errNumber := strconv.Atoi(name[i+1:])
	return Notice{channel, name[:i], number, events.Position(p)}, errPosition == nil && errNumber == nil
}

// Notify is Notifier.Notify.
func (d *postgres) Notify(ctx context.Context, n Notice) error {
	_, err := d.pool.ExecContext(ctx, `SELECT pg_notify($1, $2)`, n.Kind, fmt.Sprintf("%s %d", d.schema(n.Model, n.Generation), n.Position))
	return sqldb.Classify(err)
}

// listenAgain is the pause before a lost connection is opened again. Nodes poll in the
// meantime.
const listenAgain = time.Second

// Listen receives notices until ctx ends, and reconnects if the connection is lost. It
// calls ready whenever it has connected and no further notice can be missed.
func Listen(ctx context.Context, n Notifier, ready func(), receive func(Notice), logger *slog.Logger) {
	for ctx.Err() == nil {
		err := n.Listen(ctx, ready, receive)
		if ctx.Err() != nil {
			return
		}
		logger.Warn("notifications from other nodes are interrupted", "error", err, "retry_in", listenAgain)
		select {
		case <-time.After(listenAgain):
		case <-ctx.Done():
		}
	}
}
