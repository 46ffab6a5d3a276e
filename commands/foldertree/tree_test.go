package foldertree_test

import (
	"slices"
	"testing"

	"annals/commands/foldertree"
	"annals/commands/naming"
	"annals/events"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestFolderVersion(t *testing.T) {
	tree := fold([]events.Data{
		created(1, 0, "a", "user:alice"), created(2, 1, "b", ""), renamed(2, "c"), shared(1, "user:bob=read"), moved(2, 0, "user:bob"), events.FolderDeleted{Folder: id(2)},
	})
	for n, want := range map[byte]int64{1: 2, 2: 4} {
		if got := tree.Version(id(n)); got != want {
			t.Errorf("folder %d is at version %d, want %d", n, got, want)
		}
	}
}

func TestMoveToTopAddsOwner(t *testing.T) {
	tree := fold([]events.Data{
		created(1, 0, "a", "user:alice"), created(2, 0, "b", "user:bob"), shared(1, "user:bob=own"),
		moved(1, 2, ""), moved(1, 0, "user:bob"), shared(1),
	})
	for _, user := range []events.User{alice, bob} {
		if got := tree.Access(user, id(1)); got != events.Own {
			t.Errorf("%s has %v access, want own", user.Principal, got)
		}
	}
}

// A request that renames and moves a folder is two events. Between the two, the folder may
// have the same name and parent as another folder.
func TestRenameAndMovePastTakenNames(t *testing.T) {
	// 1 A { 3 x, 4 y }, 2 B { 5 x }: A/x becomes B/y.
	tree := fold([]events.Data{
		created(1, 0, "A", ""), created(2, 0, "B", ""), created(3, 1, "x", ""), created(4, 1, "y", ""), created(5, 2, "x", ""),
		renamed(3, "y"), moved(3, 2, ""),
	})
	for path, want := range map[string]byte{"A/y": 4, "B/x": 5, "B/y": 3} {
		names, _ := naming.SplitFolder(path)
		if got, depth := tree.Find(names); depth != 2 || got != id(want) {
			t.Errorf("Find(%s) = %v, want folder %d", path, got, want)
		}
	}
	if got, depth := tree.Find([]string{"A", "x"}); depth != 1 {
		t.Errorf("Find(A/x) = %v, want none", got)
	}
}

// After any sequence of commands the folders are one tree with correct indexes, unique
// names and no path that is too long. Only admins gain access by moving a folder.
func TestTreeInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := foldertree.New(foldertree.Rules{})
		users := []events.User{alice, bob, admin}
		count, revision := byte(0), int64(0)
		folder := rapid.Custom(func(t *rapid.T) uuid.UUID { return id(rapid.ByteRange(0, count).Draw(t, "folder")) })
		name := rapid.SampledFrom([]string{"a", "b", "c", "Inbox"})
		apply := func(data []events.Data) {
			for _, d := range data {
				tree.Apply(events.Event{Revision: revision, Data: d})
				revision++
			}
		}
		apply(decided(foldertree.NewEnsureFolder(bob, target("Inbox/bob")).SetIDs(id(1), id(2)).Decide(tree)))
		count = 2
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				data, err := foldertree.CreateFolder{folder.Draw(t, "parent"), name.Draw(t, "name")}.Decide(tree, rapid.SampledFrom(users).Draw(t, "user"), id(count+1))
				if err == nil && count < 200 {
					apply(data)
					count++
				}
			},
			"change": func(t *rapid.T) {
				user, c := rapid.SampledFrom(users).Draw(t, "user"), foldertree.ChangeFolder{ID: folder.Draw(t, "id"), Version: -1}
				c.Name = rapid.Ptr(name, true).Draw(t, "name")
				c.Parent = rapid.Ptr(folder, true).Draw(t, "parent")
				before := tree.Access(user, c.ID)
				data, err := c.Decide(tree, user)
				if err != nil {
					return
				}
				apply(data)
				if after := tree.Access(user, c.ID); after > before {
					t.Fatalf("%s moved folder %v, and their access to it rose from %v to %v", user.Principal, c.ID, before, after)
				}
			},
			"share": func(t *rapid.T) {
				user, c := rapid.SampledFrom(users).Draw(t, "user"), foldertree.ShareFolder{ID: folder.Draw(t, "id"), Version: -1}
				c.Permissions = []events.Permission{{Principal: rapid.SampledFrom([]events.Principal{"user:alice", "user:bob", "group:staff"}).Draw(t, "principal"), Access: rapid.SampledFrom([]string{"read", "write", "own"}).Draw(t, "access")}}
				apply(decided(c.Decide(tree, user)))
			},
			"delete": func(t *rapid.T) {
				c := foldertree.DeleteFolder{ID: folder.Draw(t, "id"), Version: -1, Recursive: rapid.Bool().Draw(t, "recursive")}
				apply(decided(c.Decide(tree, rapid.SampledFrom(users).Draw(t, "user"))))
			},
			"": func(t *rapid.T) { checkTree(t, tree) },
		})
	})
}

// decided drops the error of a refused command, so that the command adds no events.
func decided(data []events.Data, _ error) []events.Data { return data }

func checkTree(t *rapid.T, tree *foldertree.Tree) {
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
	inbox, _ := tree.Find([]string{"Inbox"})
	if inbox != id(1) {
		t.Fatalf("the inbox is folder %v, want 1", inbox)
	}
	for _, folder := range tree.Folders() {
		if path := tree.Path(folder); path != nil && tree.Parent(folder) == inbox {
			if _, owners := tree.List(folder); !slices.Contains(owners, bob.Principal) {
				t.Fatalf("folder %q was put into the inbox", path)
			}
		}
	}
}
