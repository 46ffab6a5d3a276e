package sqlite_test

import (
	"path/filepath"
	"testing"

	"annals/events"
	"annals/events/eventstest"
	"annals/events/sqlite"
)

func open(t testing.TB, path string) *sqlite.Driver {
	t.Helper()
	d, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("Open(%s): %v", path, err)
	}
	return d
}

func TestDriver(t *testing.T) {
	eventstest.Run(t, func(t *testing.T) events.Driver {
		return open(t, filepath.Join(t.TempDir(), "log.db"))
	})
	eventstest.RunShared(t, func(t *testing.T) func() events.Driver {
		path := filepath.Join(t.TempDir(), "log.db")
		return func() events.Driver { return open(t, path) }
	})
}
