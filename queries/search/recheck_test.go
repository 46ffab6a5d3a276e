package search_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/projectionstest"
	"annals/queries/search"

	"github.com/google/uuid"
)

func TestSearchMovedFolderBeforeIndexed(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	from := f.AddFolder(uuid.Nil, "From", "user:alice")
	to := f.AddFolder(uuid.Nil, "To", "user:alice")
	f.Share(from, "user:eve", "read")
	f.Share(to, "user:bob", "read")
	moved := f.AddFolder(from, "Moved", "")
	deep := f.AddFolder(moved, "Deep", "")
	still := f.AddDocument(from, "still.md", nil, "A zebra that stays.")
	a := f.AddDocument(moved, "a.md", nil, "A zebra that moves.")
	b := f.AddDocument(deep, "b.md", nil, "A zebra that moves along.")
	f.Settle()
	zebra := func(folder string) search.Query { return search.Query{Query: "zebra", Folder: folder} }
	check := func() {
		t.Helper()
		f.finds(bob, zebra(""), a, b)
		f.finds(bob, zebra("To"), a, b)
		f.finds(bob, zebra("To/Moved/Deep"), b)
		f.finds(bob, zebra("From"))
		f.finds(eve, zebra(""), still)
		f.finds(eve, zebra("To"))
		f.finds(alice, zebra(""), still, a, b)
		f.finds(alice, zebra("From"), still)
		f.finds(admin, zebra("To"), a, b)
		f.finds(admin, zebra("From"), still)
	}
	release := f.HoldDuring(engine, func() {
		f.Append(events.Folders, events.FolderMoved{Folder: moved, Parent: to})
	})
	check()
	release()
	f.Settle()
	check()
}

func TestSearchNestedMovedFolders(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	a, b := f.AddFolder(top, "A", ""), f.AddFolder(top, "B", "")
	inner := f.AddFolder(a, "Inner", "")
	f.Share(b, "user:bob", "read")
	doc := f.AddDocument(inner, "a.md", nil, "The zebra.")
	f.Settle()
	release := f.HoldDuring(engine, func() {
		f.Append(events.Folders, events.FolderMoved{Folder: a, Parent: b}, events.FolderMoved{Folder: inner, Parent: top})
	})
	f.finds(bob, search.Query{Query: "zebra"})
	f.Append(events.Folders, events.FolderMoved{Folder: inner, Parent: a})
	f.Await(f.Models.Vault)
	f.finds(bob, search.Query{Query: "zebra"}, doc)
	f.finds(bob, search.Query{Query: "zebra", Folder: "Top/B/A"}, doc)
	release()
}

func TestSearchRechecksHits(t *testing.T) {
	search.SetLabelWait(t, 10*time.Millisecond) // each search waits for the held index
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	open, closed := f.AddFolder(top, "Open", ""), f.AddFolder(top, "Closed", "")
	f.Share(open, "user:bob", "read")
	moved := f.AddDocument(open, "a.md", []string{"red"}, "A zebra that is moved.")
	untagged := f.AddDocument(open, "b.md", []string{"red", "blue"}, "A zebra that loses a tag.")
	deleted := f.AddDocument(open, "c.md", []string{"red"}, "A zebra that is deleted.")
	f.Settle()
	red := search.Query{Query: "zebra", Tags: []string{"red"}}
	f.finds(bob, red, moved, untagged, deleted)
	release := f.HoldDuring(engine, func() {
		f.Append(events.DocumentStream(moved), events.DocumentMoved{Version: 2, Folder: closed})
		f.Append(events.DocumentStream(untagged), events.DocumentTagged{Version: 2, Tags: []string{"blue"}})
		f.Append(events.DocumentStream(deleted), events.DocumentDeleted{Version: 2})
	})
	defer release()
	f.finds(bob, search.Query{Query: "zebra"}, untagged)
	f.finds(bob, red)
	f.finds(bob, search.Query{Query: "zebra", Tags: []string{"red", "green"}, AnyTag: true})
	f.finds(bob, search.Query{Query: "zebra", Tags: []string{"red", "blue"}, AnyTag: true}, untagged)
	f.finds(alice, red, moved)
	f.finds(alice, search.Query{Query: "zebra", Folder: "Top/Open"}, untagged)
}

