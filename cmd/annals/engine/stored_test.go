package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What lies in the data folder is counted where it lies, and what a server keeps is not.
func TestStored(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"log.db": 5, "log.db-wal": 7, "log.db.old": 100, "read-models/vault-1.db": 11, "read-models/vault-1.db-shm": 2, "search/passages-1/store/a": 3, "search/passages-1/b": 4, "originals/x": 100} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, u := range map[string]URLs{
		"map[log:12 read_models:13 search_index:7]": {Data: dir},
		"map[search_index:7]":                       {Data: dir, Log: "esdb://host:2113", ReadModels: "postgres://host/db"},
		"map[log:12 read_models:13]":                {Data: dir, Search: "http://host:7700"},
		"map[log:0 read_models:0 search_index:0]":   {Data: filepath.Join(dir, "missing")},
	} {
		if got := fmt.Sprint(u.Stored()); got != want {
			t.Errorf("Stored of %+v = %s, want %s", u, got, want)
		}
	}
}
