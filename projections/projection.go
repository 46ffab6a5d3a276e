// Package projections makes read models from the log. One loop runs every
// projection, live and in a rebuild; a file for each read model says how an
// event changes it. Whatever is here can be thrown away and made again.
//
// It imports events, schema and its own search engines, and knows nothing of
// commands.
package projections

import (
	"context"
	"database/sql"

	"annals/events"
)

// Projection folds events into the tables of one read model.
type Projection interface {
	// Name is also the name of its SQL in schema and of its files.
	Name() string
	// Version rises whenever the same events may give other tables; the
	// read model is then made anew.
	Version() int
	// Oldest is the oldest version whose tables can still be read, and
	// brought further by Apply. Such a one serves while it is made anew.
	Oldest() int
	// Types lists the event types that it reads. An event of a type that
	// nobody knows comes to every projection, whose loop cannot apply it.
	Types() []string
	// Apply changes the tables as e says. It must be a function of the
	// tables and e alone, and safe to repeat. An error means that the event
	// cannot be applied.
	Apply(ctx context.Context, tx Tx, e events.Event) error
}

// Tx is one transaction on a read model. Statements are prepared once and
// kept; parameters are $1, $2, ….
type Tx interface {
	Exec(ctx context.Context, query string, args ...any) error
	// Changed is Exec that also returns the number of rows it changed.
	Changed(ctx context.Context, query string, args ...any) (int64, error)
	Queryer
	QueryRow(ctx context.Context, query string, args ...any) Row
	// Insert adds a row to a table of which rows are only inserted and deleted.
	// One whose key is there is left as it is.
	Insert(ctx context.Context, table string, columns []string, values ...any) error
}

// Queryer is what rows can be read from: a Tx, or the DB of a Runner.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// List reads all rows of a query; fields gives the destinations of one.
func List[T any](ctx context.Context, from Queryer, fields func(*T) []any, query string, args ...any) ([]T, error) {
	all, err := list(ctx, from, fields, query, args)
	if db, ok := from.(*DB); ok && ofReplica(err) && ctx.Err() == nil {
		return list(ctx, &DB{r: db.r, original: true}, fields, query, args)
	}
	return all, err
}

func list[T any](ctx context.Context, from Queryer, fields func(*T) []any, query string, args []any) ([]T, error) {
	noticed := func(error) {}
	if db, ok := from.(*DB); ok {
		serving := db.r.Generation() // before the query, so that no younger one is blamed
		noticed = func(err error) { db.r.notice(serving, err) }
	}
	rows, err := from.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	defer func() { noticed(rows.Err()) }()
	var all []T
	for rows.Next() {
		var one T
		if err := rows.Scan(fields(&one)...); err != nil {
			return nil, told(err)
		}
		all = append(all, one)
	}
	return all, told(rows.Err())
}

// Column reads the one text column of all rows of a query.
func Column(ctx context.Context, from Queryer, query string, args ...any) ([]string, error) {
	return List(ctx, from, func(s *string) []any { return []any{s} }, query, args...)
}

// Follower is a Projection with a second store, such as a search index, that
// is brought in step with the tables after each batch.
type Follower interface {
	Projection
	// Position returns up to where the second store holds everything, or an
	// error where it has lost what the tables say that it held.
	Position(ctx context.Context, tables Tables) (events.Position, error)
	// Flush brings the second store up to through, to where the tables are.
	// What is left to do stands in the tables, so that a crash loses nothing.
	Flush(ctx context.Context, tables Tables, through events.Position) error
	Close() error
}

// Deferrer is a Projection of which some work may wait behind everything new.
type Deferrer interface {
	Projection
	// Later does a bounded piece of such work as need not be done before the
	// position moves on, and reports whether it found any.
	Later(ctx context.Context, tables Tables) (more bool, err error)
}

// Tables is the store of a read model, as Flush sees it.
type Tables interface {
	Tx // statements outside of any transaction
	Transaction(ctx context.Context, fn func(Tx) error) error
}
