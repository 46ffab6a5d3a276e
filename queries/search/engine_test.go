package search_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/queries/search"

	"github.com/google/uuid"
)

func TestSearchFailsFastWithoutEngine(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	doc := f.AddDocument(f.AddFolder(uuid.Nil, "Top", "user:alice"), "a.md", nil, "A zebra.")
	f.Settle()
	release := f.HoldDuring(engine, func() {
		f.Append(events.DocumentStream(doc), events.DocumentTagged{Version: 2, Tags: []string{"new"}})
	})
	unreachable := fault.Errorf(fault.Unavailable, "the engine does not respond")
	engine.SetUnreachable(unreachable)
	engine.AfterSearch(func() { t.Error("the search was sent to the engine") })
	if _, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); !errors.Is(err, unreachable) {
		t.Errorf("Search: %v, want %v", err, unreachable)
	}
	engine.SetUnreachable(nil)
	engine.AfterSearch(func() {})
	release()
	f.finds(alice, search.Query{Query: "zebra", Tags: []string{"new"}}, doc)
}

func TestSearchHidesEngineErrors(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.AddDocument(top, "old.md", nil, "An old zebra.")
	f.Settle()
	engine.FailReads()
	_, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"})
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "/srv") || !strings.Contains(fault.Detail(err), "/srv") {
		t.Errorf("Search: %v of kind %v with detail %q, want fault.Unavailable with the path in the detail only", err, fault.KindOf(err), fault.Detail(err))
	}
}

func TestSearchAwaitsIndexAtStart(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	release := f.HoldDuring(engine, func() { f.AddDocument(top, "zebra.md", nil, "A zebra.") })
	f.Models.Start, f.Models.MaxLag = f.At, time.Nanosecond // searches fail instead of waiting
	if hits, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Search before the index has caught up: %v (%v), want fault.Unavailable", hits, err)
	}
	if answer, err := f.search.Ask(t.Context(), alice, search.Question{Search: search.Query{Query: "What is a zebra?"}}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Ask before the index has caught up: %v (%v), want fault.Unavailable", answer, err)
	}
	release()
	f.Settle()
	if hits, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); err != nil || len(hits) != 1 {
		t.Errorf("Search after the index has caught up: %v (%v), want one hit", hits, err)
	}
}

func TestSearchOfStoppedPassagesIsUnavailable(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.AddDocument(top, "old.md", nil, "An old zebra.")
	f.Settle()
	engine.FailWrites()
	f.AddDocument(top, "new.md", nil, "The engine fails to index this.")
	f.AwaitStop(f.Models.Passages)
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Search: %v (%v), want fault.Unavailable", s, err)
	}
	if a, err := f.search.Ask(t.Context(), alice, search.Question{Search: search.Query{Query: "Who is the zebra?"}}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Ask: %v (%v), want fault.Unavailable", a, err)
	}
}
