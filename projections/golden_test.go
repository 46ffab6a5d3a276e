package projections_test

import (
	"bytes"
	"context"
	"fmt"
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
	"annals/projections/projectionstest"
	"annals/projections/projectionstest/golden"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
)

// openSet opens all read models of a log.
func openSet(t *testing.T, driver events.Driver) *projections.Set {
	t.Helper()
	set, err := projections.Open(t.Context(), projectionstest.Options(t, projectionstest.LogOver(t, driver), t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// fold runs all read models until they have passed a position and done all deferred work.
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
				t.Fatalf("%s still has deferred work after a minute", r.Name())
			}
		}
	}
}

// queues are the tables that list deferred work, by read model. They are empty after
// fold.
var queues = map[string][]string{"vault": {"emptied"}, "passages": {"unindexed", "forgotten", "deferred"}}

// pending reports whether a read model has deferred work.
func pending(t *testing.T, r *projections.Runner) bool {
	t.Helper()
	for _, table := range queues[r.Name()] {
		if len(tableRows(t, r, table)) > 1 {
			return true
		}
	}
	return false
}

// TestFoldsGolden compares the tables that every read model builds from the released log
// with the recorded tables.
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
				File: "testdata/fold-" + r.Name() + ".txt", Changed: "the tables that " + r.Name() + " makes from the released log have changed",
				Version: r.Version(), Raise: versionOf(r), Input: len(released),
			}.Run(t, func(n int) []byte { return dump(t, folded(n).Runner(r.Name())) })
		})
	}
}

// dump returns all rows of the tables of a read model.
func dump(t *testing.T, r *projections.Runner) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, table := range tableNames(t, r) {
		fmt.Fprintf(&out, "%s: ", table)
		for _, row := range tableRows(t, r, table) {
			fmt.Fprintln(&out, row)
		}
	}
	return out.Bytes()
}

// versionOf returns the name of the Version method of a read model, and its package.
func versionOf(r *projections.Runner) string {
	of := reflect.Indirect(reflect.ValueOf(r.Projection)).Type()
	return fmt.Sprintf("Version of %s in %s", r.Name(), strings.TrimPrefix(of.PkgPath(), "annals/"))
}

// tableNames returns the tables of a read model, except the tables of its position and
// its deferred work, whose rows depend on timing.
func tableNames(t *testing.T, r *projections.Runner) []string {
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
		return slices.Contains([]string{"checkpoint", "indexed"}, name) || slices.Contains(queues[r.Name()], name) || strings.HasPrefix(name, "sqlite_")
	})
	slices.Sort(names)
	return names
}

// rowIDs maps each column of the passages that contains row ids to the table of those
// rows. Databases choose row ids freely, so ids are replaced by their rank.
var rowIDs = map[string]string{"texts.id": "texts", "documents.text": "texts", "sections.text_id": "texts", "sections.id": "sections", "passages.row": "sections"}

// tableRows returns the column names of a table, and then its rows, sorted as texts.
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
			if of := rowIDs[table+"."+columns[i]]; of != "" && r.Name() == "passages" {
				value = fmt.Sprint(of, " ", rank(t, r, of, value))
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

// rank returns how many rows of a table have an id up to the given one.
func rank(t *testing.T, r *projections.Runner, table string, id any) (n int) {
	t.Helper()
	if err := r.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE id <= $1", id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTermsGolden compares the terms that texts have as passages and as queries with the
// recorded terms. The weights of a query are not recorded: they do not concern the index.
func TestTermsGolden(t *testing.T) {
	texts := append(goldenTexts(), "\xff\xfe broken\xff.", "The ships were sailing; generations of relational, electrical engineers argued hopefully about agreed possibilities.",
		"Die Häuser und die großen Schiffe, die in den Hafen kamen", "Les églises et les chevaux de la ville, et l'école dans le port", "Las canciones que se cantaban en la plaza y los barcos",
		"Le informazioni sulle montagne che erano nel libro, ma non mai", "Os animais que estavam na praia, mas não os livros em uma lista", "De schepen die in de haven kwamen, en hij schreef de boeken",
		"Skeppen som kom in i hamnen och skrev dem i en bok", "Skibene som kom ind i havnen og ikke skrev det i en bog af dem", "Skipene som kom inn i havnen og ikke skrev det i en bok av dem",
		"Laivat jotka tulivat satamaan ja hän kirjoitti ne kirjaan koska se oli", "A hajók amelyek a kikötőbe jöttek és egy könyvbe írta őket mert ez volt az", "Casele care sunt în oraș și nu au fost la mare pentru că este",
		"Gemileri bir deftere yazdı çünkü bu onun için çok şey idi ve", "Корабли входили в гавань и названия книг", "السفن التي تدخل الميناء في الكتاب", "کشتی\u200cهایی را که به بندر می\u200cآمدند", "दिल्ली भारत की किताबें है")
	var out bytes.Buffer
	for _, text := range texts {
		text = strings.ToValidUTF8(text[:min(len(text), 300)], "\xff")
		var query []string
		for _, t := range searchindex.QueryTerms(text) {
			query = append(query, t.Text)
		}
		l, _, _, terms := searchindex.Passage{Text: text}.Terms()
		code := "en"
		if l != nil {
			code = l.Code
		}
		fmt.Fprintf(&out, "%q\n\t%s %q\n\t%q\n", text, code, terms, query)
	}
	checkPassages(t, "terms", "the terms of texts", out.Bytes())
}

// checkPassages compares output that determines passages or their index with the recorded
// output.
func checkPassages(t *testing.T, name, what string, output []byte) {
	t.Helper()
	r := openSet(t, memory.New()).Runner(passages.Name)
	golden.Check{File: "testdata/" + name + ".txt", Changed: what + " have changed", Version: r.Version(), Raise: versionOf(r)}.Run(t, func(int) []byte { return output })
}
