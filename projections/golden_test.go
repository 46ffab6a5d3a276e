package projections_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/eventstest"
	"annals/events/memory"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/projectionstest/golden"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
)

// openSet opens all read models of a log.
func openSet(t *testing.T, driver events.Driver) *projections.Set {
	t.Helper()
	dir, log := t.TempDir(), events.NewLog(driver)
	home := projectionstest.Home(t, dir)
	control, err := control.Open(t.Context(), filepath.Join(dir, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := projections.Open(t.Context(), generation.Options{
		Log: log, Control: control, Tables: home, Search: bleve.Folder(dir), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, closing := range []func() error{set.Close, control.Close, log.Close} {
			if err := closing(); err != nil {
				t.Error(err)
			}
		}
	})
	return set
}

// fold runs all read models until they have applied a position.
func fold(t *testing.T, set *projections.Set, last events.Position) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- set.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, r := range set.All() {
		if err := r.Wait(within, last); err != nil {
			t.Fatal(err)
		}
		for {
			_, moved := r.Moved()
			if !pending(t, r) {
				break
			}
			select {
			case <-moved:
			case <-within.Done():
				t.Fatalf("%s has work left after a minute", r.Name())
			}
		}
	}
}

// todo are tables of work that is left, by read model: nothing of it stays.
var todo = map[string][]string{"vault": {"emptied"}, "passages": {"unindexed", "forgotten", "deferred"}}

func pending(t *testing.T, r *projections.Runner) bool {
	t.Helper()
	for _, table := range todo[r.Name()] {
		if len(tableRows(t, r, table)) > 1 {
			return true
		}
	}
	return false
}

// TestFoldsGolden folds the released log into every read model.
func TestFoldsGolden(t *testing.T) {
	released := eventstest.Released(t)
	sets := make(map[int]*projections.Set)
	folded := func(n int) *projections.Set {
		if sets[n] == nil {
			driver := memory.New()
			var last events.Position
			for _, r := range released[:n] {
				at, err := driver.Append(t.Context(), r.Stream, r.Revision-1, []events.Record{r})
				if err != nil {
					t.Fatal(err)
				}
				last = at.Position
			}
			sets[n] = openSet(t, driver)
			fold(t, sets[n], last)
		}
		return sets[n]
	}
	for _, r := range folded(len(released)).All() {
		t.Run(r.Name(), func(t *testing.T) {
			golden.Check{
				File: "testdata/fold-" + r.Name() + ".txt", Changed: "the tables that " + r.Name() + " makes of the released log have changed",
				Version: r.Version(), Raise: versionOf(r), Input: len(released),
			}.Run(t, func(n int) []byte { return dump(t, folded(n).Runner(r.Name())) })
		})
	}
}

// dump writes all tables of a read model.
func dump(t *testing.T, r *projections.Runner) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, table := range tables(t, r) {
		fmt.Fprintf(&out, "%s: ", table)
		for _, row := range tableRows(t, r, table) {
			fmt.Fprintln(&out, row)
		}
	}
	return out.Bytes()
}

// versionOf names the Version of a read model, and where it stands.
func versionOf(r *projections.Runner) string {
	of := reflect.Indirect(reflect.ValueOf(r.Projection)).Type()
	return fmt.Sprintf("Version of %s in %s", r.Name(), strings.TrimPrefix(of.PkgPath(), "annals/"))
}

// tables returns those that hold what was folded: how far the read model got, and
// what it has to do, depends on when it was asked.
func tables(t *testing.T, r *projections.Runner) []string {
	t.Helper()
	query := `SELECT name FROM sqlite_schema WHERE type = 'table'`
	if postgrestest.Chosen() {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	names, err := sqldb.Column[string](t.Context(), r.DB(), query)
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"checkpoint", "indexed"}, name) || slices.Contains(todo[r.Name()], name) || strings.HasPrefix(name, "sqlite_")
	})
	slices.Sort(names)
	return names
}

// arrivals are columns with the numbers of rows, which a database gives as it
// likes, by the table of which they are.
var arrivals = map[string]string{"texts.id": "texts", "documents.text": "texts", "sections.text_id": "texts", "sections.id": "sections", "passages.row": "sections"}

// tableRows returns the names of a table's columns, and its rows in the order of
// their texts.
func tableRows(t *testing.T, r *projections.Runner, table string) []string {
	t.Helper()
	rows, err := r.DB().QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values, fields := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			fields[i] = &values[i]
		}
		if err := rows.Scan(fields...); err != nil {
			t.Fatal(err)
		}
		var row strings.Builder
		for i, value := range values {
			if of := arrivals[table+"."+columns[i]]; of != "" && r.Name() == "passages" {
				value = fmt.Sprint(of, " ", arrival(t, r, of, value))
			}
			if text, ok := value.([]byte); ok {
				value = string(text)
			}
			fmt.Fprintf(&row, "\t%q", fmt.Sprint(value))
		}
		all = append(all, row.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return append([]string{strings.Join(columns, " ")}, all...)
}

// arrival returns how many rows of a table came up to one.
func arrival(t *testing.T, r *projections.Runner, table string, id any) (n int) {
	t.Helper()
	if err := r.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE id <= $1", id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTermsGolden takes texts and questions apart into the terms that an index
// holds and is asked for.
func TestTermsGolden(t *testing.T) {
	texts := append(goldenTexts(), "\xff\xfe broken\xff.", "The ships were sailing; generations of relational, electrical engineers argued hopefully about agreed possibilities.")
	var out bytes.Buffer
	for _, text := range texts {
		text = strings.ToValidUTF8(text[:min(len(text), 300)], "\xff")
		fmt.Fprintf(&out, "%q\n\t%q\n\t%v\n", text, searchindex.Terms(text), searchindex.QueryTerms(text))
	}
	checkPassages(t, "terms", "the terms that texts are indexed by", out.Bytes())
}

// checkPassages compares what the passages and their index are made by.
func checkPassages(t *testing.T, name, what string, output []byte) {
	t.Helper()
	r := openSet(t, memory.New()).Runner(passages.Name)
	golden.Check{File: "testdata/" + name + ".txt", Changed: what + " have changed", Version: r.Version(), Raise: versionOf(r)}.Run(t, func(int) []byte { return output })
}
