package foldertree_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"annals/commands/foldertree"
	"annals/commands/quota"
	"annals/events"

	"github.com/google/uuid"
)

// The tree's counts of folders and shares equal the numbers of folders and shares in the
// tree.
func TestCountsMatchTree(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		tr := foldertree.New(foldertree.Rules{})
		var ids []uuid.UUID
		user := func() events.Principal { return events.Principal(fmt.Sprint("user:", r.IntN(3))) }
		at := events.Position(0)
		apply := func(d events.Data) {
			at++
			tr.Apply(events.Event{Stream: events.Folders, Position: at, Data: d, Metadata: events.Metadata{Actor: user()}})
		}
		live := func() uuid.UUID {
			for range 20 {
				if len(ids) == 0 {
					break
				}
				if id := ids[r.IntN(len(ids))]; len(tr.Path(id)) > 0 {
					return id
				}
			}
			return uuid.Nil
		}
		for range 200 {
			folder := live()
			switch n := r.IntN(10); {
			case n < 5 || folder == uuid.Nil:
				id := uuid.New()
				ids = append(ids, id)
				apply(events.FolderCreated{Folder: id, Parent: folder, Name: id.String()})
			case n < 6:
				if to := live(); !tr.Within(to, folder) {
					apply(events.FolderMoved{Folder: folder, Parent: to})
				}
			case n < 9:
				var list []events.Permission
				for i := range r.IntN(4) {
					list = append(list, events.Permission{Principal: events.Principal(fmt.Sprint("group:", i)), Access: "read"})
				}
				shared := events.FolderShared{Folder: folder, Permissions: list}
				for i := range r.IntN(3) {
					shared.Invitations = append(shared.Invitations, events.Invitation{Principal: events.Principal(fmt.Sprint("user:", i)), Access: "read", By: "user:0"})
				}
				apply(shared)
				if len(shared.Invitations) > 0 && r.IntN(2) == 0 {
					apply(events.FolderInvitationAccepted{Folder: folder, Principal: "user:0", Access: "read", By: "user:0"})
					if r.IntN(2) == 0 {
						apply(events.FolderLeft{Folder: folder, Principal: "user:0"})
					}
				}
			default:
				apply(events.FolderDeleted{Folder: folder})
			}
		}
		if err := tr.Check(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// An upload to a shared folder counts in the top-level folder that contains it, even if the
// user sees a shorter path.
func TestTakesInSharedFolder(t *testing.T) {
	tr := fold([]events.Data{created(1, 0, "Alice", "user:alice"), created(2, 1, "X", ""), shared(2, "user:bob=write")})
	for _, test := range []struct {
		folder, rest string
		folders      int64
	}{{"X", "", 0}, {"X/sub", "sub", 1}, {"X/sub/more", "sub/more", 2}} {
		data := []events.Data{events.FileAccepted{Folder: test.folder, Under: id(2), Rest: test.rest, Size: 7}}
		if err := tr.Accept(bob, data); err != nil {
			t.Fatal(err)
		}
		takes, parts, err := tr.Takes(data, nil)
		want := []quota.Part{{Space: quota.Space{Folder: id(1), Name: "Alice"}, Takes: quota.Limits{quota.Bytes: 7, quota.Documents: 1}}}
		if err != nil || !slices.Equal(parts, want) || takes[quota.Folders] != test.folders {
			t.Errorf("Takes of an upload to %s = %v and %d folders (%v), want %v and %d", test.folder, parts, takes[quota.Folders], err, want, test.folders)
		}
	}
}
