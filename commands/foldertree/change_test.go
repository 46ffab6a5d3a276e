package foldertree_test

import (
	"reflect"
	"testing"

	"annals/commands/commandstest"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
)

// folderTest is a test case: after the events of commandstest.Folders and given, the command
// when by user must return the events then, or an error of the given kind.
type folderTest struct {
	name  string
	given []events.Data // appended to commandstest.Folders
	user  events.User
	when  interface {
		Decide(*foldertree.Tree, events.User) ([]events.Data, error)
	}
	then []events.Data
	kind fault.Kind
}

func (test folderTest) run(t *testing.T) {
	t.Helper()
	got, err := test.when.Decide(fold(append(commandstest.Folders(), test.given...)), test.user)
	if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind || (err != nil) != (test.kind != 0) {
		t.Errorf("%s: Decide = %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
	}
}

// creation is a CreateFolder command that always creates the folder with the same id.
type creation struct{ foldertree.CreateFolder }

func (c creation) Decide(t *foldertree.Tree, user events.User) ([]events.Data, error) {
	return c.CreateFolder.Decide(t, user, id(100))
}

func create(parent byte, name string) creation {
	return creation{foldertree.CreateFolder{id(parent), name}}
}

// deep returns the events that create a chain of folders in a parent, with the numbers 20
// and up.
func deep(parent byte, count int) (folders []events.Data) {
	for n := range byte(count) {
		folders = append(folders, created(20+n, parent, "deep", ""))
		parent = 20 + n
	}
	return folders
}

func TestCreateFolder(t *testing.T) {
	for _, test := range []folderTest{
		{"the creator of a top-level folder owns it", nil, bob, create(0, "New"), []events.Data{created(100, 0, "New", "user:bob")}, 0},
		{"other folders have no owner of their own", nil, alice, create(1, "New"), []events.Data{created(100, 1, "New", "")}, 0},
		{"with write access", nil, bob, create(2, "New"), []events.Data{created(100, 2, "New", "")}, 0},
		{"names are normalized", nil, alice, create(1, " Zu\u0308rich "), []events.Data{created(100, 1, "Zürich", "")}, 0},
		{"with read access only", nil, bob, create(4, "New"), nil, fault.Forbidden},
		{"in a folder that the user may not read", nil, bob, create(1, "New"), nil, fault.NotFound},
		{"in a folder that does not exist", nil, admin, create(99, "New"), nil, fault.NotFound},
		{"below a deleted folder", []events.Data{events.FolderDeleted{Folder: id(1)}}, admin, create(2, "New"), nil, fault.NotFound},
		{"a taken name", nil, alice, create(1, "Plans"), nil, fault.Conflict},
		{"a taken name at the top level", nil, bob, create(0, "Reports"), nil, fault.Conflict},
		{"the name of a deleted folder", []events.Data{events.FolderDeleted{Folder: id(4)}}, alice, create(1, "Plans"), []events.Data{created(100, 1, "Plans", "")}, 0},
		{"an invalid name, without access", nil, bob, create(1, "a/b"), nil, fault.Invalid},
		{"a path of 32 names", deep(1, 30), alice, create(49, "last"), []events.Data{created(100, 49, "last", "")}, 0},
		{"a path of 33 names", deep(1, 31), alice, create(50, "one more"), nil, fault.Invalid},
		{"the inbox", []events.Data{events.FolderDeleted{Folder: id(7)}}, admin, create(0, "Inbox"), nil, fault.Forbidden},
		{"the name of the inbox below the top level", nil, alice, create(1, "Inbox"), []events.Data{created(100, 1, "Inbox", "")}, 0},
		{"a folder in the inbox", nil, admin, create(7, "carol"), nil, fault.Forbidden},
		{"a folder in one's own inbox folder", nil, bob, create(9, "carol"), []events.Data{created(100, 9, "carol", "")}, 0},
	} {
		test.run(t)
	}
}

// change returns a command for any version. An empty name and a negative parent change
// nothing.
func change(n byte, name string, parent int) foldertree.ChangeFolder {
	c := foldertree.ChangeFolder{ID: id(n), Version: -1}
	if name != "" {
		c.Name = &name
	}
	if parent >= 0 {
		p := id(byte(parent))
		c.Parent = &p
	}
	return c
}

func TestChangeFolder(t *testing.T) {
	at := func(version int64, c foldertree.ChangeFolder) foldertree.ChangeFolder {
		c.Version = version
		return c
	}
	for _, test := range []folderTest{
		{"a rename", nil, alice, change(2, "2027", -1), []events.Data{renamed(2, "2027")}, 0},
		{"a rename by a writer", nil, bob, change(2, "2027", -1), []events.Data{renamed(2, "2027")}, 0},
		{"a move", nil, alice, change(3, "", 4), []events.Data{moved(3, 4, "")}, 0},
		{"a rename and a move", nil, alice, change(3, "Third", 4), []events.Data{renamed(3, "Third"), moved(3, 4, "")}, 0},
		{"the same name and parent", nil, alice, change(3, "Q3", 2), nil, 0},
		{"no change", nil, alice, change(3, "", -1), nil, 0},
		{"a rename by a reader", nil, bob, change(4, "Mine", -1), nil, fault.Forbidden},
		{"a rename without access", nil, bob, change(1, "Mine", -1), nil, fault.NotFound},
		{"an invalid name, without access", nil, bob, change(1, " ", -1), nil, fault.Invalid},
		{"a taken name", nil, alice, change(2, "Plans", -1), nil, fault.Conflict},
		{"a move to a folder where the name is taken", nil, admin, change(6, "", 1), nil, fault.Conflict},
		{"the same move with a new name", nil, admin, change(6, "2025", 1), []events.Data{renamed(6, "2025"), moved(6, 1, "")}, 0},

		{"the current version", nil, alice, at(2, change(2, "2027", -1)), []events.Data{renamed(2, "2027")}, 0},
		{"a stale version", nil, alice, at(1, change(2, "2027", -1)), nil, fault.Conflict},
		{"a stale version and no change", nil, alice, at(1, change(2, "2026", -1)), nil, fault.Conflict},
		{"no access and a stale version", nil, bob, at(1, change(4, "Mine", -1)), nil, fault.Forbidden},
		{"no access to the new parent and a stale version", nil, bob, at(1, change(3, "", 4)), nil, fault.Forbidden},

		{"a move to a folder with read access only", nil, bob, change(3, "", 4), nil, fault.Forbidden},
		{"a move to a folder without access", nil, bob, change(3, "", 1), nil, fault.NotFound},
		{"a writer moves a folder to one that they own", nil, bob, change(3, "", 5), nil, fault.Forbidden},
		{"a writer moves a folder to one that they own by permission", []events.Data{shared(4, "user:bob=own")}, bob, change(3, "", 4), nil, fault.Forbidden},
		{"a writer moves a folder to one of another owner", []events.Data{created(11, 0, "Carol's", "user:carol"), shared(11, "user:bob=write")}, bob, change(3, "", 11), nil, fault.Forbidden},
		{"a writer moves a folder to one with an additional owner", []events.Data{shared(3, "user:bob=write"), created(11, 0, "Carol's", "user:carol"), shared(11, "user:bob=write", "user:alice=own")}, bob, change(3, "", 11), nil, fault.Forbidden},
		{"a writer moves a folder to one with the same owners", nil, bob, change(3, "", 10), []events.Data{moved(3, 10, "")}, 0},
		{"an owner moves a folder to one of another owner", []events.Data{shared(10, "group:staff=own", "user:bob=write")}, bob, change(6, "", 10), []events.Data{moved(6, 10, "")}, 0},
		{"an admin moves a folder to one of another owner", nil, admin, change(3, "", 5), []events.Data{moved(3, 5, "")}, 0},
		{"a move to the top level by an owner", nil, alice, change(3, "", 0), []events.Data{moved(3, 0, "user:alice")}, 0},
		{"a move to the top level by an admin", nil, admin, change(3, "", 0), []events.Data{moved(3, 0, "user:root")}, 0},
		{"a move to the top level by a writer", nil, bob, change(3, "", 0), nil, fault.Forbidden},
		{"a rename of a top-level folder by a writer", nil, bob, change(10, "Sketches", 0), []events.Data{renamed(10, "Sketches")}, 0},

		{"a move into itself", nil, alice, change(2, "", 2), nil, fault.Conflict},
		{"a move below itself", nil, alice, change(1, "", 3), nil, fault.Conflict},
		{"a move that makes a path of 32 names", deep(4, 28), alice, change(2, "", 47), []events.Data{moved(2, 47, "")}, 0},
		{"a move that makes a path of 33 names", deep(4, 29), alice, change(2, "", 48), nil, fault.Invalid},

		{"a rename of the inbox", nil, admin, change(7, "Post", -1), nil, fault.Forbidden},
		{"a move of the inbox", nil, admin, change(7, "", 1), nil, fault.Forbidden},
		{"a rename of the inbox without access", nil, bob, change(7, "Post", -1), nil, fault.NotFound},
		{"a rename to the inbox", nil, alice, change(1, "Inbox", -1), nil, fault.Forbidden},
		{"a move to the top level under the name of the inbox", []events.Data{renamed(4, "Inbox")}, alice, change(4, "", 0), nil, fault.Forbidden},
		{"a move into the inbox", nil, admin, change(3, "", 7), nil, fault.Forbidden},
		{"a rename of one's own inbox folder", nil, bob, change(9, "alice2", -1), nil, fault.Forbidden},
		{"a rename of an inbox folder by an admin", nil, admin, change(9, "carol", -1), nil, fault.Forbidden},
		{"a move out of the inbox", nil, bob, change(9, "", 5), []events.Data{moved(9, 5, "")}, 0},
		{"a move out of the inbox with a new name", nil, bob, change(9, "Post", 0), []events.Data{renamed(9, "Post"), moved(9, 0, "user:bob")}, 0},
		{"a rename below an inbox folder", []events.Data{created(11, 9, "x", "")}, bob, change(11, "y", -1), []events.Data{renamed(11, "y")}, 0},
	} {
		test.run(t)
	}
}

func TestDeleteFolder(t *testing.T) {
	one := func(n byte) foldertree.DeleteFolder { return foldertree.DeleteFolder{ID: id(n), Version: -1} }
	all := func(n byte) foldertree.DeleteFolder {
		return foldertree.DeleteFolder{ID: id(n), Version: -1, Recursive: true}
	}
	deleted := func(n byte) []events.Data { return []events.Data{events.FolderDeleted{Folder: id(n)}} }
	for _, test := range []folderTest{
		{"an empty folder", nil, alice, one(3), deleted(3), 0},
		{"a folder that contains others", nil, alice, one(2), nil, fault.Conflict},
		{"the same, recursively", nil, alice, all(2), deleted(2), 0},
		{"a folder whose last folder was deleted", deleted(3), alice, one(2), deleted(2), 0},
		{"by a writer", nil, bob, one(3), nil, fault.Forbidden},
		{"without access", nil, bob, all(1), nil, fault.NotFound},
		{"a deleted folder", deleted(1), admin, all(1), nil, fault.NotFound},
		{"below a deleted folder", deleted(1), admin, all(2), nil, fault.NotFound},
		{"a stale version", nil, alice, foldertree.DeleteFolder{ID: id(3), Version: 7}, nil, fault.Conflict},
		{"the current version", nil, alice, foldertree.DeleteFolder{ID: id(3), Version: 1}, deleted(3), 0},
		{"the inbox", nil, admin, all(7), nil, fault.Forbidden},
		{"one's own inbox folder", nil, bob, one(9), deleted(9), 0},
	} {
		test.run(t)
	}
}
