// Package projectionstest says where tests of other packages keep read models.
package projectionstest

import (
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"annals/events/postgres"
	"annals/events/postgres/postgrestest"
	"annals/projections"
)

var databases sync.Map // by home

// Home is a folder, or a database where ANNALS_TEST_READ_MODELS is postgres. What
// is in it is to be closed before the test ends.
func Home(t testing.TB, dir string) projections.Home {
	t.Helper()
	url, chosen := postgrestest.ForReadModels(t)
	if !chosen {
		return projections.Folder(dir)
	}
	database, err := postgres.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	home := projections.NewDatabase(database)
	databases.Store(home, database)
	t.Cleanup(func() {
		databases.Delete(home)
		if err := home.Close(); err != nil {
			t.Error(err)
		}
	})
	return home
}

// Open opens the tables of a generation beside whoever writes to them, for a
// test to meddle with.
func Open(t testing.TB, home projections.Home, generation string) *sql.DB {
	t.Helper()
	if database, ok := databases.Load(home); ok {
		return database.(*postgres.Database).Open(strings.ReplaceAll(generation, "-", "_"), 1, nil)
	}
	db, err := sql.Open("sqlite", filepath.Join(string(home.(projections.Folder)), generation+".db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// OfFiles skips a test that is about SQLite where read models are in a database.
func OfFiles(t testing.TB) {
	t.Helper()
	if postgrestest.Chosen() {
		t.Skip("this is about SQLite")
	}
}
