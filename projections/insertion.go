package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"annals/events/postgres"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// insertInto is the statement that adds one row, unless its key is there.
func insertInto(table string, columns []string) string {
	places := make([]string, len(columns))
	for i := range columns {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING", table, strings.Join(columns, ", "), strings.Join(places, ", "))
}

// insertion is rows that wait to be inserted into one table.
type insertion struct {
	table   string
	columns []string
	rows    [][]any
	bytes   int
}

const (
	copyFrom   = 16   // rows on COPY is worth its turns with the server
	copyAtMost = 1000 // rows are gathered
)

// Insert is Tx.Insert. Rows are gathered until something has to see them.
func (s *postgresStore) Insert(ctx context.Context, table string, columns []string, values ...any) error {
	if !s.within {
		return s.Exec(ctx, insertInto(table, columns), values...)
	}
	i, ok := s.rows[table]
	if !ok {
		i = &insertion{table: table, columns: columns}
		s.rows[table] = i
	}
	values = arguments(values)
	for _, v := range values {
		i.bytes += sizeOf(v)
	}
	i.rows = append(i.rows, values)
	if len(i.rows) >= copyAtMost || i.bytes >= gatherBytes {
		return s.settle(ctx)
	}
	return s.failed
}

// insert sends rows, by COPY where they are many. That knows no conflicts: where
// a row turns out to be there already they are sent one by one.
func (s *postgresStore) insert(ctx context.Context, i *insertion) error {
	if len(i.rows) >= copyFrom {
		err := s.copy(ctx, i)
		var reply *pgconn.PgError
		if !errors.As(err, &reply) || reply.Code != "23505" { // unique_violation
			return err
		}
		s.failed = nil
		s.gather("ROLLBACK TO SAVEPOINT copied")
		if err := s.send(ctx); err != nil { // by itself: nothing can be prepared before
			return err
		}
	}
	query := insertInto(i.table, i.columns)
	for _, row := range i.rows {
		s.gather(query, row...)
	}
	return s.send(ctx)
}

func (s *postgresStore) copy(ctx context.Context, i *insertion) error {
	s.gather("SAVEPOINT copied")
	if err := s.send(ctx); err != nil {
		return err
	}
	s.failed = s.check(postgres.Conn(s.session, func(c *pgx.Conn) error {
		_, err := c.CopyFrom(ctx, pgx.Identifier{i.table}, i.columns, pgx.CopyFromRows(i.rows))
		return err
	}))
	return s.failed
}

// namesTable reports whether a statement may have to do with a table.
func namesTable(query, table string) bool { return strings.Contains(query, table) }
