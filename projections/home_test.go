package projections

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"annals/events"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/tables"
)

var homes sync.Map // by folder, for tests that open one more than once

// homeIn is where a test keeps read models: in a folder, or in the database that
// stands for it.
func homeIn(t testing.TB, dir string) tables.Home {
	t.Helper()
	if home, ok := homes.Load(dir); ok {
		return home.(tables.Home)
	}
	url, chosen := postgrestest.ForReadModels(t)
	if !chosen {
		return tables.Folder(dir)
	}
	parsed, err := sqldb.ParsePostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	d := tables.NewDatabase(parsed)
	homes.Store(dir, d)
	t.Cleanup(func() {
		homes.Delete(dir)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// ofFiles skips a test that is about the files of SQLite where read models are
// in a database.
func ofFiles(t testing.TB) {
	t.Helper()
	if postgrestest.Chosen() {
		t.Skip("this is about files of SQLite")
	}
}

// meddle opens the tables of a generation while another process may write them.
func meddle(t testing.TB, home tables.Home, generation string) *sql.DB {
	t.Helper()
	if d, ok := home.(*tables.Database); ok {
		return d.Server().Open(tables.SchemaOf(generation), 1, nil)
	}
	db, err := sqldb.SQLite{Path: filepath.Join(string(home.(tables.Folder)), generation+".db"), Connections: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// spoil leaves tables under the name of a generation that are not its own.
func spoil(t testing.TB, home tables.Home, generation string) {
	t.Helper()
	var err error
	if d, ok := home.(*tables.Database); ok {
		schema := d.Server().Schema(tables.SchemaOf(generation))
		_, err = d.Pool().ExecContext(t.Context(), "CREATE SCHEMA "+schema+"; CREATE TABLE "+schema+".checkpoint ()")
	} else {
		err = os.WriteFile(filepath.Join(string(home.(tables.Folder)), generation+".db"), []byte("this is not a database, and longer than an empty one"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// generations returns which generations of a projection have tables, of the
// first few.
func generations(t testing.TB, home tables.Home, p readmodel.Projection) (numbers []int) {
	t.Helper()
	for n := range 10 {
		switch err := home.Exists(t.Context(), generation.NameOf(p, n)); {
		case err == nil:
			numbers = append(numbers, n)
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		}
	}
	return numbers
}

// asText is SQL that gives the text of a section, which is kept as bytes.
func asText(column string) string {
	if postgrestest.Chosen() {
		return "convert_from(" + column + ", 'UTF8')"
	}
	return "CAST(" + column + " AS TEXT)"
}

// heavy skips a test of many statements where it is tried in short a second time.
func heavy(t testing.TB) {
	t.Helper()
	if postgrestest.Chosen() && testing.Short() {
		t.Skip("this is a long one")
	}
}

// openedControl returns a control store that is closed when the test ends.
func openedControl(t testing.TB) func(*control.Store, error) *control.Store {
	return func(c *control.Store, err error) *control.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
}

// noIndex takes passages and finds none.
type noIndex struct{ position events.Position }

func (u *noIndex) Apply(_ context.Context, b searchindex.Batch) error {
	u.position = b.Position
	return nil
}
func (u *noIndex) Position(context.Context) (events.Position, error) { return u.position, nil }
func (u *noIndex) Count(context.Context) (uint64, error)             { return 0, nil }
func (u *noIndex) Each(context.Context, func(string) error) error    { return nil }
func (u *noIndex) Search(context.Context, searchindex.Query) ([]searchindex.Hit, error) {
	return nil, nil
}
func (u *noIndex) Close() error { return nil }
