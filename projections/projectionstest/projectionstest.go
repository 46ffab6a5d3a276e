// Package projectionstest has what tests of read models share: homes for the tables, logs
// with documents, and read models that a test folds or runs.
package projectionstest

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

var homes sync.Map // tables.Home by folder

// Home returns a folder as the home of read models or, if ANNALS_TEST_READ_MODELS is
// postgres, an empty database. Every call with the same folder returns the same home.
// Generations in it must be closed before the test ends.
func Home(t testing.TB, dir string) tables.Home {
	t.Helper()
	if home, ok := homes.Load(dir); ok {
		return home.(tables.Home)
	}
	url, chosen := postgrestest.ForReadModels(t)
	if !chosen {
		return tables.Folder(dir)
	}
	home := Database(t, url)
	homes.Store(dir, home)
	t.Cleanup(func() { homes.Delete(dir) })
	return home
}

// Database returns the database at a URL as the home of read models.
func Database(t testing.TB, url string) *tables.Database {
	t.Helper()
	database, err := sqldb.ParsePostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	home := tables.NewDatabase(database)
	t.Cleanup(func() {
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	})
	return home
}

// Open opens the tables of a generation so that a test can change them. Another process
// may be writing to them.
func Open(t testing.TB, home tables.Home, generation string) *sql.DB {
	t.Helper()
	if d, ok := home.(*tables.Database); ok {
		return d.Server().Open(schemaOf(generation), 1, nil)
	}
	db, err := sqldb.SQLite{Path: path(home, generation), Connections: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Edit runs a statement on the tables of a generation.
func Edit(t testing.TB, home tables.Home, generation, statement string, args ...any) {
	t.Helper()
	db := Open(t, home, generation)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// Corrupt creates a generation with tables that cannot be opened.
func Corrupt(t testing.TB, home tables.Home, generation string) {
	t.Helper()
	var err error
	if d, ok := home.(*tables.Database); ok {
		schema := d.Server().Schema(schemaOf(generation))
		_, err = d.Pool().ExecContext(t.Context(), "CREATE SCHEMA "+schema+"; CREATE TABLE "+schema+".checkpoint ()")
	} else {
		err = os.WriteFile(path(home, generation), []byte("this is not a database, and longer than an empty one"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func schemaOf(generation string) string { return strings.ReplaceAll(generation, "-", "_") }

func path(home tables.Home, generation string) string {
	return filepath.Join(string(home.(tables.Folder)), generation+".db")
}

// Generations returns which of the first ten generations of a projection have tables.
func Generations(t testing.TB, home tables.Home, p readmodel.Projection) (numbers []int) {
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

// OfFiles skips a test of SQLite files if read models are in a PostgreSQL database.
func OfFiles(t testing.TB) {
	t.Helper()
	if postgrestest.Chosen() {
		t.Skip("this is about SQLite")
	}
}

// SkipIfRepeated skips a slow test in a short run on PostgreSQL, because the run on
// SQLite covers it.
func SkipIfRepeated(t testing.TB) {
	t.Helper()
	if postgrestest.Chosen() && testing.Short() {
		t.Skip("a long test, which the run on SQLite covers")
	}
}

// Block keeps a read model from applying events until release is called. The tables can
// still be read.
func Block(t testing.TB, home tables.Home, generation string) (release func()) {
	t.Helper()
	db := Open(t, home, generation)
	if _, ok := home.(tables.Folder); ok {
		if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 10000"); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := db.Begin()
	if err == nil {
		_, err = tx.Exec("UPDATE checkpoint SET position = position")
	}
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	return sync.OnceFunc(func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	})
}
