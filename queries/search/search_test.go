package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/queries/search"

	"github.com/google/uuid"
)

func TestSearchFindsReadableOnly(t *testing.T) {
	f := newFixture(t)
	home := f.AddFolder(uuid.Nil, "Alice", "user:alice")
	secret := f.AddFolder(home, "Secret", "")
	shared := f.AddFolder(home, "Shared", "")
	f.Share(shared, "group:staff", "read")
	hidden := f.AddDocument(secret, "hidden.md", nil, "The walrus plan is hidden here.")
	open := f.AddDocument(shared, "open.md", []string{"plans"}, "The walrus plan is open to staff.")
	f.Settle()
	for _, c := range []struct {
		user events.User
		want []uuid.UUID
	}{
		{alice, []uuid.UUID{hidden, open}}, {admin, []uuid.UUID{hidden, open}}, {bob, []uuid.UUID{open}}, {eve, nil},
	} {
		sources, err := f.search.Search(t.Context(), c.user, search.Query{Query: "walrus plan"})
		if err != nil {
			t.Fatal(err)
		}
		got := found(sources)
		slices.SortFunc(got, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		slices.SortFunc(c.want, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(got, c.want) {
			t.Errorf("Search(%s): got %v, want %v", c.user.Principal, got, c.want)
		}
	}
	f.Append(events.Folders, events.FolderShared{Folder: shared})
	f.Await(f.Models.Vault)
	if sources, err := f.search.Search(t.Context(), bob, search.Query{Query: "walrus plan"}); err != nil || len(sources) > 0 {
		t.Errorf("Search(bob) = %v, %v after he lost access, want nothing", sources, err)
	}
}

func TestSearchFilters(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sub := f.AddFolder(top, "Sub", "")
	f.AddFolder(top, "Süd", "")
	other := f.AddFolder(uuid.Nil, "Other", "user:alice")
	a := f.AddDocument(top, "a.md", []string{"red", "round"}, "A zebra in the top folder.")
	b := f.AddDocument(sub, "b.md", []string{"red"}, "A zebra in the lower folder.")
	c := f.AddDocument(other, "c.md", []string{"round"}, "A zebra in another folder.")
	f.Settle()
	for name, q := range map[string]struct {
		s    search.Query
		want []uuid.UUID
	}{
		"everywhere":       {search.Query{}, []uuid.UUID{a, b, c}},
		"a folder's tree":  {search.Query{Folder: "Top"}, []uuid.UUID{a, b}},
		"a subfolder":      {search.Query{Folder: " Top / Sub/ "}, []uuid.UUID{b}},
		"a trailing slash": {search.Query{Folder: "Top/Süd/"}, nil},
		"no such folder":   {search.Query{Folder: "Nowhere"}, nil},
		"all tags":         {search.Query{Tags: []string{"red", "round"}}, []uuid.UUID{a}},
		"any tag":          {search.Query{Tags: []string{"red", "round"}, AnyTag: true}, []uuid.UUID{a, b, c}},
		"a document":       {search.Query{Document: c}, []uuid.UUID{c}},
		"one in a folder":  {search.Query{Document: b, Folder: "Top"}, []uuid.UUID{b}},
		"one elsewhere":    {search.Query{Document: c, Folder: "Top"}, nil},
		"no document":      {search.Query{Document: uuid.New()}, nil},
	} {
		q.s.Query = "zebra"
		sources, err := f.search.Search(t.Context(), alice, q.s)
		if err != nil {
			t.Fatal(err)
		}
		got := found(sources)
		for _, id := range q.want {
			if !slices.Contains(got, id) {
				t.Errorf("%s: got no passage of %v", name, id)
			}
		}
		if len(got) != len(q.want) {
			t.Errorf("%s: got %d documents, want %d", name, len(got), len(q.want))
		}
	}
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "zebra", Limit: 2}); err != nil || len(s) != 2 {
		t.Errorf("Search with limit 2: got %d passages (%v)", len(s), err)
	}
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "  "}); err != nil || len(s) != 0 {
		t.Errorf("Search of a blank query: got %d passages (%v), want none", len(s), err)
	}
}

