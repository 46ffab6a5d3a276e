package searchindextest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"annals/projections/searchindex"
)

func testTies(t *testing.T, open Open) {
	e := open(t, "a")
	for i := range 60 {
		id := strconv.Itoa(100 + (i*37)%60)
		apply(t, e, searchindex.Batch{Put: []searchindex.Passage{{ID: id, Text: "twin lighthouses"}}})
	}
	if got, want := ids(search(t, e, searchindex.Query{Text: "lighthouse", All: true, Limit: 4})), "100 101 102 103"; got != want {
		t.Errorf("the search finds %s, want %s", got, want)
	}
}

func testPages(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: generate(7, 400)})
	q := searchindex.Query{Text: "w1 w2 w9", All: true, Limit: 60}
	all := search(t, e, q)
	if len(all) != 60 {
		t.Fatalf("Search finds %d passages, want 60", len(all))
	}
	var pages []searchindex.Hit
	for q.Limit = 25; q.Offset < 60; q.Offset += 25 {
		pages = append(pages, search(t, e, q)...)
	}
	wantSame(t, pages[:60], all)
	q.Offset = 5000
	if got := search(t, e, q); len(got) != 0 {
		t.Errorf("an offset beyond the end finds %d passages, want none", len(got))
	}
	if got := search(t, e, searchindex.Query{Text: "w1", All: true}); len(got) != 10 {
		t.Errorf("without a limit Search finds %d passages, want 10", len(got))
	}
}

func testEach(t *testing.T, open Open) {
	e := open(t, "a")
	each := func() (ids []string) {
		t.Helper()
		if err := e.Each(t.Context(), func(id string) error { ids = append(ids, id); return nil }); err != nil {
			t.Fatalf("Each: %v", err)
		}
		slices.Sort(ids)
		return ids
	}
	if got := each(); len(got) > 0 {
		t.Errorf("Each of an empty index lists %v, want none", got)
	}
	apply(t, e, searchindex.Batch{Put: generate(1, 300)})
	var want []string
	for _, p := range generate(1, 300) {
		want = append(want, p.ID)
	}
	slices.Sort(want)
	apply(t, e, searchindex.Batch{Delete: want[100:], Put: generate(1, 300)[:1]})
	want = want[:100]
	if first := generate(1, 300)[0].ID; !slices.Contains(want, first) {
		want = append(want, first)
		slices.Sort(want)
	}
	if got := each(); !slices.Equal(got, want) {
		t.Errorf("Each lists %v, want %v", got, want)
	}
	stop, calls := errors.New("enough"), 0
	err := e.Each(t.Context(), func(string) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("Each = %v after %d calls of a function that fails, want its error after one call", err, calls)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Each(ended, func(string) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Each with a canceled context = %v, want canceled", err)
	}
}

func testCanceled(t *testing.T, open Open) {
	e := open(t, "a")
	apply(t, e, searchindex.Batch{Put: generate(8, 10), Position: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Apply(ctx, searchindex.Batch{Position: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply = %v, want canceled", err)
	}
	if _, err := e.Search(ctx, searchindex.Query{Text: "w1", All: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("Search = %v, want canceled", err)
	}
	wantPosition(t, e, 1)
}
