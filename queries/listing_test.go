package queries_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// pages reads a listing page by page; see is called with every cursor.
func (f *fixture) pages(user events.User, filter vault.DocumentFilter, see func(string)) (names []string) {
	f.t.Helper()
	for {
		docs, next, err := f.Documents(f.t.Context(), user, filter)
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

func TestDocumentCursorRevealsListedOnly(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	open := f.folder(top, "Open", "")
	f.share(open, "user:bob", "read")
	readable := make(map[string]bool)
	var want []string
	for i := range 30 {
		folder, name := top, fmt.Sprintf("%02d secret.md", i)
		if i%3 == 0 {
			folder, name = open, fmt.Sprintf("%02d open.md", i)
			want = append(want, name)
		}
		id := f.document(folder, name, []string{"x"}, "Text.")
		if folder == open {
			readable[id.String()] = true
		}
	}
	f.settle()
	for _, limit := range []int{1, 3, 10} {
		got := f.pages(bob, vault.DocumentFilter{Tag: "x", Limit: limit}, func(next string) {
			if next == "" {
				return
			}
			b, err := base64.RawURLEncoding.DecodeString(next)
			if err != nil || len(b) < 36 || !readable[string(b[:36])] || !slices.Contains(want, string(b[36:])) {
				t.Errorf("limit %d: a cursor shows bob %q (%v)", limit, b, err)
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: bob lists %v, want %v", limit, got, want)
		}
	}
}

// A tag that many documents have is looked for elsewhere than a rare one; the
// listing is the same.
func TestListingByRareAndCommonTags(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	open := f.folder(top, "Open", "")
	f.share(open, "user:bob", "read")
	const common = 2010 // more than are looked through one by one
	for i := range common {
		folder, tags := top, []string{"common"}
		if i%100 == 0 {
			folder, tags = open, append(tags, "rare")
		}
		f.add(events.DocumentStream(uuid.New()), events.DocumentImported{Version: 1, Folder: folder, Name: fmt.Sprintf("%d.pdf", 5000-i), Tags: tags,
			Content: events.Content{MediaType: "application/pdf"}})
	}
	if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{0, 4} {
		rare := f.pages(bob, vault.DocumentFilter{Tag: "rare", Limit: limit}, func(string) {})
		common := f.pages(bob, vault.DocumentFilter{Tag: "common", Limit: limit}, func(string) {})
		within := f.pages(bob, vault.DocumentFilter{Tag: "rare", Folder: &open, Limit: limit}, func(string) {})
		if len(rare) != 21 || !slices.Equal(rare, common) || !slices.Equal(rare, within) || !slices.IsSorted(rare) {
			t.Errorf("limit %d: by a rare tag %v, by a common one %v, in the folder %v", limit, rare, common, within)
		}
	}
}

func TestTagsAreInOrder(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.document(top, "a.md", []string{"z", "b", "Übung"}, "Text.")
	f.document(f.folder(top, "A", ""), "b.md", []string{"m", "b", "a"}, "Text.")
	f.settle()
	for _, user := range []events.User{alice, admin} {
		tags, err := f.VisibleTags(t.Context(), user)
		if want := []string{"a", "b", "m", "z", "Übung"}; err != nil || !slices.Equal(tags, want) {
			t.Errorf("%s sees the tags %v (%v), want %v", user.Principal, tags, err, want)
		}
	}
}

func TestGrantsBelowDeletedFolders(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	gone := f.folder(top, "Gone", "")
	low := f.folder(gone, "Low", "")
	f.share(low, "user:bob", "read")
	f.document(low, "a.md", []string{"t"}, "Text.")
	f.settle()
	check := func(user events.User, want bool) {
		t.Helper()
		tags, err := f.VisibleTags(t.Context(), user)
		if err != nil || (len(tags) == 1) != want {
			t.Errorf("%s sees the tags %v (%v)", user.Principal, tags, err)
		}
		docs, _, err := f.Documents(t.Context(), user, vault.DocumentFilter{Tag: "t"})
		if err != nil || (len(docs) == 1) != want || want && docs[0].FolderPath != "Top/Gone/Low" {
			t.Errorf("%s lists %v (%v)", user.Principal, docs, err)
		}
		_, found, err := f.DuplicateOf(t.Context(), user, uuid.Nil, "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a")
		if err != nil || found != want {
			t.Errorf("%s finds a duplicate: %v (%v)", user.Principal, found, err)
		}
	}
	for _, user := range []events.User{alice, bob, admin} {
		check(user, true)
	}
	check(eve, false)
	f.add(events.Folders, events.FolderDeleted{Folder: gone})
	f.settle()
	for _, user := range []events.User{alice, bob, admin} {
		check(user, false)
	}
}

func TestFoldersAreOrderedInAnyScript(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	want := []string{"apfel", "Birne", "äpfel", "Übung", "жук", "Яма"}
	for _, i := range []int{5, 3, 1, 4, 0, 2} {
		f.folder(top, want[i], "")
	}
	renamed := f.folder(top, "Zuletzt", "")
	f.add(events.Folders, events.FolderRenamed{Folder: renamed, Name: "ÄRA"})
	want = slices.Insert(want, 3, "ÄRA")
	f.settle()
	folders, err := f.Folders(t.Context(), alice, &top)
	var got []string
	for _, one := range folders {
		got = append(got, one.Name)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("folders %v (%v), want %v", got, err, want)
	}
}

func TestFolderPathIsNormalized(t *testing.T) {
	f := newFixture(t)
	f.folder(f.folder(uuid.Nil, "Top", "user:alice"), "Süd", "")
	f.add(events.JobStream(uuid.New()), events.FileAccepted{Name: "a.md", Folder: "Top/Süd"}, events.FileAccepted{File: 1, Name: "b.md", Folder: "New/One"},
		events.ImportRequested{Files: 2, User: "user:alice"})
	f.settle()
	for _, path := range []string{"Top/Süd", "Top/Süd/", "/Top//Süd", " Top / Su\u0308d ", "New/One", "New/One/", "//New/ One"} {
		s, err := f.FolderSummary(t.Context(), alice, path)
		if err != nil || s.Status != "unavailable" {
			t.Errorf("the summary of %q while a job works there: %+v (%v)", path, s, err)
		}
	}
	if s, err := f.Search(t.Context(), alice, search.Query{Query: "x", Folder: "Top/Süd/"}); err != nil || len(s) > 0 {
		t.Errorf("a search below a path with a slash behind it: %v (%v)", s, err)
	}
	for _, cursor := range []string{"%", "YQ"} {
		if _, _, err := f.Documents(t.Context(), alice, vault.DocumentFilter{Tag: "x", Cursor: cursor}); !fault.Is(err, fault.Invalid) {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}

func TestBusyFolderRenamedOrMoved(t *testing.T) {
	f := newFixture(t)
	top, other := f.folder(uuid.Nil, "Top", "user:alice"), f.folder(uuid.Nil, "Other", "user:alice")
	reports := f.folder(top, "Reports", "")
	f.share(other, "user:bob", "read")
	f.add(events.JobStream(uuid.New()),
		events.FileAccepted{Name: "a.md", Folder: "Top/Reports/2024/May", Under: reports, Rest: "2024/May"},
		events.FileAccepted{File: 1, Name: "b.md", Folder: "Top/Reports", Under: reports},
		events.ImportRequested{Files: 2, User: "user:alice"})
	year := f.folder(reports, "2024", "")
	f.add(events.Folders, events.FolderRenamed{Folder: reports, Name: "Papers"}, events.FolderMoved{Folder: reports, Parent: other}, events.FolderRenamed{Folder: top, Name: "Old"})
	busy := func(user events.User, path string, want bool) {
		t.Helper()
		f.settle()
		s, err := f.FolderSummary(t.Context(), user, path)
		if err != nil || (s.Status == "unavailable") != want {
			t.Errorf("the summary of %q for %s: %+v (%v), want it unavailable: %v", path, user.Principal, s, err, want)
		}
	}
	for path, want := range map[string]bool{
		"Other/Papers": true, "Other/Papers/2024/May": true, "Other/Papers/2024": false, "Other": false,
		"Top/Reports": false, "Top/Reports/2024/May": false, "Old/Papers": false,
	} {
		busy(alice, path, want)
	}
	busy(bob, "Other/Papers", true)
	busy(bob, "Other/Papers/2024/May", false) // it is yet to be made, by another
	f.folder(year, "May", "")
	busy(bob, "Other/Papers/2024/May", true)
	busy(alice, "Other/Papers/2024/May", true)
	busy(eve, "Other/Papers", false)
}
