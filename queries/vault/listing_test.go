package vault_test

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// pages lists documents page by page, and calls see with each cursor.
func (f *fixture) pages(user events.User, filter vault.DocumentFilter, see func(string)) (names []string) {
	f.t.Helper()
	for {
		docs, next, err := f.vault.Documents(f.t.Context(), user, filter)
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range docs {
			names = append(names, d.Name)
		}
		if see(next); next == "" {
			return names
		}
		filter.Cursor = next
	}
}

func TestListingsShowReadableOnly(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	mid := f.AddFolder(top, "Mid", "")
	low := f.AddFolder(mid, "Low", "")
	f.Share(mid, "user:bob", "read")
	doc := f.AddDocument(low, "B.md", []string{"t1"}, "Text.")
	f.AddDocument(top, "a.md", []string{"t2"}, "Text.")
	f.Settle()

	folders, err := f.vault.Folders(t.Context(), bob, nil)
	if err != nil || len(folders) != 1 || folders[0].ID != mid || folders[0].Parent != uuid.Nil {
		t.Errorf("Folders(bob) = %v, %v, want Mid without its parent", folders, err)
	}
	if _, err := f.vault.Folders(t.Context(), bob, &top); !fault.Is(err, fault.NotFound) {
		t.Errorf("Folders(bob) below an unreadable one: %v, want fault.NotFound", err)
	}
	detail, err := f.vault.FolderDetail(t.Context(), bob, low)
	if err != nil || len(detail.Ancestors) != 1 || detail.Ancestors[0].ID != mid || !detail.DocFolder {
		t.Errorf("FolderDetail(bob) = %+v, %v, want Mid as its only ancestor", detail, err)
	}
	if tags, err := f.vault.VisibleTags(t.Context(), bob); err != nil || !slices.Equal(tags, []string{"t1"}) {
		t.Errorf("VisibleTags(bob) = %v, %v, want t1", tags, err)
	}
	docs, _, err := f.vault.Documents(t.Context(), bob, vault.DocumentFilter{Tag: "t2"})
	if err != nil || len(docs) != 0 {
		t.Errorf("Documents(bob) by the tag of an unreadable document = %v, %v, want none", docs, err)
	}
	if batch, err := f.vault.DocumentBatch(t.Context(), eve, []uuid.UUID{doc}); err != nil || len(batch) != 0 {
		t.Errorf("DocumentBatch(eve) = %v, %v, want none", batch, err)
	}
	if _, err := f.vault.Document(t.Context(), eve, doc); !fault.Is(err, fault.NotFound) {
		t.Errorf("Document(eve): %v, want fault.NotFound", err)
	}
	got, err := f.vault.Document(t.Context(), bob, doc)
	if err != nil || got.Content == nil || *got.Content != "---\ntype: document\ntitle: \"Title of B.md\"\n---\n\n# Section 1\n\nText." {
		t.Errorf("Document(bob) = %+v, %v", got, err)
	}
	f.Append(events.Folders, events.FolderDeleted{Folder: mid})
	f.Settle()
	if _, err := f.vault.Document(t.Context(), admin, doc); !fault.Is(err, fault.NotFound) {
		t.Errorf("Document below a deleted folder: %v, want fault.NotFound", err)
	}
}

func TestDocumentPagesListEachOnce(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("%c%02d.md", "aB"[i%2], i/3)
		f.AddDocument(top, name, nil, "Text.")
		want = append(want, strings.ToLower(name))
	}
	f.Settle()
	slices.Sort(want)
	for _, limit := range []int{1, 4, 25, 100} {
		var got []string
		seen := make(map[uuid.UUID]bool)
		for cursor := ""; ; {
			docs, next, err := f.vault.Documents(t.Context(), alice, vault.DocumentFilter{Folder: &top, Limit: limit, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				if seen[d.ID] {
					t.Fatalf("limit %d: %s is listed twice", limit, d.Name)
				}
				seen[d.ID] = true
				got = append(got, strings.ToLower(d.Name))
			}
			if cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: got %v, want %v", limit, got, want)
		}
	}
	for _, cursor := range []string{"%", "YQ"} {
		for _, filter := range []vault.DocumentFilter{{Folder: &top, Cursor: cursor}, {Tag: "x", Cursor: cursor}} {
			if _, _, err := f.vault.Documents(t.Context(), alice, filter); !fault.Is(err, fault.Invalid) {
				t.Errorf("Documents(%+v): %v, want fault.Invalid", filter, err)
			}
		}
	}
}

