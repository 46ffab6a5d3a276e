package queries_test

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

// A question about one document is answered from what it says, to those who
// may read it.
func TestAskIsScopedToADocument(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	north := f.document(top, "north.md", nil, "The lighthouse in the north was finished in 1759 by John Smeaton.")
	south := f.document(top, "south.md", nil, "The lighthouse in the south was finished in 1811 by Robert Stevenson.")
	f.settle()
	for id, want := range map[uuid.UUID]string{north: "Smeaton", south: "Stevenson"} {
		q := search.Query{Query: "Who finished the lighthouse?", Document: id}
		if a, err := f.Ask(t.Context(), alice, q); err != nil || !strings.Contains(a.Text, want) {
			t.Errorf("Ask(alice, %s) = %+v, %v, want %s", id, a, err, want)
		} else if len(a.Sources) != 1 || a.Sources[0].Document != id || !strings.Contains(a.Sources[0].Text, want) || a.Sources[0].DeepLink == "" {
			t.Errorf("the answer of %s rests on %+v", id, a.Sources)
		}
		if a, err := f.Ask(t.Context(), bob, q); err != nil || a.Confidence >= 0.3 || strings.Contains(a.Text, want) || len(a.Sources) > 0 {
			t.Errorf("Ask(bob, %s) = %+v, %v", id, a, err)
		}
	}
}

// A search returns as many passages as it is asked for, of one document too.
func TestSearchDocumentAndLimit(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	var last uuid.UUID
	for i := range 60 {
		last = f.document(top, fmt.Sprintf("%d.md", i), nil, fmt.Sprintf("Lighthouse number %d stands by the sea.", i))
	}
	f.settle()
	for limit, want := range map[int]int{0: 10, 1: 1, 50: 50, search.MaxLimit: 60} {
		s, err := f.Search(t.Context(), alice, search.Query{Query: "lighthouse", Limit: limit})
		if err != nil || len(s) != want {
			t.Errorf("%d passages (%v) where %d are asked for, want %d", len(s), err, limit, want)
		}
	}
	f.finds(alice, search.Query{Query: "lighthouse", Document: last}, last)
	f.finds(bob, search.Query{Query: "lighthouse", Document: last})
}

// The paths of folders and the access to them are returned to users who may read them.
func TestFolderPathsAndAccess(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	sub := f.folder(top, "Sub", "")
	low := f.folder(sub, "Low", "")
	gone := f.folder(uuid.Nil, "Gone", "user:alice")
	f.add(events.Folders, events.FolderShared{Folder: sub, Permissions: []events.Permission{{Principal: "user:bob", Access: "write"}}}, events.FolderDeleted{Folder: gone})
	f.settle()
	for _, c := range []struct {
		user  events.User
		paths []string
		can   []events.Access // in top, sub, low and gone
	}{
		{alice, []string{"Top", "Top/Sub", "Top/Sub/Low"}, []events.Access{events.Own, events.Own, events.Own, 0}},
		{bob, []string{"Top/Sub", "Top/Sub/Low"}, []events.Access{0, events.Write, events.Write, 0}},
		{admin, []string{"Top", "Top/Sub", "Top/Sub/Low"}, []events.Access{events.Own, events.Own, events.Own, 0}},
		{events.User{Principal: "user:nobody"}, nil, make([]events.Access, 4)},
	} {
		if got, err := f.FolderPaths(t.Context(), c.user); err != nil || !slices.Equal(got, c.paths) {
			t.Errorf("FolderPaths(%s) = %q, %v, want %q", c.user.Principal, got, err, c.paths)
		}
		for i, folder := range []uuid.UUID{top, sub, low, gone} {
			got, err := f.Access(t.Context(), c.user, folder)
			if got != c.can[i] || (got == 0) != fault.Is(err, fault.NotFound) {
				t.Errorf("Access(%s, %d) = %v, %v, want %v", c.user.Principal, i, got, err, c.can[i])
			}
		}
	}
}

// However long the parts are, together they are the whole text.
func TestMarkdownPagesAreTheWholeText(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, "Line %d is übrigens short.\n", i)
	}
	id := f.document(top, "a.md", nil, lines.String(), strings.Repeat("ü", 500), "The end.")
	f.settle()
	write, err := f.Markdown(t.Context(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	var whole strings.Builder
	if err := write(&whole); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{2, 3, 40, 41, 333, whole.Len() - 1, whole.Len(), whole.Len() + 1} {
		var got strings.Builder
		for from := int64(0); ; {
			p, err := f.MarkdownPage(t.Context(), alice, id, from, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Text) > most || p.Document.ID != id {
				t.Fatalf("MarkdownPage(%d, %d) has %d bytes of %s", from, most, len(p.Text), p.Document.ID)
			}
			got.WriteString(p.Text)
			if from = p.Next; from == 0 {
				break
			}
		}
		if got.String() != whole.String() {
			t.Errorf("parts of %d bytes are not the whole text", most)
		}
	}
	if p, err := f.MarkdownPage(t.Context(), alice, id, 1<<40, 10); err != nil || p.Text != "" || p.Next != 0 {
		t.Errorf("behind the end: %+v, %v", p, err)
	}
	if _, err := f.MarkdownPage(t.Context(), bob, id, 0, 10); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob reads it: %v", err)
	}
}
