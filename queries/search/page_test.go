package search_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/queries/search"

	"github.com/google/uuid"
)

// pagesOf returns the passages of all pages of a search. The page sizes cycle through
// limits.
func (f *fixture) pagesOf(user events.User, s search.Query, limits ...int) (ids []string) {
	f.t.Helper()
	for i := 0; ; i++ {
		s.Limit = limits[i%len(limits)]
		page, next, err := f.search.SearchPage(f.t.Context(), user, s)
		if err != nil {
			f.t.Fatal(err)
		}
		if len(page) > s.Limit || next != "" && len(page) < s.Limit {
			f.t.Errorf("page %d: got %d passages with limit %d and next cursor %q", i+1, len(page), s.Limit, next)
		}
		if !slices.IsSortedFunc(page, func(a, b search.Source) int {
			if a.Score < b.Score {
				return 1
			}
			return 0
		}) && i > 0 {
			f.t.Errorf("page %d is not ordered by score", i+1)
		}
		for _, p := range page {
			ids = append(ids, passageKey(p))
		}
		if s.Cursor = next; next == "" {
			return ids
		}
	}
}

func TestSearchPagesListEachPassageOnce(t *testing.T) {
	f := newFixture(t)
	top, other := f.AddFolder(uuid.Nil, "Top", "user:alice"), f.AddFolder(uuid.Nil, "Other", "user:bob")
	for i := range 12 {
		var texts []string
		for j := range 10 {
			texts = append(texts, fmt.Sprintf("The zebra number %d eats grass. %s", i*10+j, strings.Repeat("More about lions. ", (i*7+j*3)%5)))
		}
		folder := top
		if i%3 == 2 {
			folder = other
		}
		f.AddDocument(folder, fmt.Sprintf("%d.md", i), nil, texts...)
	}
	f.Settle()
	q := search.Query{Query: "which zebra eats grass"}
	for _, limits := range [][]int{{10}, {7}, {1, 33}, {100}, {50, 3}} {
		ids := f.pagesOf(alice, q, limits...)
		first, err := f.search.Search(t.Context(), alice, search.Query{Query: q.Query, Limit: limits[0]})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range first {
			if ids[i] != passageKey(p) {
				t.Errorf("pages of %d do not begin with the passages that Search returns", limits)
				break
			}
		}
		slices.Sort(ids)
		if n := len(slices.Compact(slices.Clone(ids))); len(ids) != 80 || n != 80 {
			t.Errorf("pages of %d: got %d passages, %d different ones, want 80", limits, len(ids), n)
		}
	}
}

func TestSearchPagesEndAtMaxDepth(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		f.AddDocument(top, name, nil, slices.Repeat([]string{"The zebra eats grass, says " + name}, search.MaxDepth/3+10)...)
	}
	f.Settle()
	ids := f.pagesOf(alice, search.Query{Query: "zebra"}, 90)
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); len(ids) != search.MaxDepth || n != search.MaxDepth {
		t.Errorf("got %d passages, %d different ones, want %d", len(ids), n, search.MaxDepth)
	}
}

func TestSearchCursorRejectsOtherSearch(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Share(top, "group:staff", "read")
	f.AddDocument(top, "a.md", []string{"x"}, slices.Repeat([]string{"The zebra eats grass."}, 30)...)
	f.Settle()
	q := search.Query{Query: "zebra", Folder: "Top", Tags: []string{"x"}}
	_, next, err := f.search.SearchPage(t.Context(), alice, q)
	if err != nil || next == "" {
		t.Fatalf("SearchPage: next cursor %q, %v", next, err)
	}
	b, _ := base64.RawURLEncoding.DecodeString(next)
	b[3]++
	with := func(change func(*search.Query)) search.Query { s := q; s.Cursor = next; change(&s); return s }
	for what, c := range map[string]struct {
		user events.User
		s    search.Query
	}{
		"another user":     {bob, with(func(*search.Query) {})},
		"another query":    {alice, with(func(s *search.Query) { s.Query = "zebras" })},
		"another folder":   {alice, with(func(s *search.Query) { s.Folder = "" })},
		"other tags":       {alice, with(func(s *search.Query) { s.Tags = nil })},
		"any tag":          {alice, with(func(s *search.Query) { s.AnyTag = true })},
		"one document":     {alice, with(func(s *search.Query) { s.Document = uuid.New() })},
		"a changed cursor": {alice, with(func(s *search.Query) { s.Cursor = base64.RawURLEncoding.EncodeToString(b) })},
		"a short cursor":   {alice, with(func(s *search.Query) { s.Cursor = next[:10] })},
		"a long cursor":    {alice, with(func(s *search.Query) { s.Cursor = strings.Repeat(next, 10_000) })},
		"no base64":        {alice, with(func(s *search.Query) { s.Cursor = "?" })},
	} {
		if _, _, err := f.search.SearchPage(t.Context(), c.user, c.s); !errors.Is(err, search.ErrCursor) || !fault.Is(err, fault.Invalid) {
			t.Errorf("SearchPage with the cursor of %s: %v, want ErrCursor", what, err)
		}
	}
	if page, _, err := f.search.SearchPage(t.Context(), alice, with(func(s *search.Query) { s.Limit = 5 })); err != nil || len(page) != 5 {
		t.Errorf("SearchPage with its own cursor: got %d passages, %v, want 5", len(page), err)
	}
}
