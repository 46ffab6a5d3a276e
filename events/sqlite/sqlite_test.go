package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
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

func openWith(t *testing.T, path, pragma string) *sqlite.Driver {
	t.Helper()
	d, err := sqlite.OpenWith(t.Context(), path, pragma)
	if err != nil {
		t.Fatalf("OpenWith(%s, %s): %v", path, pragma, err)
	}
	return d
}

// TestReadByTypeUsesIndex checks in the query plan that a read of some types neither
// visits events of other types nor sorts.
func TestReadByTypeUsesIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	d := open(t, path)
	defer d.Close()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := 1; n <= 3; n++ {
		args := append([]any{0, 100, 10}, []any{"A", "B", "C"}[:n]...)
		all := plan(t, db, sqlite.QueryOfTypes(n), args...)
		if strings.Count(all, "SEARCH events USING INDEX events_by_type (type=? AND rowid>? AND rowid<?)") != n || strings.Contains(all, "TEMP B-TREE") || strings.Contains(all, "SCAN") {
			t.Errorf("plan for %d types:\n%s", n, all)
		}
	}
	all := plan(t, db, sqlite.QueryTypes)
	if strings.Count(all, "SEARCH events USING COVERING INDEX events_by_type") != 2 || strings.Contains(all, "SCAN events") {
		t.Errorf("plan for the types in the log:\n%s", all)
	}
}

// plan returns the query plan of SQLite.
func plan(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "\n")
}
