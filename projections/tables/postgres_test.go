package tables_test

import (
	"slices"
	"strings"
	"testing"

	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

// homes returns a home of each kind.
func homes(t *testing.T) []tables.Home {
	return []tables.Home{projectionstest.Database(t, postgrestest.URL(t)), tables.Folder(t.TempDir())}
}

func open(t *testing.T, home tables.Home, model string) tables.Store {
	t.Helper()
	s, err := home.Open(t.Context(), model+"-1", model)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestPostgresStoresInvalidText(t *testing.T) {
	s := open(t, projectionstest.Database(t, postgrestest.URL(t)), "summaries")
	for _, title := range []string{"a\x00b", "a\xffc", `["\u0000","\\u0000"]`} {
		err := s.Transaction(t.Context(), func(tx readmodel.Tx) error {
			return tx.Exec(t.Context(), `INSERT INTO folders (id, parent, name, summary) VALUES ($1, '', $1, $1)`, title)
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := projectionstest.Number(t, s.Reads(), `SELECT count(*) FROM folders WHERE id = $1`, title); n != 1 {
			t.Errorf("%d rows have the text %q, want 1", n, title)
		}
	}
	all, err := sqldb.Column[string](t.Context(), s.Reads(), `SELECT name FROM folders ORDER BY name`)
	if want := []string{`["\ufffd","\\u0000"]`, "a\uFFFDb", "a\uFFFDc"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("the stored texts are %q (%v), want %q", all, err, want)
	}
}

// Both databases must compare texts by their bytes.
func TestTextOrderIsTheSameInBothDatabases(t *testing.T) {
	var lists []string
	for _, home := range homes(t) {
		s := open(t, home, "summaries")
		for _, name := range []string{"b", "B", "a b", "a-b", "ä", "Z", "ab", "_", "Ä", "10", "9"} {
			if err := s.Exec(t.Context(), `INSERT INTO folders (id, parent, name, summary) VALUES ($1, '', $1, $1)`, name); err != nil {
				t.Fatal(err)
			}
		}
		lists = append(lists, strings.ReplaceAll(projectionstest.Rows(t, s.Reads(), `SELECT name FROM folders WHERE name > '1' ORDER BY name`), "\n", ", "))
	}
	if lists[0] != lists[1] {
		t.Errorf("the order of texts in PostgreSQL is %s, and in SQLite %s", lists[0], lists[1])
	}
}

func TestInsertKeepsExistingRows(t *testing.T) {
	for _, home := range homes(t) {
		s := open(t, home, "work")
		insert := func(from, to int, owner string) {
			err := s.Transaction(t.Context(), func(tx readmodel.Tx) error {
				for i := from; i < to; i++ {
					if err := tx.Insert(t.Context(), "files", []string{"job", "file", "owner", "accepted"}, "j", i, owner, 1); err != nil {
						return err
					}
				}
				return tx.Exec(t.Context(), `DELETE FROM files WHERE file = $1`, to-1)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		insert(0, 2500, "first")
		insert(2000, 3000, "second") // half of the rows exist
		insert(2998, 3001, "third")
		var counts []int
		for _, owner := range []string{"first", "second", "third"} {
			counts = append(counts, projectionstest.Number(t, s.Reads(), `SELECT count(*) FROM files WHERE owner = $1`, owner))
		}
		if want := []int{2499, 500, 1}; !slices.Equal(counts, want) {
			t.Errorf("in %s the owners have %d rows, want %d", home.Describe(""), counts, want)
		}
	}
}