func TestSearchLimit(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	var last uuid.UUID
	for i := range 60 {
		last = f.AddDocument(top, fmt.Sprintf("%d.md", i), nil, fmt.Sprintf("Lighthouse number %d stands by the sea.", i))
	}
	f.Settle()
	for limit, want := range map[int]int{0: 10, 1: 1, 50: 50, search.MaxLimit: 60} {
		s, err := f.search.Search(t.Context(), alice, search.Query{Query: "lighthouse", Limit: limit})
		if err != nil || len(s) != want {
			t.Errorf("Search with limit %d: got %d passages (%v), want %d", limit, len(s), err, want)
		}
	}
	f.finds(alice, search.Query{Query: "lighthouse", Document: last}, last)
	f.finds(bob, search.Query{Query: "lighthouse", Document: last})
}

func TestSearchAfterRevision(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	id := f.AddDocument(top, "a.md", nil, "The old text speaks of okapis.")
	f.Settle()
	stream := events.TextStream(id, 1)
	f.Append(stream, events.SectionExtracted{Text: "The new text speaks of gnus."})
	f.Append(events.DocumentStream(id), events.DocumentRevised{Version: 2, Content: events.Content{
		SHA256: strings.Repeat("0b", 32), MediaType: "text/markdown", Title: "New", TextStream: stream, Sections: 1,
	}})
	f.Settle()
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "okapis"}); err != nil || len(s) != 0 {
		t.Errorf("Search of the old text = %v, %v, want nothing", s, err)
	}
	s, err := f.search.Search(t.Context(), alice, search.Query{Query: "gnus"})
	if err != nil || len(s) != 1 || s[0].Title != "New" {
		t.Errorf("Search of the new text = %v, %v, want one passage", s, err)
	}
	f.Append(events.DocumentStream(id), events.DocumentDeleted{Version: 3})
	f.Settle()
	if s, err := f.search.Search(t.Context(), alice, search.Query{Query: "gnus"}); err != nil || len(s) != 0 {
		t.Errorf("Search of the deleted text = %v, %v, want nothing", s, err)
	}
	if n, err := f.Models.Search.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("Count = %d, %v after the deletion, want 0", n, err)
	}
}

func TestSourcePagesFollowPageBreaks(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	var text strings.Builder
	var breaks []int
	for page := range 6 {
		if page > 0 {
			breaks = append(breaks, text.Len())
		}
		for i := range 40 {
			fmt.Fprintf(&text, "Sentence %d of page word%dpage stands here quietly. ", i, page+3)
		}
	}
	id := f.Import(events.DocumentImported{Folder: top, Name: "a.pdf", Content: events.Content{MediaType: "application/pdf", Title: "A", Pages: 8}},
		events.SectionExtracted{Title: "Long", Level: 1, StartPage: 3, EndPage: 8, PageBreaks: breaks, Text: text.String()})
	f.Settle()
	for page := 3; page <= 8; page++ {
		word := fmt.Sprintf("word%dpage", page)
		s, err := f.search.Search(t.Context(), alice, search.Query{Query: word})
		if err != nil || len(s) == 0 {
			t.Fatalf("Search(%s) = %v, %v", word, s, err)
		}
		for _, one := range s {
			if one.StartPage > page || one.EndPage < page || one.EndPage-one.StartPage > 1 {
				t.Errorf("Search(%s): got pages %d-%d", word, one.StartPage, one.EndPage)
			}
			if want := fmt.Sprintf("/documents/%s.pdf#page=%d", id, page); one.DeepLink != want {
				t.Errorf("Search(%s): got deep link %s, want %s", word, one.DeepLink, want)
			}
		}
	}
}

// The link of a passage over several pages leads to the page where the query matches best: the
// first one if they match alike. Empty pages and the heading do not count.
func TestDeepLinkLeadsToMatch(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	pages := []string{"The walrus sleeps on the ice. ", "", "The zebra eats in the savanna. ", "The walrus and the zebra never meet, says the keeper."}
	var breaks []int
	for i := range pages[1:] {
		breaks = append(breaks, len(strings.Join(pages[:i+1], "")))
	}
	id := f.Import(events.DocumentImported{Folder: top, Name: "a.pdf", Content: events.Content{MediaType: "application/pdf", Title: "A", Pages: 9}},
		events.SectionExtracted{Title: "Animals", Path: []string{"Animals"}, Level: 1, StartPage: 5, EndPage: 8, PageBreaks: breaks, Text: strings.Join(pages, "")})
	f.Settle()
	for query, page := range map[string]int{"walrus": 5, "walrus sleeps": 5, "zebra savanna": 7, "walrus and zebra": 8, "the keeper": 8, "animals": 5} {
		for _, question := range []bool{false, true} {
			s, err := f.search.Search(t.Context(), alice, search.Query{Query: query})
			if question {
				var a search.Answer
				a, err = f.search.Ask(t.Context(), alice, search.Question{Search: search.Query{Query: query}})
				s = a.Sources
			}
			if err != nil || len(s) != 1 && !question {
				t.Fatalf("%s: %v, %v", query, s, err)
			}
			for _, one := range s {
				if want := fmt.Sprintf("/documents/%s.pdf#page=%d", id, page); one.DeepLink != want || one.StartPage != 5 || one.EndPage != 8 {
					t.Errorf("%s: got deep link %s of pages %d-%d, want %s", query, one.DeepLink, one.StartPage, one.EndPage, want)
				}
			}
		}
	}
}

