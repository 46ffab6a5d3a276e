package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/queries/search"

	"github.com/google/uuid"
)

// firstFound returns the documents that a search finds, best first.
func (f *fixture) firstFound(user events.User, s search.Query) []uuid.UUID {
	f.t.Helper()
	sources, err := f.Search(f.t.Context(), user, s)
	if err != nil {
		f.t.Fatal(err)
	}
	return found(sources)
}

// untitled is document with a title that says nothing.
func (f *fixture) untitled(folder uuid.UUID, name string, tags []string, text string) uuid.UUID {
	id := uuid.New()
	stream := events.TextStream(id, 0)
	f.add(stream, events.SectionExtracted{Text: text})
	f.add(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: name, Tags: tags, Content: events.Content{
		SHA256: strings.Repeat("0a", 32), Size: 10, MediaType: "text/markdown", Title: "Untitled", TextStream: stream, Sections: 1,
	}})
	return id
}

func TestSearchFindsDocumentsByName(t *testing.T) {
	f := newFixture(t)
	top, hidden := f.folder(uuid.Nil, "Top", "user:alice"), f.folder(uuid.Nil, "Hidden", "user:bob")
	for i := range 30 {
		f.untitled(top, fmt.Sprintf("note %d.md", i), nil, "What the report of 2026 says of lamps and of the report.")
	}
	report := f.untitled(top, "report-2026.pdf", []string{"x"}, "Oil was dear.")
	older := f.untitled(top, "Report_2025 (final, of all lamps).md", nil, "Oil was cheap.")
	lighthouse := f.untitled(top, "Lighthouse.md", nil, "Oil burns there.")
	others := f.untitled(hidden, "report-2026.pdf", nil, "Another's oil.")
	f.settle()
	for query, want := range map[string]uuid.UUID{
		"report 2026": report, "report-2026": report, "report-2026.pdf": report, "REPORT-2026.PDF": report, "the report of 2026": report,
		"reports 2026": report, "report 2025": older, "lighthouse": lighthouse, "lighthouse.md": lighthouse, "light": lighthouse, "lightho": lighthouse,
	} {
		if got := f.firstFound(alice, search.Query{Query: query}); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v first, want %s", query, got, want)
		}
		if slices.Contains(f.firstFound(alice, search.Query{Query: query, Limit: 100}), others) {
			t.Errorf("%q finds another's document", query)
		}
	}
	f.finds(alice, search.Query{Query: "report 2026", Tags: []string{"x"}}, report)
	f.finds(alice, search.Query{Query: "lighthouse", Folder: "Top"}, lighthouse)
	f.finds(alice, search.Query{Query: "lighthouse", Document: report})
	f.finds(alice, search.Query{Query: "li"})
	f.finds(alice, search.Query{Query: "pdf"})
	f.finds(bob, search.Query{Query: "report 2026"}, others)
	f.finds(eve, search.Query{Query: "report 2026"})
	f.finds(admin, search.Query{Query: "report-2026", Tags: []string{"x"}}, report)

	f.add(events.DocumentStream(lighthouse), events.DocumentRenamed{Version: 2, Name: "beacon.md"})
	f.settle()
	f.finds(alice, search.Query{Query: "lighthouse"})
	f.finds(alice, search.Query{Query: "beacon"}, lighthouse)
	f.add(events.DocumentStream(lighthouse), events.DocumentMoved{Version: 3, Folder: hidden})
	f.settle()
	f.finds(alice, search.Query{Query: "beacon"})
	f.finds(bob, search.Query{Query: "beacon", Folder: "Hidden"}, lighthouse)
	f.add(events.DocumentStream(lighthouse), events.DocumentDeleted{Version: 4})
	f.settle()
	f.finds(bob, search.Query{Query: "beacon"})
}

// A question in a sentence is ranked by what passages say, not by names that
// share a word with it.
func TestNamesDoNotAnswerQuestions(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.untitled(top, "keeper.md", nil, "Oil was dear.")
	answer := f.untitled(top, "b.md", nil, "The keeper of the lighthouse trims the wick every evening.")
	f.settle()
	f.finds(alice, search.Query{Query: "When does the keeper trim the wick of the lighthouse?"}, answer)
}

// What others name their documents changes nothing of what is found.
func TestNamesOfOthersChangeNothing(t *testing.T) {
	f := newFixture(t)
	top, hidden := f.folder(uuid.Nil, "Top", "user:alice"), f.folder(uuid.Nil, "Hidden", "user:bob")
	for i := range 5 {
		f.untitled(top, fmt.Sprintf("report %d.md", i), nil, fmt.Sprintf("The report number %d of the lighthouse.", i))
	}
	f.settle()
	s := search.Query{Query: "report lighth"}
	before, err := f.Search(t.Context(), alice, s)
	if err != nil || len(before) == 0 {
		t.Fatal(before, err)
	}
	for i := range 200 {
		f.untitled(hidden, fmt.Sprintf("report lighthouse %d.md", i), nil, "Report lighthouse.")
	}
	f.settle()
	after, err := f.Search(t.Context(), alice, s)
	if err != nil || !slices.EqualFunc(before, after, func(a, b search.Source) bool { return passageKey(a) == passageKey(b) && a.Score == b.Score }) {
		t.Errorf("it finds %v (%v), and before %v", after, err, before)
	}
}
