package search_test

import (
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/queries/queriestest"
	"annals/queries/search"

	"github.com/google/uuid"
)

// fixture is a log with read models, and the Searcher that reads them.
type fixture struct {
	*queriestest.World
	search *search.Searcher
	t      testing.TB
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := queriestest.Open(t)
	return &fixture{w, &search.Searcher{Models: w.Models}, t}
}

func newFixtureWithEngine(t testing.TB) (*fixture, *queriestest.Engine) {
	t.Helper()
	w, engine := queriestest.OpenWithEngine(t)
	return &fixture{w, &search.Searcher{Models: w.Models}, t}, engine
}

var (
	admin = queriestest.Admin
	alice = queriestest.Alice
	bob   = queriestest.Bob
	eve   = queriestest.Eve
)

func found(sources []search.Source) []uuid.UUID {
	var ids []uuid.UUID
	for _, s := range sources {
		if !slices.Contains(ids, s.Document) {
			ids = append(ids, s.Document)
		}
	}
	return ids
}

// finds fails the test unless a search finds exactly the documents want.
func (f *fixture) finds(user events.User, s search.Query, want ...uuid.UUID) {
	f.t.Helper()
	sources, err := f.search.Search(f.t.Context(), user, s)
	if err != nil {
		f.t.Fatal(err)
	}
	got := found(sources)
	byID := func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	if !slices.Equal(got, want) {
		f.t.Errorf("Search(%s, %+v): got %v, want %v", user.Principal, s, got, want)
	}
}

// firstFound returns the documents that a search finds, best first.
func (f *fixture) firstFound(user events.User, s search.Query) []uuid.UUID {
	f.t.Helper()
	sources, err := f.search.Search(f.t.Context(), user, s)
	if err != nil {
		f.t.Fatal(err)
	}
	return found(sources)
}

// passageKey identifies a passage.
func passageKey(s search.Source) string { return fmt.Sprint(s.Document, s.LeafTitle, s.Text) }
