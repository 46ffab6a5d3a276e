// Package readmodel folds events into read models. Each read model is in a file that
// registers it, except the one for texts, which is in package passages. Read models can
// be deleted and rebuilt from the log.
//
// The package imports events, events/sqldb and searchindex. Other packages get the
// properties of a read model from the registry, and do not name it.
package readmodel

import (
	"context"
	"log/slog"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections/searchindex"
)

// Projection folds events into the tables of one read model.
type Projection interface {
	// Name returns the name of the read model. Its SQL in package schema and its files
	// have the same name.
	Name() string
	// Version has to be raised whenever a program change may lead to other tables for the
	// same events. The read model is then rebuilt.
	Version() int
	// Oldest is the oldest version whose tables can still be read and written. Such
	// tables serve reads while the read model is rebuilt.
	Oldest() int
	// Types lists the event types that the projection reads. Events of types that the
	// program does not know are passed to every projection, and cannot be applied.
	Types() []string
	// Apply changes the tables. It must depend only on the tables and e. It is called
	// once for each event, except for a Follower: if the index is behind the tables after
	// a restart, Apply is called again for some events, and must then lead to the same
	// tables. An error means that the event cannot be applied.
	Apply(ctx context.Context, tx Tx, e events.Event) error
}

// Tx is one transaction on a read model. Statements are prepared once and
// kept; parameters are $1, $2, ….
type Tx interface {
	Exec(ctx context.Context, query string, args ...any) error
	// Changed is like Exec, but also returns the number of changed rows.
	Changed(ctx context.Context, query string, args ...any) (int64, error)
	Queryer
	QueryRow(ctx context.Context, query string, args ...any) Row
	// Insert adds a row, unless a row with the same key exists. It is for tables whose
	// rows are never updated.
	Insert(ctx context.Context, table string, columns []string, values ...any) error
}

// Row is the row that a query found, or the error if it found none.
type Row = sqldb.Row

// Queryer reads rows. A Tx and the DB of a Runner implement it.
type Queryer = sqldb.Queryer

// Follower is a Projection with an index in addition to its tables. The index is updated
// to the position of the tables after each batch.
type Follower interface {
	Projection
	// Position returns the position up to which the index is up to date, or an error if
	// the tables have recorded a higher position for it.
	Position(ctx context.Context, tables Tables) (events.Position, error)
	// Flush updates the index to through, the position of the tables. The tables record
	// the changes that the index still lacks, so a crash loses none.
	Flush(ctx context.Context, tables Tables, through events.Position) error
	Close() error
}

// Deferrer is a Projection that leaves some work until there are no new events.
type Deferrer interface {
	Projection
	// Later does a bounded piece of deferred work and reports whether there was any.
	Later(ctx context.Context, tables Tables) (more bool, err error)
}

// Indexed is a Follower with a search index for each generation. The registered
// projection has no index: With adds one.
type Indexed interface {
	Follower
	Deferrer
	// With returns a projection that has the index of a generation.
	With(index searchindex.Engine) Projection
	// Index returns the index passed to With.
	Index() searchindex.Engine
	// Advance is like Flush, but may leave the index to a goroutine that updates it while
	// the tables receive further events. The next call of Flush or Close waits for it.
	Advance(ctx context.Context, tables Tables, through events.Position) error
	// Postpone defers work that would delay new documents.
	Postpone(ctx context.Context, tables Tables) error
	// Fills reports whether the index is faster with a few large changes than with many
	// small ones. A rebuild then collects more events for each change.
	Fills() bool
	// Reached returns a query of the tables for the position up to which tables and index
	// are up to date, and for the number of parked events.
	Reached() string
}

// Embedded is a Deferrer with vectors of texts, which a service on another machine makes.
// The registered projection makes none: With adds the service. Later returns an error of kind
// fault.Unavailable while the service cannot make vectors, and is then called again later.
type Embedded interface {
	Deferrer
	With(Embedding) Projection
	// Reached is that of Indexed: the position up to which tables and vectors are up to
	// date.
	Reached() string
}

// Embedding is what an Embedded projection needs to make the vectors of a generation.
type Embedding struct {
	Embedder
	Log    *events.Log // has the texts
	Logger *slog.Logger
	// Earlier calls read with the tables of each other generation of the read model that
	// can be read, so that vectors are not made again.
	Earlier func(ctx context.Context, read func(Queryer) error) error
}

// Embedder makes vectors of texts.
type Embedder interface {
	// Model returns the name of the model for new generations, and the number of
	// dimensions of its vectors.
	Model() (name string, dimensions int)
	// Texts returns the vectors of texts, of length 1, in the same order. A text may have
	// none. The error is fault.Unavailable if the vectors cannot be made at the moment.
	Texts(ctx context.Context, model string, dimensions int, texts []string) ([][]float32, error)
}

// Tables is the store of a read model outside of a batch.
type Tables interface {
	Tx // statements outside of any transaction
	Transaction(ctx context.Context, fn func(Tx) error) error
}

// Comparison is a query for the content of a table, without values that differ
// between equal tables, such as row ids. Its first columns are the key, by which it
// is ordered.
type Comparison struct {
	Table string
	Query string
	Keys  int
}

// Compared is a projection that defines how verify compares its tables. For other
// projections, verify compares all rows and columns of each table, in the order of its
// primary key.
type Compared interface{ Comparisons() []Comparison }

// Counted is a projection some of whose rows verify ignores. Counting returns, by table,
// an SQL condition for the rows to compare, or "" to ignore the whole table. Tables that
// it does not list are compared as a whole.
type Counted interface{ Counting() map[string]string }
