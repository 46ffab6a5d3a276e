package projections

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
)

// comparison reads what a table holds, without what is of its file alone. The
// first columns tell rows apart, and rows come in their order.
type comparison struct {
	table string
	query string
	keys  int
}

// compared is a projection that says how its tables are compared. Those of
// others are compared whole, by their primary keys.
type compared interface{ comparisons() []comparison }

// comparisons leaves out the numbers of rows, which come as they come, what the
// index has yet to take (until it has, passages of an earlier version stay), and
// texts that no document names: they count for nothing, and may be removed from the log.
func (*Passages) comparisons() []comparison {
	return []comparison{
		{"folders", `SELECT id, parent, deleted FROM folders ORDER BY id`, 1},
		{"documents", `SELECT d.id, d.folder, d.title, d.media_type, d.version, d.tags, t.stream AS text,
				CASE WHEN d.id IN (SELECT document FROM unindexed UNION ALL SELECT document FROM deferred) THEN d.version ELSE d.shown END AS shown
			FROM documents d LEFT JOIN texts t ON t.id = d.text ORDER BY d.id`, 1},
		{"texts", `SELECT stream, named FROM texts WHERE named = 1 ORDER BY stream`, 1},
		{"sections", `SELECT t.stream, s.section, s.part, s.level, s.title, s.path, s.start_page, s.breaks, s.text
			FROM texts t CROSS JOIN sections s WHERE s.text_id = t.id AND t.named = 1 ORDER BY t.stream, s.section, s.part`, 3},
		{"sections of no text", `SELECT id FROM sections WHERE text_id NOT IN (SELECT id FROM texts) ORDER BY id`, 1},
		{"passages", `SELECT p.document, p.version, p.section, p.number, p.start, p.length, p.start_page, p.end_page, t.stream, s.section AS of_section, s.part
			FROM passages p LEFT JOIN documents d ON d.id = p.document LEFT JOIN sections s ON s.id = p.row LEFT JOIN texts t ON t.id = s.text_id
			WHERE p.version IS NOT DISTINCT FROM d.version OR p.document NOT IN (SELECT document FROM unindexed UNION ALL SELECT document FROM deferred)
			ORDER BY p.document, p.version, p.section, p.number`, 4},
	}
}

// deferring is a projection with rows that mean nothing, or wait to be removed. It says by table
// which rows count, and "" for a table that holds only what waits.
type deferring interface{ counting() map[string]string }

// counting leaves out spaces in which nothing is any more: what is applied late
// may leave none.
func (Usage) counting() map[string]string {
	return map[string]string{"spaces": `bytes <> 0 OR documents <> 0`}
}

func (Vault) counting() map[string]string {
	const kept = `NOT EXISTS (SELECT 1 FROM documents d JOIN emptied e ON e.folder = d.folder WHERE d.id = document)`
	return map[string]string{"emptied": "", "documents": `folder NOT IN (SELECT folder FROM emptied)`, "versions": kept, "tags": kept}
}

// parkedRows tell which events wait; the reasons are a program's words.
var parkedRows = comparison{"parked", `SELECT position, stream, revision FROM parked ORDER BY position`, 1}

// compareTables tells problem of every row that the read model which serves and
// the fresh one do not share, and returns how many rows and tables there are.
func (m *verifiedModel) compareTables(ctx context.Context, problem func(string)) (rows, tables int, err error) {
	all, err := m.tables(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, c := range all {
		n, err := c.run(ctx, m.served.held, m.fresh.store.reads(), problem)
		rows += n
		if err != nil {
			return rows, len(all), err
		}
	}
	return rows, len(all), nil
}

func (m *verifiedModel) tables(ctx context.Context) ([]comparison, error) {
	if p, ok := m.Projection.(compared); ok {
		return append(p.comparisons(), parkedRows), nil
	}
	names, err := Column(ctx, m.fresh.store.reads(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('checkpoint', 'parked') ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var counting map[string]string
	if p, ok := m.Projection.(deferring); ok {
		counting = p.counting()
	}
	all := []comparison{parkedRows}
	for _, name := range names {
		where, some := counting[name]
		if some && where == "" {
			continue
		}
		if !some {
			where = "true"
		}
		keys, err := Column(ctx, m.fresh.store.reads(), `SELECT name FROM pragma_table_info($1) WHERE pk > 0 ORDER BY pk`, name)
		if err != nil {
			return nil, err
		}
		rest, err := Column(ctx, m.fresh.store.reads(), `SELECT name FROM pragma_table_info($1) WHERE pk = 0 ORDER BY cid`, name)
		if err != nil {
			return nil, err
		}
		query := fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s`, strings.Join(append(keys, rest...), ", "), name, where, strings.Join(keys, ", "))
		all = append(all, comparison{name, query, len(keys)})
	}
	return all, nil
}

// run goes through the rows of both sides at once and returns how many the
// fresh one has.
func (c comparison) run(ctx context.Context, served, fresh Queryer, problem func(string)) (rows int, err error) {
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
			problem(was.name(c) + " is not what the log gives: it should not be there")
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

// order compares the keys of two rows; no row comes after all others.
func (c comparison) order(a, b []any) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	for i := range c.keys {
		if n := compareValues(a[i], b[i]); n != 0 {
			return n
		}
	}
	return 0
}

// compareValues orders values as SQLite does: none, numbers, texts, bytes.
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

// differ tells of a row whose columns are not all the same.
func (c comparison) differ(was, want *cursor, problem func(string)) {
	var told []string
	for i := c.keys; i < len(want.row); i++ {
		if !same(was.row[i], want.row[i]) {
			told = append(told, fmt.Sprintf("%s is %s, by the log %s", want.columns[i], showValue(was.row[i]), showValue(want.row[i])))
		}
	}
	if len(told) > 0 {
		problem(want.name(c) + ": " + strings.Join(told, "; "))
	}
}

// same reports whether two values are one. Engines return no bytes as nil or
// as an empty slice.
func same(a, b any) bool {
	if x, ok := a.([]byte); ok {
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	}
	return reflect.DeepEqual(a, b)
}

func showValue(v any) string {
	const most = 80
	switch t := v.(type) {
	case nil:
		return "nothing"
	case []byte:
		return showValue(string(t))
	case string:
		if r := []rune(t); len(r) > most {
			t = string(r[:most]) + "…"
		}
		return fmt.Sprintf("%q", t)
	}
	return fmt.Sprint(v)
}

// cursor stands on a row of a comparison; row is nil after the last.
type cursor struct {
	*sql.Rows
	columns []string
	row     []any
}

func (c comparison) open(ctx context.Context, from Queryer) (*cursor, error) {
	rows, err := from.QueryContext(ctx, c.query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.table, err)
	}
	columns, err := rows.Columns()
	if err != nil {
		rows.Close()
		return nil, fmt.Errorf("%s: %w", c.table, err)
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

// name names the row that the cursor stands on.
func (c *cursor) name(of comparison) string {
	var b strings.Builder
	b.WriteString(of.table)
	for i := range of.keys {
		fmt.Fprintf(&b, " %s=%v", c.columns[i], c.row[i])
	}
	return b.String()
}
