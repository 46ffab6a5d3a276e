package tables

import (
	"context"
	"fmt"
	"strings"

	"annals/events/sqldb"

	"github.com/jackc/pgx/v5"
)

// insertInto returns the statement that inserts one row unless its key exists.
func insertInto(table string, columns []string) string {
	places := make([]string, len(columns))
	for i := range columns {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s) ON CONFLICT DO NOTHING", table, strings.Join(columns, ", "), strings.Join(places, ", "))
}

// insertion is the rows gathered for one table.
type insertion struct {
	table   string
	columns []string
	rows    [][]any
	bytes   int
}

const (
	copyMin = 16   // number of rows from which COPY is worth its round trips
	copyMax = 1000 // number of gathered rows at which they are sent
)

// Insert is Tx.Insert. Rows are gathered until a statement may read them.
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

// insert sends rows, by COPY if there are many. COPY cannot skip existing rows: if
// one exists, the rows are sent by INSERT.
func (s *postgresStore) insert(ctx context.Context, i *insertion) error {
	if len(i.rows) >= copyMin {
		err := s.copy(ctx, i)
		if !sqldb.IsDuplicate(err) {
			return err
		}
		s.failed = nil
		s.gather("ROLLBACK TO SAVEPOINT copied")
		if err := s.send(ctx); err != nil { // sent on its own, because no statement can be prepared before it
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

// namesTable reports whether a statement may concern a table.
func namesTable(query, table string) bool { return strings.Contains(query, table) }
