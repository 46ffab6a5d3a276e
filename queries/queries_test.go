package queries_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"annals/events/fault"
	"annals/projections/tables"
	"annals/queries"
	"annals/queries/queriestest"
	"annals/queries/search"

	"github.com/google/uuid"
)

// fixture is a log with read models, and the Queries that read them.
type fixture struct {
	*queriestest.World
	queries *queries.Queries
	t       testing.TB
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return over(t, queriestest.Open(t))
}

func newFixtureWithEngine(t testing.TB) (*fixture, *queriestest.Engine) {
	t.Helper()
	w, engine := queriestest.OpenWithEngine(t)
	return over(t, w), engine
}

func over(t testing.TB, w *queriestest.World) *fixture {
	q := queries.New(w.Models.Set, queries.Options{MaxLag: time.Hour})
	w.Models = q.Models
	return &fixture{w, q, t}
}

var (
	admin = queriestest.Admin
	alice = queriestest.Alice
	bob   = queriestest.Bob
)

// found returns the documents that sources name, each once.
func found(sources []search.Source) []uuid.UUID {
	var ids []uuid.UUID
	for _, id := range search.Shown(sources) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestReadsRequireVaultAtStart(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	f.Models.Start = f.At + 1
	for what, read := range map[string]func() error{
		"folder":  func() error { _, err := f.queries.Folder(t.Context(), alice, top); return err },
		"folders": func() error { _, err := f.queries.Folders(t.Context(), alice, nil); return err },
		"search":  func() error { _, err := f.queries.Search(t.Context(), alice, search.Query{Query: "zebra"}); return err },
	} {
		if err := read(); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: got error %v, want fault.Unavailable", what, err)
		}
	}
	f.Share(top, "user:bob", "read")
	f.Settle()
	if _, err := f.queries.Folder(t.Context(), bob, top); err != nil {
		t.Errorf("Folder after the vault has caught up: %v", err)
	}
}

// damage overwrites the files of a read model, except for the headers by which SQLite
// recognizes them.
func damage(t *testing.T, path string) {
	t.Helper()
	for name, from := range map[string]int64{path: 4096, path + "-wal": 32} {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err == nil && info.Size() > from {
			_, err = f.WriteAt(bytes.Repeat([]byte("x"), int(info.Size()-from)), from)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// While a damaged read model is rebuilt, reads fail with fault.Unavailable.
func TestDamagedReadModelIsUnavailable(t *testing.T) {
	f := newFixture(t)
	folder, ok := f.Home.(tables.Folder)
	if !ok {
		t.Skip("read models are not kept in files")
	}
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	for i := range 50 {
		f.AddDocument(top, fmt.Sprintf("%d.md", i), nil, "The lighthouse was finished in 1759.")
	}
	f.Settle()
	damage(t, filepath.Join(string(folder), "vault-1.db"))
	damage(t, filepath.Join(string(folder), "passages-1.db"))
	f.AddDocument(top, "last.md", nil, "The lighthouse was painted in 1811.")
	for {
		_, vault := f.Models.Vault.Moved()
		_, passages := f.Models.Passages.Moved()
		found, err := f.queries.Search(t.Context(), alice, search.Query{Query: "When was the lighthouse painted?"})
		if err == nil && f.Models.Passages.Generation() > 1 && f.Models.Vault.Generation() > 1 && len(found) > 0 {
			break
		}
		if err != nil && !fault.Is(err, fault.Unavailable) {
			t.Fatalf("Search during the rebuild: %v, of kind %v", err, fault.KindOf(err))
		}
		if _, err := f.queries.Folders(t.Context(), alice, nil); err != nil && !fault.Is(err, fault.Unavailable) {
			t.Fatalf("Folders during the rebuild: %v, of kind %v", err, fault.KindOf(err))
		}
		select {
		case <-vault:
		case <-passages:
		}
	}
}
