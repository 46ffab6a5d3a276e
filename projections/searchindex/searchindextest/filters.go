package searchindextest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/searchindex"
)

func testFilters(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Document: "x", Folders: []string{"root", "a"}, Tags: []string{"red"}, Text: "apple"},
		{ID: "2", Document: "x", Folders: []string{"root", "a"}, Tags: []string{"red", "big one"}, Text: "apple"},
		{ID: "3", Document: "y", Folders: []string{"root", "b", "c"}, Tags: []string{"big one"}, Text: "apple"},
		{ID: "4", Document: "z", Folders: []string{"other"}, Text: "apple"},
		{ID: "5", Document: "q", Text: "apple"},
	}})
	tests := []struct {
		q    searchindex.Query
		want string
	}{
		{searchindex.Query{}, ""},
		{searchindex.Query{All: true}, "1 2 3 4 5"},
		{searchindex.Query{Granted: []string{""}}, ""},
		{searchindex.Query{Granted: []string{"root"}}, "1 2 3"},
		{searchindex.Query{Granted: []string{"c", "other", "unknown"}}, "3 4"},
		{searchindex.Query{All: true, Folders: []string{"b"}}, "3"},
		{searchindex.Query{All: true, Folders: []string{"unknown"}}, ""},
		{searchindex.Query{All: true, Folders: []string{"a", "unknown", "other"}}, "1 2 4"},
		{searchindex.Query{Granted: []string{"a"}, Folders: []string{"root"}}, "1 2"},
		{searchindex.Query{Granted: []string{"a", "c"}, Folders: []string{"b", "a"}}, "1 2 3"},
		{searchindex.Query{Granted: []string{"a", "c"}, Folders: []string{"b", "other"}}, "3"},
		{searchindex.Query{Granted: []string{"a"}, Folders: []string{"other"}}, ""},
		{searchindex.Query{All: true, Document: "x"}, "1 2"},
		{searchindex.Query{Granted: []string{"other"}, Document: "x"}, ""},
		{searchindex.Query{All: true, Tags: []string{"red"}}, "1 2"},
		{searchindex.Query{All: true, Tags: []string{"red", "big one"}}, "2"},
		{searchindex.Query{All: true, Tags: []string{"red", "big one"}, AnyTag: true}, "1 2 3"},
		{searchindex.Query{All: true, Tags: []string{"big"}}, ""},
		{searchindex.Query{All: true, Tags: []string{"big one"}, Document: "x", Folders: []string{"a"}}, "2"},
	}
	for _, test := range tests {
		test.q.Text = "apple"
		if got := ids(search(t, e, test.q)); got != test.want {
			t.Errorf("Search(%+v) finds %q, want %q", test.q, got, test.want)
		}
	}
}

func testRequired(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: []searchindex.Passage{
		{ID: "1", Title: "Lights", Text: "apple and pear"}, {ID: "2", Text: "apple, pear and plum"}, {ID: "3", Text: "apple"}, {ID: "4", Text: "pear"},
	}})
	for _, test := range []struct{ required, excluded, want string }{
		{"", "", "1 2 3 4"}, {"pear", "", "1 2 4"}, {"pear appl", "", "1 2"}, {"light", "", "1"}, {"unknown", "", ""},
		{"", "plum", "1 3 4"}, {"", "plum light", "3 4"}, {"appl", "pear", "3"}, {"", "unknown", "1 2 3 4"}, {"plum", "plum", ""},
	} {
		q := searchindex.Query{Text: "apples or pears", All: true, Excluded: strings.Fields(test.excluded)}
		for _, t := range strings.Fields(test.required) {
			q.Required = append(q.Required, []string{t})
		}
		got := strings.Fields(ids(search(t, e, q)))
		slices.Sort(got)
		if strings.Join(got, " ") != test.want {
			t.Errorf("Search with %q and without %q finds %q, want %q", test.required, test.excluded, got, test.want)
		}
	}
}

