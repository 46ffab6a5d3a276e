package projections

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"sync"
	"testing"

	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
)

var homes sync.Map // by folder, for tests that open one more than once

// homeIn is where a test keeps read models: in a folder, or in the database that
// stands for it.
func homeIn(t testing.TB, dir string) Home {
	t.Helper()
	if home, ok := homes.Load(dir); ok {
		return home.(Home)
	}
	url, chosen := postgrestest.ForReadModels(t)
	if !chosen {
		return Folder(dir)
	}
	parsed, err := postgres.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDatabase(parsed)
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

// meddle opens the tables of a generation beside whoever writes to them.
func meddle(t testing.TB, home Home, generation string) *sql.DB {
	t.Helper()
	if d, ok := home.(*Database); ok {
		return d.db.Open(schemaOf(generation), 1, nil)
	}
	db, err := sql.Open("sqlite", dsn(home.(Folder).path(generation)))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// spoil leaves tables under the name of a generation that are not its own.
func spoil(t testing.TB, home Home, generation string) {
	t.Helper()
	var err error
	if d, ok := home.(*Database); ok {
		schema := d.db.Schema(schemaOf(generation))
		_, err = d.pool.ExecContext(t.Context(), "CREATE SCHEMA "+schema+"; CREATE TABLE "+schema+".checkpoint ()")
	} else {
		err = os.WriteFile(home.(Folder).path(generation), []byte("this is no database, and long enough to be told from an empty one"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// generations returns which generations of a projection have tables, of the
// first few.
func generations(t testing.TB, home Home, p Projection) (numbers []int) {
	t.Helper()
	for n := range 10 {
		switch err := home.there(t.Context(), generationName(p, n)); {
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
