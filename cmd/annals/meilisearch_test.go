package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"annals/cmd/annals/engine"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// TestServeOnMeilisearch checks a server whose search index is in Meilisearch: annals
// verify finds no problem, annals rebuild works while the server runs and while it does
// not, and indexes of deleted generations are deleted.
func TestServeOnMeilisearch(t *testing.T) {
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
	if out, err := backedUp(t.Context(), "rebuild", "passages", "--data", data); err != nil || !strings.Contains(out, "passages: generation 2 is active") {
		t.Errorf("rebuild: %v\n%s", err, out)
	}
	if err := importFiles(t, dir, "second", notes("second")); err != nil {
		t.Fatal(err)
	}
	sound("after a rebuild")
	noWayBack := func(when string) {
		t.Helper()
		if out, err := backedUp(t.Context(), "rebuild", "--back", "passages", "--data", data); err == nil || !strings.Contains(err.Error(), "the kept generation 1 of passages cannot become active again: ") {
			t.Errorf("rebuild --back %s: %v\n%s", when, err, out)
		}
	}
	indexes, err := engine.SearchEngines.Open(search.URL("test-"), data)
	if err != nil {
		t.Fatal(err)
	}
	defer indexes.Close()
	if err := indexes.Remove(t.Context(), "passages-1"); err != nil {
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
