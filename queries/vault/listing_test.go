package vault_test

import (
	"encoding/base64"
	"fmt"
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