func TestSearchAwaitsMovesAndTags(t *testing.T) {
	f := newFixture(t)
	from, to := f.AddFolder(uuid.Nil, "From", "user:alice"), f.AddFolder(uuid.Nil, "To", "user:alice")
	f.Share(to, "user:bob", "read")
	doc := f.AddDocument(from, "a.md", []string{"old"}, "A zebra.")
	f.Settle()
	version := 1
	change := func(data events.Data) {
		t.Helper()
		f.Append(events.DocumentStream(doc), data)
		f.Await(f.Models.Vault)
		version++
	}
	for range 5 {
		change(events.DocumentTagged{Version: version + 1, Tags: []string{"new"}})
		f.finds(alice, search.Query{Query: "zebra", Tags: []string{"new"}}, doc)
		change(events.DocumentMoved{Version: version + 1, Folder: to})
		f.finds(bob, search.Query{Query: "zebra"}, doc)
		f.finds(alice, search.Query{Query: "zebra", Folder: "To"}, doc)
		change(events.DocumentTagged{Version: version + 1, Tags: []string{"old"}})
		f.finds(alice, search.Query{Query: "zebra", Tags: []string{"old"}}, doc)
		change(events.DocumentMoved{Version: version + 1, Folder: from})
		f.finds(bob, search.Query{Query: "zebra"})
		f.finds(alice, search.Query{Query: "zebra", Folder: "From"}, doc)
	}
}

func TestSearchFindsOneReadableAmongMany(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	open, big := f.AddFolder(top, "Open", ""), f.AddFolder(top, "Big", "")
	f.Append(events.Folders, events.FolderMoved{Folder: big, Parent: open})
	f.Share(open, "user:bob", "read")
	for range 300 {
		f.AddDocument(big, "big.md", nil, "Zebra zebra zebra.")
	}
	doc := f.AddDocument(open, "a.md", nil, "Far down in a long text, after many other words that say nothing, a zebra is named once.")
	f.Settle()
	release := f.HoldDuring(engine, func() { f.Append(events.Folders, events.FolderMoved{Folder: big, Parent: top}) })
	defer release()
	f.finds(bob, search.Query{Query: "zebra"}, doc)
}

func TestSearchShowsOldContentUntilIndexed(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	id := f.AddDocument(top, "notes", nil, "The zebra of old.")
	f.Settle()
	release := f.HoldDuring(engine, func() {
		stream := events.TextStream(id, 9)
		f.Append(events.DocumentStream(id), events.DocumentRenamed{Version: 2, Name: "other"})
		f.Append(stream, events.SectionExtracted{Text: "The zebra of now.", StartPage: 1, EndPage: 1})
		f.Append(events.DocumentStream(id), events.DocumentRevised{Version: 3, Content: events.Content{
			MediaType: "application/pdf", Title: "Now", Pages: 1, TextStream: stream, Sections: 1,
		}})
	})
	check := func(title, text, link string) {
		t.Helper()
		s, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"})
		if err != nil || len(s) != 1 || s[0].Title != title || !strings.HasSuffix(s[0].Text, text) || s[0].DeepLink != "/documents/"+id.String()+link {
			t.Errorf("Search = %+v, %v, want %s: %s", s, err, title, text)
		}
	}
	check("Title of notes", "The zebra of old.", ".md")
	release()
	f.Settle()
	check("Now", "The zebra of now.", ".pdf#page=1")
}

