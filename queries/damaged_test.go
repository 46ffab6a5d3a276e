package queries_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"annals/events/fault"
	"annals/projections/tables"
	"annals/queries/search"

	"github.com/google/uuid"
)

// spoil overwrites what a read model's files hold, but for what tells SQLite that
// they are its own.
func spoil(t *testing.T, path string) {
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
	folder, ok := f.world.Home.(tables.Folder)
	if !ok {
		t.Skip("read models are not kept in files")
	}
	top := f.folder(uuid.Nil, "Top", "user:alice")
	for i := range 50 {
		f.document(top, fmt.Sprintf("%d.md", i), nil, "The lighthouse was finished in 1759.")
	}
	f.settle()
	spoil(t, filepath.Join(string(folder), "vault-1.db"))
	spoil(t, filepath.Join(string(folder), "passages-1.db"))
	f.document(top, "last.md", nil, "The lighthouse was painted in 1811.") // what was read before counts no more
	for {
		_, vault := f.Models.Vault.Moved()
		_, passages := f.Models.Passages.Moved()
		found, err := f.Search(t.Context(), alice, search.Query{Query: "When was the lighthouse painted?"})
		if err == nil && f.Models.Passages.Generation() > 1 && f.Models.Vault.Generation() > 1 && len(found) > 0 {
			break
		}
		if err != nil && !fault.Is(err, fault.Unavailable) {
			t.Fatalf("Search meanwhile: %v, of kind %v", err, fault.KindOf(err))
		}
		if _, err := f.Folders(t.Context(), alice, nil); err != nil && !fault.Is(err, fault.Unavailable) {
			t.Fatalf("Folders meanwhile: %v, of kind %v", err, fault.KindOf(err))
		}
		select {
		case <-vault:
		case <-passages:
		}
	}
}