// testFilterScores checks that a document and tags do not change scores.
func testFilterScores(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: generate(2, 500)})
	for _, q := range []searchindex.Query{{All: true}, {All: true, Folders: []string{"folder3"}}, {Granted: []string{"folder3", "folder4"}}} {
		q.Text, q.Limit = "w1 w7 w60", 500
		score := make(map[string]float64)
		for _, h := range search(t, e, q) {
			score[h.ID] = h.Score
		}
		q.Tags = []string{"tag1"}
		tagged := search(t, e, q)
		q.Tags, q.Document = nil, "2"
		hits := append(tagged, search(t, e, q)...)
		if len(tagged) == 0 || len(tagged) == len(hits) || len(hits) >= len(score) {
			t.Fatalf("the filters pass %d and %d of %d passages, want some of them", len(tagged), len(hits)-len(tagged), len(score))
		}
		for _, h := range hits {
			if h.Score != score[h.ID] {
				t.Errorf("passage %s scores %v with a filter and %v without, want the same", h.ID, h.Score, score[h.ID])
			}
		}
	}
}

// testFolderScores checks that a search in folders is ranked as if the index had no other
// passages, if the caller may read everything, and if the caller may read only a part.
func testFolderScores(t *testing.T, open Open) {
	passages := generate(2, 500)
	in := func(folders ...string) (some []searchindex.Passage) {
		for _, p := range passages {
			if slices.Contains(folders, p.Folders[1]) {
				some = append(some, p)
			}
		}
		return some
	}
	whole, two, one := open(t, "whole"), open(t, "two"), open(t, "one")
	apply(t, whole, searchindex.Batch{Put: passages})
	apply(t, two, searchindex.Batch{Put: in("folder3", "folder4")})
	apply(t, one, searchindex.Batch{Put: in("folder3")})
	rnd := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		q := searchindex.Query{Text: sentence(rnd, 1+rnd.IntN(8)), Limit: 40}
		all := q
		all.All = true
		for want, queries := range map[searchindex.Engine][]searchindex.Query{
			two: {{All: true, Folders: []string{"folder3", "folder4"}}, {Granted: []string{"folder4", "folder3"}, Folders: []string{"top"}}},
			one: {
				{All: true, Folders: []string{"folder3"}},
				{Granted: []string{"top"}, Folders: []string{"folder3"}, Inside: true},
				{Granted: []string{"folder3", "folder4"}, Folders: []string{"folder2", "folder3"}},
			},
		} {
			for _, folder := range queries {
				folder.Text, folder.Limit = q.Text, q.Limit
				wantSame(t, search(t, whole, folder), search(t, want, all))
			}
		}
	}
}

// testRareFilters checks that filters find values that occur only once, even after many
// later batches. Engines store rare values differently when they merge segments.
func testRareFilters(t *testing.T, open Open) {
	e := open(t, "rare")
	const batches, each = 12, 5
	name := func(b, i int) string { return fmt.Sprintf("%d-%d", b, i) }
	for b := range batches {
		batch := searchindex.Batch{Position: events.Position(b + 1)}
		for i := range each {
			id := name(b, i)
			batch.Put = append(batch.Put, searchindex.Passage{
				ID: "passage-" + id, Document: "document-" + id, Folders: []string{"folder-" + id, "top"}, Tags: []string{"tag-" + id},
				Title: "Title", Text: "the number of this passage is " + id,
			})
		}
		apply(t, e, batch)
	}
	for b := range batches {
		for i := range each {
			id := name(b, i)
			for what, q := range map[string]searchindex.Query{
				"folder":   {All: true, Folders: []string{"folder-" + id}},
				"granted":  {Granted: []string{"folder-" + id}},
				"document": {All: true, Document: "document-" + id},
				"tag":      {All: true, Tags: []string{"tag-" + id}},
			} {
				q.Text, q.Limit = "number", 10
				if got := ids(search(t, e, q)); got != "passage-"+id {
					t.Errorf("a search with the %s of passage-%s finds %q, want that passage", what, id, got)
				}
			}
		}
	}
	if got := len(search(t, e, searchindex.Query{Text: "number", All: true, Folders: []string{"top"}, Limit: 100})); got != batches*each {
		t.Errorf("the search finds %d passages below the top folder, want %d", got, batches*each)
	}
}
