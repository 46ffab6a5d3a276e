package bleve_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
)

// Passages that the caller may not read may contain any number of words similar to those
// of the query. A search must read only a bounded number of these words, and its hits
// must not depend on them.
func TestHiddenWordsDoNotSlowSearches(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	x := open(t, dir)
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
	// hiddenWords returns passages that the caller may not read, with two kinds of words:
	// words that begin like quarry, and words that are spelled similarly. There are 1000
	// of each kind per thousand.
	hiddenWords := func(thousands int) (b searchindex.Batch) {
		for i := range thousands {
			var text strings.Builder
			for n := range 1000 {
				fmt.Fprintf(&text, "quar%06d quirr%06d ", i*1000+n, i*1000+n)
			}
			b.Put = append(b.Put, searchindex.Passage{ID: fmt.Sprint("hidden", i), Folders: []string{"theirs"}, Text: text.String()})
		}
		return b
	}
	search := func(text string) []searchindex.Hit {
		t.Helper()
		hits, err := x.Search(t.Context(), searchindex.Query{Text: text, Granted: []string{"mine"}})
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	put(searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Folders: []string{"mine"}, Text: "the quarry by the river"},
		{ID: "2", Folders: []string{"mine"}, Text: "a quarter of the harbour"},
	}})
	queries := []string{"quar", "quarrz", "qaurry stone", "quarry"}
	before := make([][]searchindex.Hit, len(queries))
	for i, q := range queries {
		if before[i] = search(q); len(before[i]) == 0 {
			t.Fatalf("Search(%q) finds nothing", q)
		}
	}
	put(hiddenWords(2))
	for i, q := range queries {
		if hits := search(q); !reflect.DeepEqual(hits, before[i]) {
			t.Errorf("with hidden words, Search(%q) = %v, want %v", q, hits, before[i])
		}
	}
	const thousands = 150
	put(hiddenWords(thousands))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	// A read-only index merges no segments, which would allocate in the background.
	x, err := bleve.OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i, q := range queries {
		var hits []searchindex.Hit
		// A search that read all hidden words of one kind would allocate at least twice
		// for each of these words.
		if n := testing.AllocsPerRun(1, func() { hits = search(q) }); n >= 2*1000*thousands {
			t.Errorf("with %d hidden words, Search(%q) allocates %.0f times, want a number that does not grow with them", 2*1000*thousands, q, n)
		}
		if q == "quarry" && !reflect.DeepEqual(hits, before[i]) {
			t.Errorf("with many hidden words, Search(%q) = %v, want %v", q, hits, before[i])
		}
	}
}

// A beginning must find all words that begin so and that the caller may read, in every
// language, also those whose stems are shorter.
func TestBeginnings(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "index"))
	text := map[string]string{
		"contractor": "the contractor is a company", "organisation": "an organization of ships", "plain": "a contrast of the lamps", "organ": "he plays the church organ and the orgy of sounds",
		"german": "Der Vertrag über die Kontrolle ist für das Haus und für die Contractoren nicht gültig.",
	}
	var b searchindex.Batch
	for id, text := range text {
		b.Put = append(b.Put, searchindex.Passage{ID: id, Folders: []string{"mine"}, Text: text})
	}
	b.Put = append(b.Put, searchindex.Passage{ID: "hidden", Folders: []string{"theirs"}, Text: "contractual organizers"})
	if err := x.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"contract*": "contractor german", "CONTRA*": "contractor german plain", "organiz*": "organ organisation", "ships contractu*": "contractor german organisation plain", "contract* lamps ships church company": "contractor german organ organisation plain",
		"contract * of": "organ organisation plain", "kontro*": "german",
	} {
		s := searchindex.ParseSyntax(query)
		hits, err := x.Search(t.Context(), searchindex.Query{Text: s.Text, Beginnings: s.Beginnings, Granted: []string{"mine"}})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("Search(%s) finds %s, want %s", query, got, want)
		}
	}
}
