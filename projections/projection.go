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
	// Types lists the event types that it reads.
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
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// Follower is a Projection that keeps a second store, such as a search index,
// in step with its tables.
type Follower interface {
	Projection
	// Position returns up to where the second store holds everything.
	Position(ctx context.Context) (events.Position, error)
	// Flush is called after a batch was committed: it brings the second store
	// up to through. What a crash cut off is applied again.
	Flush(ctx context.Context, through events.Position) error
	// Discard forgets what Apply has gathered since the last Flush, because
	// the batch was rolled back.
	Discard()
	Close() error
}
