package bleve_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"annals/projections/searchindex"
)

// Hidden words that are like those of a query change nothing, and beyond a number
// of them cost no more however many there are.
func TestHiddenWordsDoNotSlowSearches(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "index"))
	put := func(b searchindex.Batch) {
		t.Helper()
		position, err := x.Position(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Position = position + 1
		if err := x.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	// flood files some thousands of hidden words that begin like quarry, and as
	// many in which one letter or two of it are wrong but for their ends.
	flood := func(thousands int) (b searchindex.Batch) {
		for i := range thousands {
			var text strings.Builder
			for n := range 1000 {
				fmt.Fprintf(&text, "quar%06d quirr%06d ", i*1000+n, i*1000+n)
			}
			b.Put = append(b.Put, searchindex.Passage{ID: fmt.Sprint("hidden", i), Folders: []string{"theirs"}, Text: text.String()})
		}
		return b
	}
	search := func(text string) (hits []searchindex.Hit, allocations uint64) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		hits, err := x.Search(t.Context(), searchindex.Query{Text: text, Granted: []string{"mine"}})
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return hits, after.Mallocs - before.Mallocs
	}
	put(searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Folders: []string{"mine"}, Text: "the quarry by the river"},
		{ID: "2", Folders: []string{"mine"}, Text: "a quarter of the harbour"},
	}})
	queries := []string{"quar", "quarrz", "qaurry stone", "quarry"}
	before := make([][]searchindex.Hit, len(queries))
	for i, q := range queries {
		if before[i], _ = search(q); len(before[i]) == 0 {
			t.Fatalf("%q finds nothing", q)
		}
	}
	put(flood(2))
	for i, q := range queries {
		if hits, _ := search(q); !reflect.DeepEqual(hits, before[i]) {
			t.Errorf("%q finds %v with hidden words, and %v without them", q, hits, before[i])
		}
	}
	put(flood(150))
	for i, q := range queries {
		hits, allocations := search(q)
		for range 4 { // merges in the background allocate, too
			_, again := search(q)
			allocations = min(allocations, again)
		}
		if allocations > 100_000 {
			t.Errorf("%q takes %d allocations with 300,000 hidden words, want a bound", q, allocations)
		}
		if q == "quarry" && !reflect.DeepEqual(hits, before[i]) {
			t.Errorf("%q finds %v with many hidden words, want %v", q, hits, before[i])
		}
	}
}
