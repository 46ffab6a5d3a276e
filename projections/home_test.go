package projections

import (
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
	if _, folder := homeIn(t, t.TempDir()).(Folder); !folder {
		t.Skip("this is about files of SQLite")
	}
}