func TestPassagesHaveNoPageMarks(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	text := "The walrus is on page three.\nThe zebra, <!-- page 99 -->, is on page four."
	f.Import(events.DocumentImported{Folder: top, Name: "animals.pdf", Content: events.Content{
		MediaType: "application/pdf", Title: "Animals <!-- page 97 -->", Pages: 6,
	}},
		events.SectionExtracted{Title: "One", Level: 1, StartPage: 3, EndPage: 4, PageBreaks: []int{strings.Index(text, "The zebra")}, Text: text},
		events.SectionExtracted{Title: "Two <!-- page 98 -->", Level: 2, StartPage: 4, EndPage: 6, PageBreaks: []int{0, 0}, Text: "The gnu is on page six."})
	f.Settle()
	for _, word := range []string{"walrus", "zebra", "gnu"} {
		found, err := f.search.Search(t.Context(), alice, search.Query{Query: word})
		if err != nil || len(found) != 1 {
			t.Fatalf("Search(%s) = %+v, %v", word, found, err)
		}
		for _, mark := range []string{"page 3 -->", "page 4 -->", "page 6 -->", "&lt;"} {
			if strings.Contains(found[0].Text, mark) {
				t.Errorf("Search(%s) returns a page mark: %q", word, found[0].Text)
			}
		}
	}
	if found, err := f.search.Search(t.Context(), alice, search.Query{Query: "-->"}); err != nil && !fault.Is(err, fault.Invalid) || len(found) > 1 {
		t.Errorf("Search(-->) = %+v, %v", found, err)
	}
}

// A source names the creator of its folder, or else the owners of the nearest folder
// above. Users who were granted ownership do not count: any owner can grant it to anybody.
func TestSourcesNameFolderAndOwner(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sub := f.AddFolder(top, "Sub", "")
	f.Share(sub, "user:bob", "own")
	moved := f.AddFolder(uuid.Nil, "Moved", "user:eve")
	f.Append(events.Folders, events.FolderMoved{Folder: moved, Parent: sub})
	twice := f.AddFolder(uuid.Nil, "Twice", "user:zoe")
	f.Append(events.Folders, events.FolderMoved{Folder: twice, Parent: uuid.Nil, Owner: "user:carl"})
	f.Share(twice, "user:alice", "read")
	inbox := f.AddFolder(uuid.Nil, "Inbox", "")
	f.Share(inbox, "user:alice", "read")
	for folder, word := range map[uuid.UUID]string{top: "zebra", sub: "lion", moved: "tiger", twice: "bear", inbox: "wolf"} {
		f.AddDocument(folder, word+".md", nil, "The "+word+" was seen in 1759 by John Smeaton.")
	}
	f.Settle()
	for word, want := range map[string][3]string{
		"zebra": {"Top", "user:alice", " in folder “Top” of alice"},
		"lion":  {"Top/Sub", "user:alice", " in folder “Top/Sub” of alice"},
		"tiger": {"Top/Sub/Moved", "user:eve", " in folder “Top/Sub/Moved” of eve"},
		"bear":  {"Twice", "user:carl, user:zoe", " in folder “Twice” of carl and zoe"},
		"wolf":  {"Inbox", "", " in folder “Inbox”"},
	} {
		found, err := f.search.Search(t.Context(), alice, search.Query{Query: word})
		if err != nil || len(found) != 1 || found[0].Folder != want[0] || found[0].Owner != want[1] {
			t.Errorf("Search(%s) = %+v, %v, want it in %s of %s", word, found, err, want[0], want[1])
		}
		a, err := f.search.Ask(t.Context(), alice, search.Question{Search: search.Query{Query: "Who saw the " + word + "?"}})
		if err != nil || !strings.Contains(a.Reasoning, want[2]) {
			t.Errorf("Ask(%s) = %+v, %v, want%s in the reasoning", word, a, err, want[2])
		}
	}
}
