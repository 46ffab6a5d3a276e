package vault_test

import (
	"slices"
	"testing"

	"annals/events"

	"github.com/google/uuid"
)

func TestFolderAt(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Reports", "user:alice")
	year := f.AddFolder(top, "2024", "")
	f.Share(year, "group:staff", "own")
	f.Settle()
	for _, c := range []struct {
		user events.User
		path string
		want uuid.UUID
	}{
		{alice, "Reports", top}, {alice, "Reports/2024", year}, {admin, " /Reports/ 2024", year}, {alice, "2024", uuid.Nil}, {alice, "", uuid.Nil},
		{bob, "Reports/2024", year}, {bob, "Reports", uuid.Nil}, {bob, "2024", year}, {bob, "2024/Q1", uuid.Nil}, {eve, "Reports/2024", uuid.Nil}, {eve, "2024", uuid.Nil},
	} {
		got, found, err := f.vault.FolderAt(t.Context(), c.user, c.path)
		if err != nil || got.ID != c.want || found != (c.want != uuid.Nil) {
			t.Errorf("FolderAt(%s, %q) = %+v, %v, %v; want %s", c.user.Principal, c.path, got, found, err, c.want)
		}
		if c.user.Principal == bob.Principal && got.Parent != uuid.Nil {
			t.Errorf("FolderAt(bob): got parent %s, which he may not read", got.Parent)
		}
	}
	f.Append(events.Folders, events.FolderDeleted{Folder: top})
	f.Settle()
	if got, found, err := f.vault.FolderAt(t.Context(), admin, "Reports/2024"); err != nil || found {
		t.Errorf("FolderAt of a deleted folder = %+v, %v, %v", got, found, err)
	}
}

func TestFolderVersion(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sub := f.AddFolder(top, "Sub", "")
	version := func(id uuid.UUID) int64 {
		t.Helper()
		f.Await(f.Models.Vault)
		folder, err := f.vault.Folder(t.Context(), alice, id)
		if err != nil {
			t.Fatal(err)
		}
		return folder.Version
	}
	if got := version(top); got != 1 {
		t.Errorf("new folder: got version %d, want 1", got)
	}
	for i, change := range []events.Data{
		events.FolderRenamed{Folder: sub, Name: "New"}, events.FolderMoved{Folder: sub, Parent: uuid.Nil, Owner: "user:alice"},
		events.FolderShared{Folder: sub}, events.FolderMoved{Folder: sub, Parent: top},
	} {
		f.Append(events.Folders, change)
		if got, want := version(sub), int64(i)+2; got != want {
			t.Errorf("after %T: got version %d, want %d", change, got, want)
		}
	}
	f.AddDocument(sub, "a.md", nil, "Text.")
	if got := version(top); got != 1 {
		t.Errorf("unchanged folder: got version %d, want 1", got)
	}
}

func TestHoldsDocuments(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sub := f.AddFolder(top, "Sub", "")
	holds := func(want bool) {
		t.Helper()
		if got, err := f.vault.HoldsDocuments(t.Context(), sub, f.At); err != nil || got != want {
			t.Errorf("HoldsDocuments = %v, %v, want %v", got, err, want)
		}
	}
	holds(false)
	id := f.AddDocument(sub, "a.md", nil, "Text.")
	holds(true)
	if got, err := f.vault.HoldsDocuments(t.Context(), top, f.At); err != nil || got {
		t.Errorf("HoldsDocuments of the parent = %v, %v, want false", got, err)
	}
	f.Append(events.DocumentStream(id), events.DocumentMoved{Version: 2, Folder: top})
	holds(false)
}

func TestFoldersAreSortedInAnyScript(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	want := []string{"apfel", "Birne", "äpfel", "Übung", "жук", "Яма"}
	for _, i := range []int{5, 3, 1, 4, 0, 2} {
		f.AddFolder(top, want[i], "")
	}
	renamed := f.AddFolder(top, "Zuletzt", "")
	f.Append(events.Folders, events.FolderRenamed{Folder: renamed, Name: "ÄRA"})
	want = slices.Insert(want, 3, "ÄRA")
	f.Settle()
	folders, err := f.vault.Folders(t.Context(), alice, &top)
	var got []string
	for _, one := range folders {
		got = append(got, one.Name)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Folders: got %v (%v), want %v", got, err, want)
	}
}
