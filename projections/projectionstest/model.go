package projectionstest

import (
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

// Model is a read model that a test folds step by step.
type Model struct {
	*generation.Generation
	t     testing.TB
	close func()
}

// OpenModel opens a read model in a home and creates it if it does not exist. It is
// closed when the test ends.
func OpenModel(t testing.TB, log *events.Log, p readmodel.Projection, home tables.Home) *Model {
	t.Helper()
	g, err := generation.New(t.Context(), log, p, home, p.Name()+"-1", Quiet)
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{g, t, sync.OnceFunc(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(m.close)
	return m
}

// Fold applies a whole log to a new read model.
func Fold(t testing.TB, log *events.Log, p readmodel.Projection) *Model {
	t.Helper()
	m := OpenModel(t, log, p, Home(t, t.TempDir()))
	m.ApplyAll()
	return m
}

// Close closes the read model before the test ends.
func (m *Model) Close() { m.close() }

// DB returns the tables for reading.
func (m *Model) DB() generation.Reader { return m.Store().Reads() }

// ApplyAll applies all events of the log and does all deferred work, as a rebuild does.
func (m *Model) ApplyAll() {
	m.t.Helper()
	if err := m.CatchUp(m.t.Context(), Head(m.t, m.Log()), nil); err != nil {
		m.t.Fatal(err)
	}
	m.DoAllDeferred()
}

// DoAllDeferred does all deferred work.
func (m *Model) DoAllDeferred() {
	m.t.Helper()
	if err := m.FinishDeferred(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
}

// StepOnce applies one batch as a running server does, and reports whether the log may
// have more events.
func (m *Model) StepOnce() (more bool) {
	m.t.Helper()
	more, err := m.Step(m.t.Context())
	if p, ok := m.Projection.(readmodel.Indexed); ok && err == nil {
		err = p.Postpone(m.t.Context(), m.Store())
	}
	if err == nil && m.Applied() != m.Position() {
		err = m.Flush(m.t.Context())
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return more
}

// StepAll applies all events and does all deferred work as a running server does: after
// every batch it does a piece of deferred work.
func (m *Model) StepAll() {
	m.t.Helper()
	for {
		more := m.StepOnce()
		deferred, err := m.DoDeferred(m.t.Context())
		if err != nil {
			m.t.Fatal(err)
		}
		if !more && !deferred {
			return
		}
	}
}

// EventsAfter returns the events after a position that the read model reads, and the last
// position of the log.
func (m *Model) EventsAfter(after events.Position) (batch []events.Event, through events.Position) {
	m.t.Helper()
	batch, through, err := m.Log().Read(m.t.Context(), after, 100_000, m.Types()...)
	if err != nil {
		m.t.Fatal(err)
	}
	return batch, through
}

// ApplyEvents applies the events of batch to the tables, even if the tables have these
// events already.
func (m *Model) ApplyEvents(batch []events.Event, through events.Position) {
	m.t.Helper()
	if err := m.ApplyBatch(m.t.Context(), batch, through); err != nil {
		m.t.Fatal(err)
	}
}

// Number returns the number that a query finds in its only row.
func Number(t testing.TB, db generation.Reader, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Rows returns the rows of a query for one text column, one row per line.
func Rows(t testing.TB, db generation.Reader, query string, args ...any) string {
	t.Helper()
	all, err := sqldb.Column[string](t.Context(), db, query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// Dump returns all rows of all tables.
func Dump(t testing.TB, db generation.Reader) string {
	t.Helper()
	var b strings.Builder
	names := `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`
	if postgrestest.Chosen() {
		names = `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename`
	}
	for table := range strings.SplitSeq(Rows(t, db, names), "\n") {
		row := "CAST(r AS TEXT)"
		if !postgrestest.Chosen() {
			row = Rows(t, db, `SELECT group_concat('quote(' || name || ')', '||'',''||') FROM pragma_table_info('`+table+`')`)
		}
		b.WriteString(table + "\n" + Rows(t, db, `SELECT `+row+` FROM `+table+` r ORDER BY 1`) + "\n")
	}
	return b.String()
}

// TextOf returns SQL for the text of a column that stores the text as bytes.
func TextOf(column string) string {
	if postgrestest.Chosen() {
		return "convert_from(" + column + ", 'UTF8')"
	}
	return "CAST(" + column + " AS TEXT)"
}
