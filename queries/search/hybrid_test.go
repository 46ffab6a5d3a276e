package search_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"annals/events"
	"annals/projections/embeddings"
	"annals/projections/embeddings/embeddingstest"
	"annals/projections/projectionstest"
	"annals/queries/queriestest"
	"annals/queries/search"

	"github.com/google/uuid"
)

// newHybridFixture returns a fixture whose searches also use vectors, and the endpoint that
// makes them. To the endpoint, car and automobile mean the same.
func newHybridFixture(t testing.TB) (*fixture, *embeddingstest.Endpoint) {
	t.Helper()
	endpoint := embeddingstest.Start(t, embeddingstest.Behaviour{Alike: [][]string{{"car", "automobile"}}})
	client := endpoint.Client()
	w := queriestest.OpenWithEmbedder(t, client)
	return &fixture{w, &search.Searcher{Models: w.Models, Embedder: client}, t}, endpoint
}

// settleVectors waits until all passages have vectors.
func (f *fixture) settleVectors() {
	f.t.Helper()
	f.Settle()
	projectionstest.Until(f.t, f.Models.Vectors, func() bool {
		at, err := f.Models.Vectors.Reached(f.t.Context())
		return err == nil && at >= f.At
	})
}

// first fails the test unless the first result of a search is of the document want.
func (f *fixture) first(user events.User, s search.Query, want uuid.UUID) {
	f.t.Helper()
	sources, err := f.search.Search(f.t.Context(), user, s)
	if err != nil || len(sources) == 0 || sources[0].Document != want {
		f.t.Errorf("Search(%+v) = %v, %v, want %s first", s, found(sources), err, want)
	}
	for i, s := range sources {
		if s.Score <= 0 || i > 0 && s.Score > sources[i-1].Score {
			f.t.Errorf("result %d has the score %g after %v", i, s.Score, sources[max(0, i-1)].Score)
		}
	}
}

func TestHybridFindsByMeaning(t *testing.T) {
	f, _ := newHybridFixture(t)
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	f.AddDocument(home, "meal.md", nil, "A meal of beans and rice.")
	meant := f.AddDocument(home, "garage.md", nil, "The automobile stands here.")
	both := f.AddDocument(home, "both.md", nil, "A car.")
	f.settleVectors()
	f.first(alice, search.Query{Query: "car"}, both)
	f.first(alice, search.Query{Query: "-both car", Document: meant}, meant) // no passage has the word
	sources, err := f.search.Search(t.Context(), alice, search.Query{Query: "car", Limit: 2})
	if err != nil || !slices.Equal(found(sources), []uuid.UUID{both, meant}) {
		t.Errorf("Search = %v, %v, want %v", found(sources), err, []uuid.UUID{both, meant})
	}
	a, err := f.search.Ask(t.Context(), alice, search.Question{Search: search.Query{Query: "Where does the car stand?"}})
	if err != nil || !slices.Contains(a.Documents, meant) {
		t.Errorf("Ask considered %v, %v, want also %s", a.Documents, err, meant)
	}
}

// Passages that are found by their vectors must be as readable as others, and pass the same
// filters.
func TestHybridFilters(t *testing.T) {
	f, _ := newHybridFixture(t)
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	secret := f.AddFolder(home, "Secret", "")
	shared := f.AddFolder(home, "Shared", "")
	f.Share(shared, "group:staff", "read")
	hidden := f.AddDocument(secret, "hidden.md", []string{"red"}, "The automobile is hidden in a shed.")
	open := f.AddDocument(shared, "open.md", nil, "The automobile is parked outside.")
	f.settleVectors()
	f.finds(alice, search.Query{Query: "car"}, hidden, open)
	f.finds(bob, search.Query{Query: "car"}, open)
	f.finds(eve, search.Query{Query: "car"})
	f.finds(alice, search.Query{Query: "car", Folder: "Alice/Secret"}, hidden)
	f.finds(alice, search.Query{Query: "car", Tags: []string{"red"}}, hidden)
	f.finds(alice, search.Query{Query: "car", Document: open}, open)
	f.finds(alice, search.Query{Query: "car -shed"}, open)
	f.finds(alice, search.Query{Query: `car "parked outside"`}, open)
	f.finds(alice, search.Query{Query: `car "outside parked"`})

	// The rights of now decide, not those of the vectors.
	f.Append(events.Folders, events.FolderShared{Folder: shared})
	f.Await(f.Models.Vault)
	f.finds(bob, search.Query{Query: "car"})
	f.Append(events.DocumentStream(open), events.DocumentDeleted{Version: 2})
	f.Await(f.Models.Vault)
	f.finds(alice, search.Query{Query: "car"}, hidden)
}

