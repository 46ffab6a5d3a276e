package projections

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5/stdlib"
)

// errElsewhere says that a replica is not where it was to be.
var errElsewhere = errors.New("the replica is behind, or ahead, or another's")

// replicaError is one of a replica: the tables themselves may answer.
type replicaError struct{ err error }

func (e *replicaError) Error() string { return "replica: " + e.err.Error() }

func (e *replicaError) Unwrap() error { return e.err }

// ofReplica reports whether an error is one of a replica, which says nothing of
// the tables.
func ofReplica(err error) bool { return errors.As(err, new(*replicaError)) }

// guard is the last argument of a query at a replica: where that is to be, and
// what is to be called at the end of the rows.
type guard struct {
	at   mark
	done func()
}

// guarded makes connections whose every query looks, in the same statement,
// where the database is. Two statements may be answered by two servers where
// something stands between; one is answered by one, from one state of it.
type guarded struct{ driver.Connector }

// Connect is that of driver.Connector.
func (g guarded) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, replicaWithin)
	defer cancel()
	conn, err := g.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return guardedConn{conn.(*stdlib.Conn)}, nil
}

type guardedConn struct{ *stdlib.Conn }

// guardColumns come before those of a query: a mark, and whether there is a row.
// A row comes in any case, since the mark is to be known of no rows too.
const guardColumns = 4

func guardedQuery(query string) string {
	return `SELECT mark.*, answer.* FROM (` + markQuery + `) AS mark LEFT JOIN (SELECT true, rows.* FROM (` + query + `) AS rows) AS answer ON true`
}

// QueryContext is that of driver.QueryerContext. It returns errElsewhere where
// the database is not where the guard says.
func (c guardedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	last := len(args) - 1
	g := args[last].Value.(guard)
	rows, err := c.Conn.QueryContext(ctx, guardedQuery(query), args[:last])
	if err != nil {
		return nil, &replicaError{err}
	}
	row := make([]driver.Value, len(rows.Columns()))
	if err = rows.Next(row); err == nil && (row[0] != any(g.at.position) || row[1] != any(g.at.seen) || row[2] != any(g.at.parked)) {
		err = errElsewhere
	}
	if err != nil {
		return nil, errors.Join(&replicaError{err}, rows.Close())
	}
	return &guardedRows{Rows: rows, row: row, done: g.done}, nil
}

// guardedRows are the rows of a query, without what the guard put before them.
type guardedRows struct {
	driver.Rows
	row  []driver.Value // the first one, until it was given out
	done func()

	begun bool
}

// Columns are those of the query.
func (r *guardedRows) Columns() []string { return r.Rows.Columns()[guardColumns:] }

// Next is that of driver.Rows.
func (r *guardedRows) Next(dest []driver.Value) error {
	if r.begun {
		if err := r.Rows.Next(r.row); err != nil {
			return fromReplica(err)
		}
	}
	r.begun = true
	if r.row[guardColumns-1] == nil {
		return io.EOF
	}
	copy(dest, r.row[guardColumns:])
	return nil
}

// Close is that of driver.Rows.
func (r *guardedRows) Close() error {
	defer r.done()
	return fromReplica(r.Rows.Close())
}

// fromReplica names the replica where an error is its.
func fromReplica(err error) error {
	if err == nil || err == io.EOF { // as database/sql compares it
		return err
	}
	return &replicaError{err}
}