func TestSearchAwaitsVault(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	id := f.AddDocument(top, "a.md", nil, "The zebra of old.")
	f.Settle()
	unlock := projectionstest.Block(t, f.Home, "vault-1")
	f.Revise(id, 2, "The zebra of now.")
	if err := f.Models.Passages.Wait(t.Context(), f.At); err != nil {
		t.Error(err)
	}
	f.Models.MaxLag = time.Nanosecond // searches fail instead of waiting
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Search while the vault is behind = %+v, %v, want fault.Unavailable", s, err)
	}
	unlock()
	f.Models.MaxLag = time.Hour
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); err != nil || len(s) != 1 || s[0].Title != "New" || s[0].Text != "The zebra of now." {
		t.Errorf("Search after the vault has caught up = %+v, %v", s, err)
	}
}

func TestSearchRestartsAreBounded(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	id := f.AddDocument(top, "a.md", nil, "The zebra of old.")
	f.Settle()
	const maxRestarts = 20
	version, times := 1, 0
	revise := func() {
		if times > 0 {
			times--
			version++
			f.Revise(id, version, fmt.Sprintf("The zebra of edition %d.", version))
			f.Settle()
		}
	}
	engine.AfterSearch(revise)
	times = maxRestarts
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); err != nil || len(s) != 1 || !strings.HasSuffix(s[0].Text, fmt.Sprintf("edition %d.", version)) {
		t.Errorf("Search with %d revisions during it = %+v, %v, want edition %d", maxRestarts, s, err, version)
	}
	times = maxRestarts + 1
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Search with more revisions than restarts = %+v, %v, want fault.Unavailable", s, err)
	}
}

// While a document is revised, each search finds all passages of a single version, with
// the title of that version.
func TestSearchFindsOneVersionDuringRevisions(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	id := uuid.New()
	stream := events.DocumentStream(id)
	const sections = 3
	edition := func(n int) events.Content {
		text := events.TextStream(id, n)
		for i := range sections {
			f.Append(text, events.SectionExtracted{Index: i, Level: 1, Title: fmt.Sprint("Part ", i), Path: []string{fmt.Sprint("Part ", i)},
				Text: fmt.Sprintf("The heron number %d in edition %d tells of %s.", i, n, strings.Repeat(string(rune('a'+i)), 8))})
		}
		return events.Content{MediaType: "text/markdown", Title: fmt.Sprintf("Edition %d", n), TextStream: text, Sections: sections}
	}
	f.Append(stream, events.DocumentImported{Version: 1, Folder: top, Name: "a.md", Content: edition(1)})
	f.Settle()

	const editions, searchers = 15, 2
	stop, ended := make(chan struct{}), make(chan error, searchers)
	for range searchers {
		go func() {
			for {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				if err := oneEdition(f.search.Search(t.Context(), alice, search.Query{Query: "heron edition"})); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for n := 2; n <= editions; n++ {
		f.Append(stream, events.DocumentRevised{Version: n, Content: edition(n)})
		if n%3 > 0 {
			f.Settle()
		}
	}
	close(stop)
	for range searchers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	f.Settle()
	s, err := f.search.Search(t.Context(), alice, search.Query{Query: "heron edition"})
	if err = errors.Join(err, oneEdition(s, err)); err != nil || s[0].Title != fmt.Sprintf("Edition %d", editions) {
		t.Errorf("Search after the last revision = %v, %v", s, err)
	}
}

// oneEdition returns an error unless the sources are all passages of a single version.
func oneEdition(sources []search.Source, err error) error {
	if err != nil {
		return err
	}
	if len(sources) != 3 {
		return fmt.Errorf("found %d passages, want 3: %+v", len(sources), sources)
	}
	for _, s := range sources {
		if n := strings.TrimPrefix(sources[0].Title, "Edition "); s.Title != sources[0].Title || !strings.Contains(s.Text, " edition "+n+" ") {
			return fmt.Errorf("found %s: %q along with %s", s.Title, s.Text, sources[0].Title)
		}
	}
	return nil
}
