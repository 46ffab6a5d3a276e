package tables

import (
	"context"
	"fmt"
	"strings"

	"annals/events/sqldb"

	"github.com/jackc/pgx/v5"
)

// insertInto returns a statement that inserts one row unless a row with the same key
// exists.
func insertInto(table string, columns []string) string {
	places := make([]string, len(columns))
	for i := range columns {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING", table, strings.Join(columns, ", "), strings.Join(places, ", "))
}

// insertion has the gathered rows of one table.
type insertion struct {
	table   string
	columns []string
	rows    [][]any
	bytes   int
}

const (
	copyMin = 16   // minimum number of rows for which COPY is worth its round trips
	copyMax = 1000 // number of gathered rows at which they are sent
)

// Insert is Tx.Insert. Rows are gathered until a statement may read their table.
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
	if len(i.rows) >= copyMax || i.bytes >= gatherBytes {
		return s.Flush(ctx)
	}
	return s.failed
}

// insert sends rows by COPY if there are many. COPY cannot skip existing rows: if a row
// exists, insert sends all rows by INSERT.
func (s *postgresStore) insert(ctx context.Context, i *insertion) error {
	if len(i.rows) >= copyMin {
		err := s.copy(ctx, i)
		if !sqldb.IsDuplicate(err) {
			return err
		}
		s.failed = nil
		s.gather("ROLLBACK TO SAVEPOINT copied")
		if err := s.send(ctx); err != nil { // sent separately, because no statement can be prepared until the rollback has run
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
	s.failed = s.check(sqldb.PgxConn(s.session, func(c *pgx.Conn) error {
		_, err := c.CopyFrom(ctx, pgx.Identifier{i.table}, i.columns, pgx.CopyFromRows(i.rows))
		return err
	}))
	return s.failed
}

// namesTable reports whether a statement may read or change a table.
func namesTable(query, table string) bool { return strings.Contains(query, table) }
