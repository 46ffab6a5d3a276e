package access_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"annals/events"
	"annals/queries/access"

	"github.com/google/uuid"
)

func TestFolderPagesListEachOnce(t *testing.T) {
	f := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	all := []uuid.UUID{uuid.Nil}
	for i := range 150 {
		parent, owner := all[random.IntN(len(all))], events.Principal("")
		if parent == uuid.Nil {
			owner = "user:alice"
		}
		all = append(all, f.AddFolder(parent, fmt.Sprint([]string{" ", "!", "a", "É"}[random.IntN(4)], i), owner))
	}
	for range 25 { // some folders are below others
		shared := all[1+random.IntN(len(all)-1)]
		f.Append(events.Folders, events.FolderShared{Folder: shared, Permissions: []events.Permission{{Principal: "user:bob", Access: "read"}}})
	}
	for range 5 {
		f.Append(events.Folders, events.FolderDeleted{Folder: all[1+random.IntN(len(all)-1)]})
	}
	f.Settle()
	for _, user := range []events.User{admin, alice, bob, {Principal: "user:nobody"}} {
		want, err := f.rights.FolderPaths(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		if want, err = f.rights.ShownPaths(t.Context(), user, want); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, access.TreeOrder)
		for _, size := range []int{1, 2, 7, 1000} {
			var got []string
			for after := ""; ; {
				page, err := f.rights.FolderPage(t.Context(), user, after, size)
				if err != nil || len(page) > size {
					t.Fatalf("FolderPage with limit %d: got %d folders, %v", size, len(page), err)
				}
				if len(page) == 0 {
					break
				}
				got, after = append(got, page...), page[len(page)-1]
			}
			if !slices.Equal(got, want) {
				t.Errorf("FolderPage(%s) with limit %d: got %q, want %q", user.Principal, size, got, want)
			}
		}
	}
	// The last folder of a page may be deleted before the next page is requested.
	if got, err := f.rights.FolderPage(t.Context(), admin, "zz/not there", 10); err != nil || len(got) > 0 && access.TreeOrder(got[0], "zz/not there") < 0 {
		t.Errorf("FolderPage after a folder that does not exist = %q, %v", got, err)
	}
}

func BenchmarkFolderPage(b *testing.B) {
	f := newFixture(b)
	for range 100 {
		top := f.AddFolder(uuid.Nil, uuid.NewString(), "user:alice")
		var data []events.Data
		for range 1000 {
			data = append(data, events.FolderCreated{Folder: uuid.New(), Parent: top, Name: uuid.NewString()})
		}
		f.Append(events.Folders, data...)
	}
	f.Settle()
	for name, user := range map[string]events.User{"admin": admin, "user": alice} {
		b.Run(name, func(b *testing.B) {
			after := ""
			for b.Loop() {
				page, err := f.rights.FolderPage(b.Context(), user, after, 500)
				if err != nil || len(page) == 0 {
					b.Fatal(len(page), err)
				}
				if after = page[len(page)-1]; len(page) < 500 {
					after = ""
				}
			}
		})
	}
}
