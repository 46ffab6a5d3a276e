// Package projectionstest provides homes for the read models of tests in other
// packages.
package projectionstest

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/tables"
)

var databases sync.Map // by home

// Home returns a folder, or a database if ANNALS_TEST_READ_MODELS is postgres.
// Generations in it must be closed before the test ends.
func Home(t testing.TB, dir string) tables.Home {
	t.Helper()
	url, chosen := postgrestest.ForReadModels(t)
	if !chosen {
		return tables.Folder(dir)
	}
	database, err := sqldb.ParsePostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	home := tables.NewDatabase(database)
	databases.Store(home, database)
	t.Cleanup(func() {
		databases.Delete(home)
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	})
	return home
}

// Open opens the tables of a generation while another process may write them, so
// that a test can change them.
func Open(t testing.TB, home tables.Home, generation string) *sql.DB {
	t.Helper()
	if database, ok := databases.Load(home); ok {
		return database.(*sqldb.Postgres).Open(strings.ReplaceAll(generation, "-", "_"), 1, nil)
	}
	db, err := sql.Open("sqlite", filepath.Join(string(home.(tables.Folder)), generation+".db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// OfFiles skips a test about SQLite if read models are in a database.
func OfFiles(t testing.TB) {
	t.Helper()
	if postgrestest.Chosen() {
		t.Skip("this is about SQLite")
	}
}

// Block keeps a read model from applying events until release is called. Its
// tables can be read.
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