func TestDocumentCursorHidesUnreadable(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	open := f.AddFolder(top, "Open", "")
	f.Share(open, "user:bob", "read")
	readable := make(map[string]bool)
	var want []string
	for i := range 30 {
		folder, name := top, fmt.Sprintf("%02d secret.md", i)
		if i%3 == 0 {
			folder, name = open, fmt.Sprintf("%02d open.md", i)
			want = append(want, name)
		}
		id := f.AddDocument(folder, name, []string{"x"}, "Text.")
		if folder == open {
			readable[id.String()] = true
		}
	}
	f.Settle()
	for _, limit := range []int{1, 3, 10} {
		got := f.pages(bob, vault.DocumentFilter{Tag: "x", Limit: limit}, func(next string) {
			if next == "" {
				return
			}
			b, err := base64.RawURLEncoding.DecodeString(next)
			if err != nil || len(b) < 36 || !readable[string(b[:36])] || !slices.Contains(want, string(b[36:])) {
				t.Errorf("limit %d: got a cursor of bob with %q (%v), want only names that he may read", limit, b, err)
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("Documents(bob) with limit %d: got %v, want %v", limit, got, want)
		}
	}
}

// Documents with a rare tag and documents with a common one are found by different
// queries. Both queries return all documents with the tag.
func TestListingByRareAndCommonTags(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	open := f.AddFolder(top, "Open", "")
	f.Share(open, "user:bob", "read")
	const common = 2010 // more than fewTagged
	for i := range common {
		folder, tags := top, []string{"common"}
		if i%100 == 0 {
			folder, tags = open, append(tags, "rare")
		}
		f.Append(events.DocumentStream(uuid.New()), events.DocumentImported{Version: 1, Folder: folder, Name: fmt.Sprintf("%d.pdf", 5000-i), Tags: tags,
			Content: events.Content{MediaType: "application/pdf"}})
	}
	f.Await(f.Models.Vault)
	for _, limit := range []int{0, 4} {
		rare := f.pages(bob, vault.DocumentFilter{Tag: "rare", Limit: limit}, func(string) {})
		common := f.pages(bob, vault.DocumentFilter{Tag: "common", Limit: limit}, func(string) {})
		within := f.pages(bob, vault.DocumentFilter{Tag: "rare", Folder: &open, Limit: limit}, func(string) {})
		if len(rare) != 21 || !slices.Equal(rare, common) || !slices.Equal(rare, within) || !slices.IsSorted(rare) {
			t.Errorf("limit %d: got %v by the rare tag, %v by the common one, %v in the folder", limit, rare, common, within)
		}
	}
}

func TestVisibleTagsAreSorted(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.AddDocument(top, "a.md", []string{"z", "b", "Übung"}, "Text.")
	f.AddDocument(f.AddFolder(top, "A", ""), "b.md", []string{"m", "b", "a"}, "Text.")
	f.Settle()
	for _, user := range []events.User{alice, admin} {
		tags, err := f.vault.VisibleTags(t.Context(), user)
		if want := []string{"a", "b", "m", "z", "Übung"}; err != nil || !slices.Equal(tags, want) {
			t.Errorf("VisibleTags(%s) = %v, %v, want %v", user.Principal, tags, err, want)
		}
	}
}

func TestDeletedFolderHidesGrantsBelow(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	gone := f.AddFolder(top, "Gone", "")
	low := f.AddFolder(gone, "Low", "")
	f.Share(low, "user:bob", "read")
	f.AddDocument(low, "a.md", []string{"t"}, "Text.")
	f.Settle()
	check := func(user events.User, want bool) {
		t.Helper()
		tags, err := f.vault.VisibleTags(t.Context(), user)
		if err != nil || (len(tags) == 1) != want {
			t.Errorf("VisibleTags(%s) = %v, %v", user.Principal, tags, err)
		}
		docs, _, err := f.vault.Documents(t.Context(), user, vault.DocumentFilter{Tag: "t"})
		if err != nil || (len(docs) == 1) != want || want && docs[0].FolderPath != "Top/Gone/Low" {
			t.Errorf("Documents(%s) = %v, %v", user.Principal, docs, err)
		}
		_, found, err := f.vault.DuplicateOf(t.Context(), user, uuid.Nil, "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a")
		if err != nil || found != want {
			t.Errorf("DuplicateOf(%s): found is %v, %v", user.Principal, found, err)
		}
	}
	for _, user := range []events.User{alice, bob, admin} {
		check(user, true)
	}
	check(eve, false)
	f.Append(events.Folders, events.FolderDeleted{Folder: gone})
	f.Settle()
	for _, user := range []events.User{alice, bob, admin} {
		check(user, false)
	}
}

// Pages in each order have every document once, in that order, and those of a name only what contains it.
func TestSortedPages(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	other := f.AddFolder(uuid.Nil, "Other", "user:alice")
	f.Share(top, "user:bob", "read")
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		name := fmt.Sprintf("%c%d%%_~.md", "aBc"[i%3], rng.IntN(1000))
		switch i % 4 {
		case 0:
			name = fmt.Sprintf("ÄRGER %d.md", i)
		case 1:
			name = fmt.Sprintf("a_b%d.md", i)
		}
		folder := top
		if i%5 == 0 {
			folder = other
		}
		id := uuid.New()
		f.Append(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: name, Tags: []string{"x"},
			Content: events.Content{SHA256: commonBytes, Size: []int64{0, 9, 10, 5_000_000_000}[rng.IntN(4)], MediaType: "text/plain"}})
		if i%3 == 0 {
			f.Append(events.DocumentStream(id), events.DocumentTagged{Version: 2, Tags: []string{"x", "y"}})
		}
	}
	f.Await(f.Models.Vault)
	orders := map[vault.Sort]func(a, b vault.Document) int{
		"": func(a, b vault.Document) int {
			return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		},
		vault.ByName: func(a, b vault.Document) int {
			return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		},
		vault.ByCreatedAt: func(a, b vault.Document) int { return a.CreatedAt.Compare(b.CreatedAt) },
		vault.ByUpdatedAt: func(a, b vault.Document) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
		vault.BySize:      func(a, b vault.Document) int { return cmp.Compare(a.Size, b.Size) },
	}
	all, _, err := f.vault.Documents(t.Context(), alice, vault.DocumentFilter{Tag: "x"})
	if err != nil || len(all) != 40 {
		t.Fatalf("%d documents, %v", len(all), err)
	}
	for _, in := range []struct {
		user    events.User
		folder  *uuid.UUID
		tag     string
		readers []uuid.UUID
	}{{alice, nil, "x", []uuid.UUID{top, other}}, {bob, nil, "x", []uuid.UUID{top}}, {alice, &top, "", []uuid.UUID{top}}, {alice, &other, "y", []uuid.UUID{other}}} {
		for sort, compare := range orders {
			for _, name := range []string{"", "a", "Ä", "%", "_", "~", "a_B", "ärger 1", "none"} {
				want := slices.DeleteFunc(slices.Clone(all), func(d vault.Document) bool {
					return !slices.Contains(in.readers, d.Folder) || in.tag == "y" && !slices.Contains(d.Tags, "y") || !strings.Contains(strings.ToLower(d.Name), strings.ToLower(name))
				})
				slices.SortFunc(want, func(a, b vault.Document) int {
					return cmp.Or(compare(a, b), strings.Compare(a.ID.String(), b.ID.String()))
				})
				for _, desc := range []bool{false, true} {
					for _, limit := range []int{0, 7} {
						filter := vault.DocumentFilter{Folder: in.folder, Tag: in.tag, Name: name, Sort: sort, Desc: desc, Limit: limit}
						got := f.pages(in.user, filter, func(string) {})
						if names := namesOf(want); !slices.Equal(got, names) {
							t.Errorf("%+v: got %q, want %q", filter, got, names)
						}
					}
					if n, err := f.vault.CountDocuments(t.Context(), in.user, vault.DocumentFilter{Folder: in.folder, Tag: in.tag, Name: name, Sort: sort, Desc: desc, Limit: 3}); err != nil || n != len(want) {
						t.Errorf("CountDocuments in %v with %q named %q = %d, %v, want %d", in.folder, in.tag, name, n, err, len(want))
					}
					slices.Reverse(want)
				}
			}
		}
	}
	_, next, err := f.vault.Documents(t.Context(), alice, vault.DocumentFilter{Folder: &top, Limit: 1})
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	if _, _, err := f.vault.Documents(t.Context(), alice, vault.DocumentFilter{Folder: &top, Sort: vault.BySize, Limit: 1, Cursor: next}); !fault.Is(err, fault.Invalid) {
		t.Errorf("Documents by size with a cursor by name: %v, want fault.Invalid", err)
	}
}

func namesOf(docs []vault.Document) (names []string) {
	for _, d := range docs {
		names = append(names, d.Name)
	}
	return names
}
