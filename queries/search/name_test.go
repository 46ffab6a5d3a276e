package search_test

import (
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/queries/queriestest"
	"annals/queries/search"

	"github.com/google/uuid"
)

// untitled imports a document whose title matches no query.
func (f *fixture) untitled(folder uuid.UUID, name string, tags []string, text string) uuid.UUID {
	return f.Import(events.DocumentImported{Folder: folder, Name: name, Tags: tags, Content: events.Content{
		SHA256: queriestest.SHA256, Size: 10, MediaType: "text/markdown", Title: "Untitled",
	}}, events.SectionExtracted{Text: text})
}

func TestSearchFindsDocumentsByName(t *testing.T) {
	f := newFixture(t)
	top, hidden := f.AddFolder(uuid.Nil, "Top", "user:alice"), f.AddFolder(uuid.Nil, "Hidden", "user:bob")
	for i := range 30 {
		f.untitled(top, fmt.Sprintf("note %d.md", i), nil, "What the report of 2026 says of lamps and of the report.")
	}
	report := f.untitled(top, "report-2026.pdf", []string{"x"}, "Oil was dear.")
	older := f.untitled(top, "Report_2025 (final, of all lamps).md", nil, "Oil was cheap.")
	lighthouse := f.untitled(top, "Lighthouse.md", nil, "Oil burns there.")
	others := f.untitled(hidden, "report-2026.pdf", nil, "Another's oil.")
	f.Settle()
	for query, want := range map[string]uuid.UUID{
		"report 2026": report, "report-2026": report, "report-2026.pdf": report, "REPORT-2026.PDF": report, "the report of 2026": report,
		"reports 2026": report, "report 2025": older, "lighthouse": lighthouse, "lighthouse.md": lighthouse, "light": lighthouse, "lightho": lighthouse,
	} {
		if got := f.firstFound(alice, search.Query{Query: query}); len(got) == 0 || got[0] != want {
			t.Errorf("Search(%q): got %v, want %s first", query, got, want)
		}
		if slices.Contains(f.firstFound(alice, search.Query{Query: query, Limit: 100}), others) {
			t.Errorf("Search(%q) finds a document that alice may not read", query)
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
	f.finds(admin, search.Query{Query: "report 2026", Folder: "Hidden"}, others)
	for _, user := range []events.User{alice, admin} { // both see only what is in the folder
		if got := f.firstFound(user, search.Query{Query: "report 2026", Folder: "Top", Limit: 100}); len(got) == 0 || got[0] != report || slices.Contains(got, others) {
			t.Errorf("Search in Top as %s: got %v, want %s first, and not %s", user.Principal, got, report, others)
		}
	}
	if got := f.firstFound(admin, search.Query{Query: "report 2026"}); len(got) < 2 || !slices.Contains(got[:2], report) || !slices.Contains(got[:2], others) {
		t.Errorf("Search as an administrator: got %v, want %s and %s first", got, report, others)
	}

	f.Append(events.DocumentStream(lighthouse), events.DocumentRenamed{Version: 2, Name: "beacon.md"})
	f.Settle()
	f.finds(alice, search.Query{Query: "lighthouse"})
	f.finds(alice, search.Query{Query: "beacon"}, lighthouse)
	f.Append(events.DocumentStream(lighthouse), events.DocumentMoved{Version: 3, Folder: hidden})
	f.Settle()
	f.finds(alice, search.Query{Query: "beacon"})
	f.finds(bob, search.Query{Query: "beacon", Folder: "Hidden"}, lighthouse)
	f.Append(events.DocumentStream(lighthouse), events.DocumentDeleted{Version: 4})
	f.Settle()
	f.finds(bob, search.Query{Query: "beacon"})
}

// A document whose name shares a single word with a question gets no bonus.
func TestNamesDoNotOutrankAnswers(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.untitled(top, "keeper.md", nil, "Oil was dear.")
	answer := f.untitled(top, "b.md", nil, "The keeper of the lighthouse trims the wick every evening.")
	f.Settle()
	f.finds(alice, search.Query{Query: "When does the keeper trim the wick of the lighthouse?"}, answer)
}

func TestUnreadableNamesDoNotAffectSearch(t *testing.T) {
	f := newFixture(t)
	top, hidden := f.AddFolder(uuid.Nil, "Top", "user:alice"), f.AddFolder(uuid.Nil, "Hidden", "user:bob")
	for i := range 5 {
		f.untitled(top, fmt.Sprintf("report %d.md", i), nil, fmt.Sprintf("The report number %d of the lighthouse.", i))
	}
	f.Settle()
	s := search.Query{Query: "report lighth"}
	before, err := f.search.Search(t.Context(), alice, s)
	if err != nil || len(before) == 0 {
		t.Fatal(before, err)
	}
	for i := range 200 {
		f.untitled(hidden, fmt.Sprintf("report lighthouse %d.md", i), nil, "Report lighthouse.")
	}
	f.Settle()
	after, err := f.search.Search(t.Context(), alice, s)
	if err != nil || !slices.EqualFunc(before, after, func(a, b search.Source) bool { return passageKey(a) == passageKey(b) && a.Score == b.Score }) {
		t.Errorf("Search: got %v (%v), and %v before others added documents", after, err, before)
	}
}

// If many names have the last word of a query, the search starts from another one.
func TestSearchFindsNamesAmongMany(t *testing.T) {
	f := newFixture(t)
	top, other := f.AddFolder(uuid.Nil, "Top", "user:alice"), f.AddFolder(uuid.Nil, "Other", "user:alice")
	var reports []uuid.UUID
	for i := range 520 {
		reports = append(reports, f.untitled(top, fmt.Sprintf("report %d.md", i), nil, "Oil was dear."))
	}
	want := f.untitled(top, "reports of the lighthouse.md", nil, "Oil was cheap.")
	beside := f.untitled(other, "report lighthouse of 1850.md", nil, "Oil was not to be had.")
	f.untitled(other, "lighthouse.md", nil, "Oil burns there.")
	f.Settle()
	for _, query := range []string{"lighthouse report", "report lighthouse", "lighthouse rep", "lighthouse reports of the"} {
		for _, user := range []events.User{alice, admin} {
			if got := f.firstFound(user, search.Query{Query: query}); len(got) < 2 || !slices.Contains(got[:2], want) || !slices.Contains(got[:2], beside) {
				t.Errorf("Search(%q) as %s: got %v, want %s and %s first", query, user.Principal, got, want, beside)
			}
		}
	}
	if got := f.firstFound(alice, search.Query{Query: "report 17"}); len(got) == 0 || got[0] != reports[17] {
		t.Errorf("Search: got %v, want %s first", got, reports[17])
	}
}

func TestNameQueriesUseIndexes(t *testing.T) {
	projectionstest.OfFiles(t)
	queriestest.NoScans(t, search.NameQueries())
}
