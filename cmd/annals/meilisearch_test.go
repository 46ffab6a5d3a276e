package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// TestAServerOnMeilisearch holds that the program keeps its promises with the
// search index on a server: what serve filled is found sound, and made anew,
// while it runs and after; and the server keeps nothing that serves no more.
func TestAServerOnMeilisearch(t *testing.T) {
	search := meilisearchtest.New(t)
	t.Setenv("ANNALS_SEARCH", search.URL("test-"))
	dir := t.TempDir()
	data := filepath.Join(dir, "annals-data")
	server := filed(t, dir, notes("first"))
	sound := func(when string) {
		t.Helper()
		out, err := verified(t, data)
		if err != nil || !strings.Contains(out, "search index sound, ") || strings.Contains(out, meilisearchtest.Key) {
			t.Errorf("verify %s: %v\n%s", when, err, out)
		}
	}
	sound("while it serves")
	if out, err := backedUp(t.Context(), "rebuild", "passages", "--data", data); err != nil || !strings.Contains(out, "passages: generation 2 serves") {
		t.Errorf("rebuild: %v\n%s", err, out)
	}
	if err := importFiles(t, dir, "second", notes("second")); err != nil {
		t.Fatal(err)
	}
	sound("after a rebuild")
	noWayBack := func(when string) {
		t.Helper()
		if out, err := backedUp(t.Context(), "rebuild", "--back", "passages", "--data", data); err == nil || !strings.Contains(err.Error(), "generation 1 of passages, which is kept, cannot serve again: ") {
			t.Errorf("rebuild --back %s: %v\n%s", when, err, out)
		}
	}
	place, err := newSearchPlace(search.URL("test-"), data)
	if err != nil {
		t.Fatal(err)
	}
	defer place.close()
	if err := place.remove(t.Context(), "passages-1"); err != nil {
		t.Fatal(err)
	}
	noWayBack("while it serves")
	if err := server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	noWayBack("after it has ended")
	sound("after it has ended")
	if _, err := os.Stat(filepath.Join(data, "search")); err == nil {
		t.Error("the data folder holds a search index too")
	}
	for _, uid := range search.Indexes() {
		if uid != "test-passages-2" {
			t.Errorf("the server keeps the index %s", uid)
		}
	}
}

func TestErrorsOfSearchTellNoKey(t *testing.T) {
	for _, search := range []string{
		"meilisearch://SECRET@host?timeout=1", "meilisearch://SECRET@", "meilisearchs://SECRET@host", "meili://SECRET@host:7700", "https://SECRET@host", "bleve://SECRET@host/x", "bleve://SECRET@%zz",
	} {
		if _, err := newSearchPlace(search, t.TempDir()); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("--search %s: %v, want an error without the key", search, err)
		}
	}
}
