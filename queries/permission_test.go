package queries_test

import (
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

func TestPermissionsNeedOwnership(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	sub := f.folder(top, "Sub", "")
	list := []events.Permission{{Principal: "group:staff", Access: "write"}, {Principal: "user:alice", Access: "read"}, {Principal: "user:carol", Access: "own"}}
	f.add(events.Folders, events.FolderShared{Folder: top, Permissions: list})
	f.settle()
	for _, user := range []events.User{alice, admin, {Principal: "user:carol"}} {
		p, err := f.Permissions(t.Context(), user, top)
		if err != nil || !slices.Equal(p.Owners, []events.Principal{"user:alice"}) || !slices.Equal(p.List, list) || p.Version != 2 {
			t.Errorf("%s gets %+v (%v)", user.Principal, p, err)
		}
		p, err = f.Permissions(t.Context(), user, sub)
		if err != nil || len(p.Owners) != 0 || len(p.List) != 0 || p.Version != 1 {
			t.Errorf("of the folder below it %s gets %+v (%v)", user.Principal, p, err)
		}
	}
	if p, err := f.Permissions(t.Context(), bob, top); !fault.Is(err, fault.Forbidden) {
		t.Errorf("bob, who may write, gets %+v (%v)", p, err)
	}
	for _, id := range []uuid.UUID{top, sub, uuid.New()} {
		if p, err := f.Permissions(t.Context(), eve, id); !fault.Is(err, fault.NotFound) {
			t.Errorf("eve gets %+v (%v)", p, err)
		}
	}
	f.add(events.Folders, events.FolderDeleted{Folder: sub})
	f.settle()
	if _, err := f.Permissions(t.Context(), admin, sub); !fault.Is(err, fault.NotFound) {
		t.Errorf("permissions of a deleted folder: %v", err)
	}
}

func TestPermissionsVersion(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	const changes = 300
	f.settle()
	ended := make(chan error, 1)
	go func() {
		for {
			p, err := f.Permissions(t.Context(), alice, top)
			if err == nil && p.Version > 1 && (len(p.List) != 1 || p.List[0].Principal != events.Principal(fmt.Sprint("user:", p.Version))) {
				err = fmt.Errorf("version %d has the list %v", p.Version, p.List)
			}
			if err != nil || p.Version == changes+1 {
				ended <- err
				return
			}
		}
	}()
	for version := range changes {
		f.share(top, events.Principal(fmt.Sprint("user:", version+2)), "read")
		if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFolderVersion(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	sub := f.folder(top, "Sub", "")
	version := func(id uuid.UUID) int64 {
		t.Helper()
		if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
			t.Fatal(err)
		}
		folder, err := f.Folder(t.Context(), alice, id)
		if err != nil {
			t.Fatal(err)
		}
		return folder.Version
	}
	if got := version(top); got != 1 {
		t.Errorf("version %d of a new folder, want 1", got)
	}
	for i, change := range []events.Data{
		events.FolderRenamed{Folder: sub, Name: "New"}, events.FolderMoved{Folder: sub, Parent: uuid.Nil, Owner: "user:alice"},
		events.FolderShared{Folder: sub}, events.FolderMoved{Folder: sub, Parent: top},
	} {
		f.add(events.Folders, change)
		if got, want := version(sub), int64(i)+2; got != want {
			t.Errorf("after %T it is at version %d, want %d", change, got, want)
		}
	}
	f.document(sub, "a.md", nil, "Text.")
	if got := version(top); got != 1 {
		t.Errorf("a folder that was not changed is at version %d", got)
	}
}

func TestHoldsDocuments(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	sub := f.folder(top, "Sub", "")
	holds := func(want bool) {
		t.Helper()
		if got, err := f.HoldsDocuments(t.Context(), sub, f.at); err != nil || got != want {
			t.Errorf("the folder holds documents: %v (%v), want %v", got, err, want)
		}
	}
	holds(false)
	id := f.document(sub, "a.md", nil, "Text.")
	holds(true)
	if got, err := f.HoldsDocuments(t.Context(), top, f.at); err != nil || got {
		t.Errorf("the folder above holds documents: %v (%v)", got, err)
	}
	f.add(events.DocumentStream(id), events.DocumentMoved{Version: 2, Folder: top})
	holds(false)
}
