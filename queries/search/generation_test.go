package search_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/projectionstest"
	"annals/queries/search"

	"github.com/google/uuid"
)

// until retries a search while it is unavailable.
func (f *fixture) until(s search.Query) (sources []search.Source, next string, err error) {
	f.t.Helper()
	for range 500 {
		if sources, next, err = f.search.SearchPage(f.t.Context(), admin, s); !fault.Is(err, fault.Unavailable) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return sources, next, err
}

// titles fails the test unless all passages are from sections with a title.
func (f *fixture) titles(s search.Query, n int, want string) {
	f.t.Helper()
	sources, _, err := f.until(s)
	if err != nil || len(sources) != n {
		f.t.Fatalf("generation %d: %d passages, %v, want %d", s.Generation, len(sources), err, n)
	}
	for _, source := range sources {
		if source.LeafTitle != want {
			f.t.Errorf("generation %d: a passage has the title %q, want %q", s.Generation, source.LeafTitle, want)
		}
	}
	if a, err := f.search.Ask(f.t.Context(), admin, search.Question{Search: search.Query{Query: "Where did the walrus swim?", Generation: s.Generation}}); err != nil || len(a.Sources) == 0 || a.Sources[0].LeafTitle != want {
		f.t.Errorf("generation %d: the answer is %+v, %v, want its source from %q", s.Generation, a, err, want)
	}
}

func TestAdministratorsChooseTheGeneration(t *testing.T) {
	f := newFixture(t)
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		f.AddDocument(home, name, nil, "The walrus swims to "+name)
	}
	f.Settle()
	if _, err := f.Stores.Hold(t.Context(), "passages", nil); err != nil {
		t.Fatal(err)
	}
	// The tables of the two generations differ, as if their texts were cut differently.
	projectionstest.Edit(t, f.Home, "passages-1", `UPDATE sections SET title = 'first'`)
	projectionstest.Edit(t, f.Home, "passages-2", `UPDATE sections SET title = 'second'`)
	walrus := search.Query{Query: "walrus"}
	first, second := walrus, walrus
	first.Generation, second.Generation = 1, 2
	f.titles(walrus, 3, "first")
	f.titles(first, 3, "first")
	f.titles(second, 3, "second")
	// All others still search in the active generation.
	before, err := f.search.Search(t.Context(), alice, walrus)
	if err != nil {
		t.Fatal(err)
	}
	var askers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	askers.Go(func() {
		for ctx.Err() == nil {
			if sources, err := f.search.Search(t.Context(), admin, second); err != nil || len(sources) != 3 || sources[0].LeafTitle != "second" {
				t.Errorf("Search(admin, generation 2) = %+v, %v", sources, err)
			}
		}
	})
	for range 50 {
		if sources, err := f.search.Search(t.Context(), alice, walrus); err != nil || !reflect.DeepEqual(sources, before) || sources[0].LeafTitle != "first" {
			t.Errorf("Search(alice) = %+v, %v, want as before %+v", sources, err, before)
		}
		if sources, err := f.search.Search(t.Context(), eve, walrus); err != nil || len(sources) > 0 {
			t.Errorf("Search(eve) = %+v, %v, want nothing", sources, err)
		}
	}
	stop()
	askers.Wait()

	for _, user := range []events.User{alice, bob, eve} {
		for _, s := range []search.Query{first, second, {Query: "walrus", Generation: 99}} {
			if sources, err := f.search.Search(t.Context(), user, s); !fault.Is(err, fault.Forbidden) || len(sources) > 0 {
				t.Errorf("Search(%s, generation %d) = %d passages, %v, want Forbidden", user.Principal, s.Generation, len(sources), err)
			}
			if a, err := f.search.Ask(t.Context(), user, search.Question{Search: s}); !fault.Is(err, fault.Forbidden) || a.Text != "" {
				t.Errorf("Ask(%s, generation %d) = %+v, %v, want Forbidden", user.Principal, s.Generation, a, err)
			}
		}
	}
	if _, err := f.search.Search(t.Context(), admin, search.Query{Query: "walrus", Generation: 3}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a generation that does not exist: %v, want NotFound", err)
	}

	// Pages belong to one generation, and their cursors too.
	second.Limit = 2
	sources, next, err := f.until(second)
	if err != nil || len(sources) != 2 || next == "" {
		t.Fatalf("the first page has %d passages, %v", len(sources), err)
	}
	rest := second
	rest.Cursor = next
	if sources, _, err := f.until(rest); err != nil || len(sources) != 1 || sources[0].LeafTitle != "second" {
		t.Errorf("the second page is %+v, %v", sources, err)
	}
	rest.Generation = 0
	if _, _, err := f.until(rest); !fault.Is(err, fault.Invalid) {
		t.Errorf("the cursor in another generation: %v, want Invalid", err)
	}
	second.Limit = 0

	// It follows the log, and permissions and folders are those of now.
	f.AddDocument(home, "d.md", nil, "The walrus swims to d.md")
	f.Settle()
	if sources, _, err := f.until(second); err != nil || len(sources) != 4 {
		t.Errorf("after an import: %d passages, %v, want 4", len(sources), err)
	}

	// After the cut-over the first generation can still be searched.
	if _, err := f.Stores.Rebuild(t.Context(), "passages", nil); err != nil {
		t.Fatal(err)
	}
	projectionstest.UntilServes(t, f.Models.Passages, 2)
	if sources, _, err := f.until(first); err != nil || len(sources) != 4 {
		t.Errorf("the kept generation: %d passages, %v, want 4", len(sources), err)
	}
	if sources, _, err := f.until(second); err != nil || len(sources) != 4 {
		t.Errorf("the active generation: %d passages, %v, want 4", len(sources), err)
	}
}

// A search in the generation that is active must not return results of the next one.
func TestCutOverDuringBoundSearch(t *testing.T) {
	f := newFixture(t)
	f.AddDocument(f.AddFolder(uuid.Nil, "Alice", "user:alice"), "a.md", nil, "The walrus swam.")
	f.Settle()
	_, release, err := f.search.In(t.Context(), admin, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stores.Rebuild(t.Context(), "passages", nil); err != nil {
		t.Fatal(err)
	}
	// Searches during the cut-over return results of generation 1, or an error.
	for f.Models.Passages.Generation() == 1 {
		for _, s := range []search.Query{{Query: "walrus", Generation: 1}} {
			if sources, _, err := f.search.SearchPage(t.Context(), admin, s); err == nil && len(sources) != 1 {
				t.Errorf("got %d passages, want 1", len(sources))
			} else if err != nil && !fault.Is(err, fault.Unavailable) {
				t.Error(err)
			}
		}
	}
	if err := release(); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the cut-over: %v, want Unavailable", err)
	}
}
