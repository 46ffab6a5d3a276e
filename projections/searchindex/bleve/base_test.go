package bleve_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
)

// TestFurtherTermsAfterFirstSearch checks that a search with further terms has the same hits
// whether or not the scores of the query alone are in the cache, also after changes and
// with other filters.
func TestFurtherTermsAfterFirstSearch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var all []searchindex.Passage
	for i := range 600 {
		p := benchPassage(rnd, i)
		p.Folders = append(p.Folders, "f"+strconv.Itoa(i%3))
		p.Tags = []string{"t" + strconv.Itoa(i%2)}
		all = append(all, p)
	}
	open := func() *bleve.Index {
		x, err := bleve.Open(t.TempDir() + "/index")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		for some := range slices.Chunk(all[:500], 100) {
			if err := x.Apply(t.Context(), searchindex.Batch{Put: some, Delete: []string{all[7].ID}}); err != nil {
				t.Fatal(err)
			}
		}
		return x
	}
	warm, cold := open(), open()
	find := func(x *bleve.Index, q searchindex.Query) []searchindex.Hit {
		hits, err := x.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	for i := range 60 {
		text := question(rnd)
		queries := []searchindex.Query{
			{All: true}, {All: true, Folders: []string{"f1"}}, {Granted: []string{"f0", "f2"}}, {All: true, Tags: []string{"t1"}}, {Granted: []string{"f0"}, Document: all[3].Document},
		}
		for _, q := range queries {
			q.Text, q.Limit = text, 20
			find(warm, q)
		}
		if i == 30 {
			for _, x := range []*bleve.Index{warm, cold} {
				if err := x.Apply(t.Context(), searchindex.Batch{Put: all[500:], Delete: []string{all[9].ID}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, q := range queries {
			q.Text, q.Limit = text, 20
			q.More = []searchindex.Term{{Text: searchindex.Terms(word(rnd))[0], Weight: 1}, {Text: searchindex.Terms(word(rnd))[0], Weight: 0.5}}
			if got, want := find(warm, q), find(cold, q); !slices.Equal(got, want) {
				t.Fatalf("after a search without further terms, the search %+v finds %v, want %v", q, got, want)
			}
		}
	}
}
