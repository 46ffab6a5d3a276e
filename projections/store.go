package projections

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"annals/events"
	"annals/events/fault"
	"annals/events/postgres"
	"annals/schema"

	"github.com/jackc/pgx/v5/pgconn"
)

// Home is where read models live, each generation in tables of its own: Folder
// or Database.
type Home interface {
	// open opens the tables of a generation for whoever brings it forward. They
	// are made, with the tables of model, where they are not there.
	open(ctx context.Context, generation, model string) (store, error)
	// view opens the tables of a generation for reading, beside whoever writes
	// to them. It makes nothing: its error is then fs.ErrNotExist.
	view(ctx context.Context, generation string) (*reader, error)
	// there returns nil where a generation has tables, and fs.ErrNotExist where
	// it has none.
	there(ctx context.Context, generation string) error
	// remove deletes the tables of a generation, if there are any.
	remove(ctx context.Context, generation string) error
	// name says in words where the tables of a generation are, or, where that
	// is "", those of all.
	name(generation string) string
}

// store is one generation of a read model: one writer and many readers. What it
// loses, the log can always make again; a commit that is lost takes its
// checkpoint along.
type store interface {
	Tables
	reads() *reader
	// answers is reads for what queries ask: it may be a copy of the tables where
	// that holds what they do.
	answers() answerer
	// lead reports whether this process is the one that may write. It is to be
	// asked before every batch: who leads may lose that at any time, and what
	// it writes then fails. In a folder it is always so.
	lead(ctx context.Context) (leads bool, err error)
	// yield gives the lead up.
	yield()
	// settle carries out what Exec was told in the transaction so far, where
	// that was gathered, so that an error is that of the event in hand.
	settle(ctx context.Context) error
	checkpoint(ctx context.Context) (events.Position, error)
	// fill prepares for a rebuild, and index ends it: it makes the indexes that
	// readers need and Apply does not.
	fill(ctx context.Context) error
	index(ctx context.Context, model string) error
	// rest gives back memory while nothing comes.
	rest(ctx context.Context) error
	// inspect looks whole at what was too large for it when it was opened.
	inspect(ctx context.Context) error
	close() error
}

// parkedStreams returns the streams of which events wait.
func parkedStreams(ctx context.Context, s store) (map[string]bool, error) {
	parked, err := Column(ctx, s.reads(), `SELECT DISTINCT stream FROM parked`)
	streams := make(map[string]bool)
	for _, stream := range parked {
		streams[stream] = true
	}
	return streams, err
}

// answerer answers queries: a reader, or a replica.
type answerer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) Row
}

// reader reads tables: of a *sql.DB, or of a *sql.Tx that holds them still.
type reader struct {
	from interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	db        *sql.DB // whose they are
	arguments func([]any) []any
}

// Row is the row that a query found, or why there is none.
type Row interface {
	Scan(dest ...any) error
}

// toldRow is a row whose error is told by what it means.
type toldRow struct {
	Row
	told func(error) error
}

func (r toldRow) Scan(dest ...any) error { return r.told(r.Row.Scan(dest...)) }

// noRow says why there is no row.
type noRow struct{ err error }

func (r noRow) Scan(...any) error { return r.err }

// told gives an error of a database that is away its kind, and that of tables
// which another process has removed: another generation serves then.
func told(err error) error {
	var reply *pgconn.PgError
	switch {
	case postgres.Passes(err):
		return postgres.Told(err)
	case errors.As(err, &reply) && (reply.Code == "42P01" || reply.Code == "3F000"): // undefined_table, invalid_schema_name
		return fault.Hide(fault.Unavailable, "these tables of a read model were removed meanwhile", err)
	}
	return err
}

// QueryContext is that of sql.DB.
func (r *reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if r.arguments != nil {
		args = r.arguments(args)
	}
	rows, err := r.from.QueryContext(ctx, query, args...)
	for again := 0; again < postgresReaders && r.severed(err); again++ {
		rows, err = r.from.QueryContext(ctx, query, args...)
	}
	return rows, told(err)
}

// QueryRowContext is that of sql.DB.
func (r *reader) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	if r.arguments != nil {
		args = r.arguments(args)
	}
	row := r.from.QueryRowContext(ctx, query, args...)
	for again := 0; again < postgresReaders && r.severed(row.Err()); again++ {
		row = r.from.QueryRowContext(ctx, query, args...)
	}
	return toldRow{row, told}
}

// severed reports whether a query met a connection that had been cut: there may
// be as many as the pool holds, and then a new one.
func (r *reader) severed(err error) bool { return r.db != nil && postgres.Severed(err) }

// hold returns a reader to which nothing changes until release.
func (r *reader) hold(ctx context.Context) (held *reader, release func(), err error) {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, nil, told(fmt.Errorf("hold tables still: %w", err))
	}
	return &reader{from: tx, arguments: r.arguments}, func() { _ = tx.Rollback() }, nil // nothing was written
}

func (r *reader) close() error { return r.db.Close() }

// tablesOf returns the SQL that makes the tables of a read model.
func tablesOf(dialect, model string) (string, error) {
	var all strings.Builder
	for _, file := range []string{"base", model} {
		text, err := schema.SQL.ReadFile("sql/" + dialect + "/" + file + ".sql")
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), nil
}

var tableName = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)