// While the endpoint is slow or away, searches find what they find without it.
func TestHybridWithoutEndpoint(t *testing.T) {
	for name, change := range map[string]func(*embeddingstest.Behaviour){
		"slow":  func(b *embeddingstest.Behaviour) { b.Delay = time.Hour },
		"away":  func(b *embeddingstest.Behaviour) { b.Status = func(int, []string) int { return http.StatusBadGateway } },
		"wrong": func(b *embeddingstest.Behaviour) { b.Dimensions = 8 },
	} {
		f, endpoint := newHybridFixture(t)
		home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
		f.AddDocument(home, "a.md", nil, "The automobile stands here.")
		want := f.AddDocument(home, "b.md", nil, "A car stands there.")
		f.settleVectors()
		endpoint.Set(change)
		impatient := endpoint.Settings()
		impatient.QueryTime = 100 * time.Millisecond
		f.search.Embedder = embeddings.New(impatient, nil)
		late := f.AddDocument(home, "c.md", nil, "Another car.")
		f.Settle() // the read model of vectors passes the event although it cannot make vectors
		f.finds(alice, search.Query{Query: "car"}, want, late)
		if err := f.Models.Vectors.Err(); err != nil {
			t.Errorf("%s: the read model stopped: %v", name, err)
		}
	}
}

// A passage that is found by its vector may be of a content that is not shown yet, or no
// longer.
func TestHybridWhileContentChanges(t *testing.T) {
	f, endpoint := newHybridFixture(t)
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	id := f.AddDocument(home, "a.md", nil, "The automobile stands here.")
	f.settleVectors()
	endpoint.Set(func(b *embeddingstest.Behaviour) {
		b.Status = func(_ int, texts []string) int {
			if len(texts) == 1 && texts[0] != "car" {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		}
	})
	f.Revise(id, 2, "A meal of beans.")
	f.Settle()
	f.finds(alice, search.Query{Query: "car"})
	f.finds(alice, search.Query{Query: "beans"}, id)
}

// Equal passages are one result, whichever way they are found.
func TestHybridJoinsDuplicates(t *testing.T) {
	f, _ := newHybridFixture(t)
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	f.AddDocument(home, "a.md", nil, "The automobile stands here.")
	f.AddDocument(home, "b.md", nil, "The automobile stands here.")
	f.settleVectors()
	for _, query := range []string{"car", "automobile"} {
		sources, err := f.search.Search(t.Context(), alice, search.Query{Query: query})
		if err != nil || len(sources) != 1 || len(sources[0].Duplicates) != 1 {
			t.Errorf("Search(%s) = %+v, %v, want one source with one duplicate", query, sources, err)
		}
	}
}

// leaving is an Embedder whose caller goes while it makes a vector.
type leaving struct {
	t        *testing.T
	leave    func()
	returned chan struct{} // closed when the search has returned
	ended    chan struct{} // closed when Query has
}

func (l leaving) Query(ctx context.Context, _ string, _ int, _ string) ([]float32, error) {
	defer close(l.ended)
	l.leave()
	select {
	case <-l.returned:
		l.t.Error("the search returned while its query was being sent to the endpoint")
	case <-time.After(100 * time.Millisecond):
	}
	return nil, ctx.Err()
}

// A search leaves no work behind, even if it fails.
func TestHybridEndsItsWork(t *testing.T) {
	f, _ := newHybridFixture(t)
	f.AddDocument(f.AddFolder(uuid.Nil, "Alice", "user:alice"), "a.md", nil, "A car.")
	f.settleVectors()
	ctx, leave := context.WithCancel(t.Context())
	l := leaving{t, leave, make(chan struct{}), make(chan struct{})}
	f.search.Embedder = l
	if _, err := f.search.Search(ctx, alice, search.Query{Query: "car"}); err == nil {
		t.Error("a search whose caller has gone returned no error")
	}
	close(l.returned)
	<-l.ended
}

func TestHybridPages(t *testing.T) {
	f, endpoint := newHybridFixture(t)
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	for i := range 30 {
		f.AddDocument(home, "a.md", nil, "The automobile stands here: "+string(rune('a'+i)))
		f.AddDocument(home, "b.md", nil, "The car stands there: "+string(rune('a'+i)))
	}
	f.settleVectors()
	seen := make(map[uuid.UUID]bool)
	for cursor, pages := "", 0; ; pages++ {
		sources, next, err := f.search.SearchPage(t.Context(), alice, search.Query{Query: "car", Limit: 7, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			if seen[s.Document] {
				t.Errorf("%s is on two pages", s.Title)
			}
			seen[s.Document] = true
		}
		if cursor = next; cursor == "" {
			break
		}
		// The vector of the query is remembered, so the order stays the same.
		endpoint.Set(func(b *embeddingstest.Behaviour) { b.Status = func(int, []string) int { return http.StatusBadGateway } })
	}
	if len(seen) != 60 {
		t.Errorf("%d documents on all pages, want 60", len(seen))
	}
}
