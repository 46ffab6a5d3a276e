package verify

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"

	"annals/events/sqldb"
	"annals/projections/readmodel"
)

// comparison compares the rows of a table.
type comparison struct{ readmodel.Comparison }

// parkedRows compares which events are parked, but not why, because the reasons differ
// between versions of the program.
var parkedRows = comparison{readmodel.Comparison{Table: "parked", Query: `SELECT position, stream, revision FROM parked ORDER BY position`, Keys: 1}}

// compareTables reports every row in which the active tables differ from the fresh ones,
// and returns the number of rows and tables.
func (m *model) compareTables(ctx context.Context, problem func(string)) (rows, tables int, err error) {
	all, err := m.tables(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range all {
		n, err := c.run(ctx, m.active.held, m.fresh.Store().Reads(), problem)
		rows += n
		if err != nil {
			return rows, len(all), err
		}
	}
	return rows, len(all), nil
}

func (m *model) tables(ctx context.Context) (all []comparison, err error) {
	if p, ok := m.Projection.(readmodel.Compared); ok {
		for _, c := range p.Comparisons() {
			all = append(all, comparison{c})
		}
		return append(all, parkedRows), nil
	}
	names, err := sqldb.Column[string](ctx, m.fresh.Store().Reads(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('checkpoint', 'parked') ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var counting map[string]string
	if p, ok := m.Projection.(readmodel.Counted); ok {
		counting = p.Counting()
	}
	all = append(all, parkedRows)
	for _, name := range names {
		where, some := counting[name]
		if some && where == "" {
			continue
		}
		if !some {
			where = "true"
		}
		keys, err := sqldb.Column[string](ctx, m.fresh.Store().Reads(), `SELECT name FROM pragma_table_info($1) WHERE pk > 0 ORDER BY pk`, name)
		if err != nil {
			return nil, err
		}
		rest, err := sqldb.Column[string](ctx, m.fresh.Store().Reads(), `SELECT name FROM pragma_table_info($1) WHERE pk = 0 ORDER BY cid`, name)
		if err != nil {
			return nil, err
		}
		query := fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s`, strings.Join(append(keys, rest...), ", "), name, where, strings.Join(keys, ", "))
		all = append(all, comparison{readmodel.Comparison{Table: name, Query: query, Keys: len(keys)}})
	}
	return all, nil
}

// run reads the active and the fresh rows in the order of their keys, reports
// differences, and returns the number of fresh rows.
func (c comparison) run(ctx context.Context, served, fresh readmodel.Queryer, problem func(string)) (rows int, err error) {
	was, err := c.open(ctx, served)
	if err != nil {
		return 0, unreadable(err)
	}
	defer was.Close()
	want, err := c.open(ctx, fresh)
	if err != nil {
		return 0, err
	}
	defer want.Close()
	if err := was.next(); err != nil {
		return 0, unreadable(err)
	}
	if err := want.next(); err != nil {
		return 0, err
	}
	for was.row != nil || want.row != nil {
		order := c.order(was.row, want.row)
		switch {
		case order < 0:
			problem(was.name(c) + " does not follow from the log: it should not exist")
		case order > 0:
			problem(want.name(c) + " is missing")
		default:
			c.differ(was, want, problem)
		}
		if order <= 0 {
			if err := was.next(); err != nil {
				return rows, unreadable(err)
			}
		}
		if order >= 0 {
			rows++
			if err := want.next(); err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}

// order compares the keys of two rows. A nil row comes after all others.
func (c comparison) order(a, b []any) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	for i := range c.Keys {
		if n := compareValues(a[i], b[i]); n != 0 {
			return n
		}
	}
	return 0
}

// compareValues orders values as SQLite does: NULL, numbers, strings, bytes.
func compareValues(a, b any) int {
	class := func(v any) int {
		switch v.(type) {
		case nil:
			return 0
		case int64, float64:
			return 1
		case string:
			return 2
		}
		return 3
	}
	number := func(v any) float64 {
		if f, ok := v.(float64); ok {
			return f
		}
		return float64(v.(int64))
	}
	if n := cmp.Compare(class(a), class(b)); n != 0 {
		return n
	}
	switch a := a.(type) {
	case nil:
		return 0
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case string:
		return cmp.Compare(a, b.(string))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	}
	return cmp.Compare(number(a), number(b))
}

// differ reports a row if one of its columns other than the key differs.
func (c comparison) differ(was, want *cursor, problem func(string)) {
	var different []string
	for i := c.Keys; i < len(want.row); i++ {
		if !same(was.row[i], want.row[i]) {
			different = append(different, fmt.Sprintf("%s is %s, according to the log %s", want.columns[i], showValue(was.row[i]), showValue(want.row[i])))
		}
	}
	if len(different) > 0 {
		problem(want.name(c) + ": " + strings.Join(different, "; "))
	}
}

// same reports whether two values are equal. Databases return empty bytes as nil or as an
// empty slice, which are equal, too.
func same(a, b any) bool {
	if x, ok := a.([]byte); ok {
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	}
	return reflect.DeepEqual(a, b)
}

func showValue(v any) string {
	const limit = 80
	switch t := v.(type) {
	case nil:
		return "nothing"
	case []byte:
		return showValue(string(t))
	case string:
		if r := []rune(t); len(r) > limit {
			t = string(r[:limit]) + "…"
		}
		return fmt.Sprintf("%q", t)
	}
	return fmt.Sprint(v)
}

// cursor reads the rows of a table in order. Its row is nil after the last row.
type cursor struct {
	*sql.Rows
	columns []string
	row     []any
}

func (c comparison) open(ctx context.Context, from readmodel.Queryer) (*cursor, error) {
	rows, err := from.QueryContext(ctx, c.Query)
	if err != nil {
		return nil, fmt.Errorf("read the table %s: %w", c.Table, err)
	}
	columns, err := rows.Columns()
	if err != nil {
		rows.Close()
		return nil, fmt.Errorf("read the table %s: %w", c.Table, err)
	}
	return &cursor{Rows: rows, columns: columns}, nil
}

func (c *cursor) next() error {
	c.row = nil
	if !c.Next() {
		return c.Err()
	}
	row, to := make([]any, len(c.columns)), make([]any, len(c.columns))
	for i := range row {
		to[i] = &row[i]
	}
	c.row = row
	return c.Scan(to...)
}

// name returns a description of the current row.
func (c *cursor) name(of comparison) string {
	var b strings.Builder
	b.WriteString(of.Table)
	for i := range of.Keys {
		fmt.Fprintf(&b, " %s=%v", c.columns[i], c.row[i])
	}
	return b.String()
}
