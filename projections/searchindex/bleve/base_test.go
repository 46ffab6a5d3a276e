package bleve_test

import (
	"fmt"
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

// TestFurtherTermsRaiseBest checks that further terms raise the best passages completely,
// and of passages with equal scores all or none.
func TestFurtherTermsRaiseBest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	x, err := bleve.Open(t.TempDir() + "/index")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	words := []string{"lighthouse", "harbour", "windmill", "dovecote", "quagmire", "orchard", "granary", "causeway"}
	const passages, same = 4800, 1500
	for from := 0; from < passages; from += passages / 4 {
		var batch searchindex.Batch
		for i := from; i < from+passages/4; i++ {
			text := "beacon " // the first passages are equal
			for n := range rnd.IntN(20) {
				if i >= same {
					text += words[min(rnd.IntN(len(words)), rnd.IntN(n+1))] + " "
				}
			}
			batch.Put = append(batch.Put, searchindex.Passage{ID: fmt.Sprintf("p%04d", i), Document: "d" + strconv.Itoa(i%5), Folders: []string{"f"}, Text: text})
		}
		if err := x.Apply(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	find := func(q searchindex.Query) []searchindex.Hit {
		t.Helper()
		hits, err := x.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	for range 20 {
		q := searchindex.Query{Text: words[rnd.IntN(3)] + " " + words[rnd.IntN(8)], All: true, Limit: 20}
		for range 3 {
			q.More = append(q.More, searchindex.Term{Text: searchindex.Terms(words[rnd.IntN(8)])[0], Weight: rnd.Float64()})
		}
		all := q
		all.Limit = searchindex.MaxLimit // twice as many are raised
		many := find(all)
		for _, h := range find(q) {
			if !slices.Contains(many, h) {
				t.Errorf("the search for %q with %v finds %v, which more hits do not contain", q.Text, q.More, h)
			}
		}
		q.Document, all.Document = "d1", "d1" // has fewer passages than are raised
		if few, many := find(q), find(all); !slices.Equal(few, many[:len(few)]) {
			t.Errorf("the search for %q with %v in a document finds %v, want %v as of more hits", q.Text, q.More, few, many)
		}
	}
	q := searchindex.Query{Text: "beacon", All: true, Limit: 20, More: []searchindex.Term{{Text: "orchard", Weight: 1}}}
	for i, h := range find(q) {
		if want := fmt.Sprintf("p%04d", i); h.ID != want {
			t.Errorf("hit %d of passages with equal texts is %s, want %s, the first by id", i, h.ID, want)
		}
	}
}
