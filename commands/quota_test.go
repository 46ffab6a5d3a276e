package commands

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// The counts by which folders and shares are limited are those of what is there.
func TestCountsOfTheTree(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		tr := newTree()
		var ids []uuid.UUID
		user := func() events.Principal { return events.Principal(fmt.Sprint("user:", r.IntN(3))) }
		at := events.Position(0)
		apply := func(d events.Data) {
			at++
			tr.apply(events.Event{Stream: events.Folders, Position: at, Data: d, Metadata: events.Metadata{Actor: user()}})
		}
		live := func() uuid.UUID {
			for range 20 {
				if len(ids) == 0 {
					break
				}
				if id := ids[r.IntN(len(ids))]; len(tr.path(id)) > 0 {
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
				if to := live(); !tr.within(to, folder) {
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
		made, shared := map[events.Principal]int64{}, map[events.Principal]int64{}
		for id, f := range tr.folders {
			if len(tr.path(id)) == 0 {
				continue
			}
			made[f.maker]++
			if len(f.sharers) != len(f.permissions)+len(f.invited) {
				t.Errorf("seed %d: %d entries have %d makers", seed, len(f.permissions)+len(f.invited), len(f.sharers))
			}
			for _, by := range f.sharers {
				shared[by]++
			}
		}
		for i := range 3 {
			p := events.Principal(fmt.Sprint("user:", i))
			if tr.counts.folders[p] != made[p] || tr.counts.shares[p] != shared[p] {
				t.Errorf("seed %d: %s is counted with %d folders and %d entries, and made %d and %d", seed, p, tr.counts.folders[p], tr.counts.shares[p], made[p], shared[p])
			}
		}
	}
}

// What goes into a shared folder is counted where that is, whatever its user calls
// it.
func TestAShareIsCountedWhereItIs(t *testing.T) {
	tr := fold(newTree(), []events.Data{created(1, 0, "Alice", "user:alice"), created(2, 1, "X", ""), shared(2, "user:bob=write")})
	for _, test := range []struct {
		folder, rest string
		folders      int64
	}{{"X", "", 0}, {"X/sub", "sub", 1}, {"X/sub/more", "sub/more", 2}} {
		data := []events.Data{events.FileAccepted{Folder: test.folder, Under: id(2), Rest: test.rest, Size: 7}}
		if err := tr.accept(bob, data); err != nil {
			t.Fatal(err)
		}
		takes, parts, err := tr.takes(data, nil)
		want := []quota.Part{{Space: quota.Space{Folder: id(1), Name: "Alice"}, Takes: quota.Limits{quota.Bytes: 7, quota.Documents: 1}}}
		if err != nil || !slices.Equal(parts, want) || takes[quota.Folders] != test.folders {
			t.Errorf("an upload to %s counts in %v and makes %d folders (%v), want %v and %d", test.folder, parts, takes[quota.Folders], err, want, test.folders)
		}
	}
}

// One upload does not have the service look up thousands of folders.
func TestFoldersOfOneUploadAreBounded(t *testing.T) {
	h, _ := library(t)
	h.Quota = &quota.Ledger{Policy: &quota.Policy{Folder: quota.Limits{quota.Documents: 1}}, Usage: nothing{}}
	var uploads []Upload
	for i := range maxSpaces + 1 {
		u := upload(1)
		u.Folder = fmt.Sprint("F", i)
		uploads = append(uploads, u)
	}
	if _, err := h.StartImport(t.Context(), alice, "", uploads); !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "256 folders") {
		t.Errorf("an upload into %d folders: %v", len(uploads), err)
	}
}

// nothing is a read side that has seen nothing.
type nothing struct{ quota.Usage }

func (nothing) Used(context.Context, events.Principal) (used quota.Limits, at events.Position, err error) {
	return used, 0, nil
}

// What a limit refuses leaves no event, also of callers that hold nothing before.
func TestStartImportJudgesByItself(t *testing.T) {
	h, _ := library(t)
	h.Quota = &quota.Ledger{Policy: &quota.Policy{User: quota.Limits{quota.Documents: 1}}, Usage: nothing{}}
	before, err := h.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(1), upload(2)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("two documents of one: %v", err)
	}
	if head, err := h.Log.Head(t.Context()); err != nil || head != before {
		t.Errorf("the log went from %d to %d (%v)", before, head, err)
	}
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(1)}); err != nil {
		t.Error(err)
	}
	// The read side has not seen it yet.
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(2)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("another one: %v", err)
	}
}
