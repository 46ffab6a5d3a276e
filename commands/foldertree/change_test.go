package foldertree_test

import (
	"reflect"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
)

// folderTest is a row of a table: what a user's command makes of the grounds.
type folderTest struct {
	name  string
	given []events.Data // after the grounds
	user  events.User
	when  interface {
		Decide(*foldertree.Tree, events.User) ([]events.Data, error)
	}
	then []events.Data
	kind fault.Kind
}

func (test folderTest) run(t *testing.T) {
	t.Helper()
	got, err := test.when.Decide(fold(foldertree.New(foldertree.Rules{}), append(grounds(), test.given...)), test.user)
	if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind || (err != nil) != (test.kind != 0) {
		t.Errorf("%s: decided %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
	}
}

// creation is CreateFolder with the id that it draws.
type creation struct{ foldertree.CreateFolder }

func (c creation) Decide(t *foldertree.Tree, user events.User) ([]events.Data, error) {
	return c.CreateFolder.Decide(t, user, id(100))
}

func create(parent byte, name string) creation {
	return creation{foldertree.CreateFolder{id(parent), name}}
}

// deep returns folders 20 and up, each below the other, under a parent.
func deep(parent byte, count int) (made []events.Data) {
	for n := range byte(count) {
		made = append(made, created(20+n, parent, "deep", ""))
		parent = 20 + n
	}
	return made
}

func TestCreateFolder(t *testing.T) {
	for _, test := range []folderTest{
		{"the creator of a top-level folder owns it", nil, bob, create(0, "New"), []events.Data{created(100, 0, "New", "user:bob")}, 0},
		{"below it nobody does", nil, alice, create(1, "New"), []events.Data{created(100, 1, "New", "")}, 0},
		{"write access is enough", nil, bob, create(2, "New"), []events.Data{created(100, 2, "New", "")}, 0},
		{"names are trimmed and composed", nil, alice, create(1, " Zu\u0308rich "), []events.Data{created(100, 1, "Zürich", "")}, 0},
		{"to read is not enough", nil, bob, create(4, "New"), nil, fault.Forbidden},
		{"what cannot be read does not exist", nil, bob, create(1, "New"), nil, fault.NotFound},
		{"nor does what does not", nil, admin, create(99, "New"), nil, fault.NotFound},
		{"nor what was deleted", []events.Data{events.FolderDeleted{Folder: id(1)}}, admin, create(2, "New"), nil, fault.NotFound},
		{"a name is taken once", nil, alice, create(1, "Plans"), nil, fault.Conflict},
		{"at the top too", nil, bob, create(0, "Reports"), nil, fault.Conflict},
		{"a deleted folder's name is free", []events.Data{events.FolderDeleted{Folder: id(4)}}, alice, create(1, "Plans"), []events.Data{created(100, 1, "Plans", "")}, 0},
		{"a name that cannot be comes before access", nil, bob, create(1, "a/b"), nil, fault.Invalid},
		{"a path has 32 names", deep(1, 30), alice, create(49, "last"), []events.Data{created(100, 49, "last", "")}, 0},
		{"and no more", deep(1, 31), alice, create(50, "one more"), nil, fault.Invalid},
		{"nobody makes the inbox", []events.Data{events.FolderDeleted{Folder: id(7)}}, admin, create(0, "Inbox"), nil, fault.Forbidden},
		{"below the top it is a name like others", nil, alice, create(1, "Inbox"), []events.Data{created(100, 1, "Inbox", "")}, 0},
		{"nobody makes a folder in the inbox", nil, admin, create(7, "carol"), nil, fault.Forbidden},
		{"but in his own there", nil, bob, create(9, "carol"), []events.Data{created(100, 9, "carol", "")}, 0},
	} {
		test.run(t)
	}
}

// change returns a command on whichever version; an empty name and a negative
// parent stand for none.
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
		{"a folder is renamed", nil, alice, change(2, "2027", -1), []events.Data{renamed(2, "2027")}, 0},
		{"by writers too", nil, bob, change(2, "2027", -1), []events.Data{renamed(2, "2027")}, 0},
		{"and moved", nil, alice, change(3, "", 4), []events.Data{moved(3, 4, "")}, 0},
		{"or both", nil, alice, change(3, "Third", 4), []events.Data{renamed(3, "Third"), moved(3, 4, "")}, 0},
		{"a change that changes nothing is none", nil, alice, change(3, "Q3", 2), nil, 0},
		{"nor is an empty one", nil, alice, change(3, "", -1), nil, 0},
		{"readers change nothing", nil, bob, change(4, "Mine", -1), nil, fault.Forbidden},
		{"others do not see it", nil, bob, change(1, "Mine", -1), nil, fault.NotFound},
		{"a name that cannot be comes first", nil, bob, change(1, " ", -1), nil, fault.Invalid},
		{"a name is taken once", nil, alice, change(2, "Plans", -1), nil, fault.Conflict},
		{"where it moves to, too", nil, admin, change(6, "", 1), nil, fault.Conflict},
		{"unless it gets another on the way", nil, admin, change(6, "2025", 1), []events.Data{renamed(6, "2025"), moved(6, 1, "")}, 0},

		{"what was read is what is changed", nil, alice, at(2, change(2, "2027", -1)), []events.Data{renamed(2, "2027")}, 0},
		{"an older version is stale", nil, alice, at(1, change(2, "2027", -1)), nil, fault.Conflict},
		{"even for what changes nothing", nil, alice, at(1, change(2, "2026", -1)), nil, fault.Conflict},
		{"access comes before the version", nil, bob, at(1, change(4, "Mine", -1)), nil, fault.Forbidden},
		{"that of where it moves, too", nil, bob, at(1, change(3, "", 4)), nil, fault.Forbidden},

		{"a move needs to write where it goes", nil, bob, change(3, "", 4), nil, fault.Forbidden},
		{"what cannot be read does not exist there", nil, bob, change(3, "", 1), nil, fault.NotFound},
		{"nobody makes himself the owner by moving", nil, bob, change(3, "", 5), nil, fault.Forbidden},
		{"nor anything more than he was", []events.Data{shared(4, "user:bob=own")}, bob, change(3, "", 4), nil, fault.Forbidden},
		{"nor another", []events.Data{created(11, 0, "Carol's", "user:carol"), shared(11, "user:bob=write")}, bob, change(3, "", 11), nil, fault.Forbidden},
		{"who owns it by its own list stays, others would come", []events.Data{shared(3, "user:bob=write"), created(11, 0, "Carol's", "user:carol"), shared(11, "user:bob=write", "user:alice=own")}, bob, change(3, "", 11), nil, fault.Forbidden},
		{"to write is enough to move where one writes", nil, bob, change(3, "", 10), []events.Data{moved(3, 10, "")}, 0},
		{"owners may give away", []events.Data{shared(10, "group:staff=own", "user:bob=write")}, bob, change(6, "", 10), []events.Data{moved(6, 10, "")}, 0},
		{"an admin may move anything", nil, admin, change(3, "", 5), []events.Data{moved(3, 5, "")}, 0},
		{"an owner may move to the top, and owns it there", nil, alice, change(3, "", 0), []events.Data{moved(3, 0, "user:alice")}, 0},
		{"so does an admin", nil, admin, change(3, "", 0), []events.Data{moved(3, 0, "user:root")}, 0},
		{"a writer may not", nil, bob, change(3, "", 0), nil, fault.Forbidden},
		{"but what is at the top is not moved there", nil, bob, change(10, "Sketches", 0), []events.Data{renamed(10, "Sketches")}, 0},

		{"not into itself", nil, alice, change(2, "", 2), nil, fault.Conflict},
		{"nor below itself", nil, alice, change(1, "", 3), nil, fault.Conflict},
		{"a path has 32 names with all that is below", deep(4, 28), alice, change(2, "", 47), []events.Data{moved(2, 47, "")}, 0},
		{"and no more", deep(4, 29), alice, change(2, "", 48), nil, fault.Invalid},

		{"the inbox is not renamed", nil, admin, change(7, "Post", -1), nil, fault.Forbidden},
		{"nor moved", nil, admin, change(7, "", 1), nil, fault.Forbidden},
		{"others do not see it at all", nil, bob, change(7, "Post", -1), nil, fault.NotFound},
		{"no folder becomes it", nil, alice, change(1, "Inbox", -1), nil, fault.Forbidden},
		{"nor by moving to the top", []events.Data{renamed(4, "Inbox")}, alice, change(4, "", 0), nil, fault.Forbidden},
		{"nothing is moved into it", nil, admin, change(3, "", 7), nil, fault.Forbidden},
		{"what is in it keeps its name", nil, bob, change(9, "alice2", -1), nil, fault.Forbidden},
		{"of admins too", nil, admin, change(9, "carol", -1), nil, fault.Forbidden},
		{"and may move out of it", nil, bob, change(9, "", 5), []events.Data{moved(9, 5, "")}, 0},
		{"where it may be renamed", nil, bob, change(9, "Post", 0), []events.Data{renamed(9, "Post"), moved(9, 0, "user:bob")}, 0},
		{"what is below is like any other", []events.Data{created(11, 9, "x", "")}, bob, change(11, "y", -1), []events.Data{renamed(11, "y")}, 0},
	} {
		test.run(t)
	}
}

func TestDeleteFolder(t *testing.T) {
	one := func(n byte) foldertree.DeleteFolder { return foldertree.DeleteFolder{ID: id(n), Version: -1} }
	all := func(n byte) foldertree.DeleteFolder {
		return foldertree.DeleteFolder{ID: id(n), Version: -1, Recursive: true}
	}
	gone := func(n byte) []events.Data { return []events.Data{events.FolderDeleted{Folder: id(n)}} }
	for _, test := range []folderTest{
		{"an empty folder is deleted", nil, alice, one(3), gone(3), 0},
		{"one with others in it is not", nil, alice, one(2), nil, fault.Conflict},
		{"unless all is to go", nil, alice, all(2), gone(2), 0},
		{"one whose last was deleted is empty", gone(3), alice, one(2), gone(2), 0},
		{"writers do not delete", nil, bob, one(3), nil, fault.Forbidden},
		{"others do not see it", nil, bob, all(1), nil, fault.NotFound},
		{"it is deleted once", gone(1), admin, all(1), nil, fault.NotFound},
		{"so is what is below it", gone(1), admin, all(2), nil, fault.NotFound},
		{"a stale version", nil, alice, foldertree.DeleteFolder{ID: id(3), Version: 7}, nil, fault.Conflict},
		{"the one that was read", nil, alice, foldertree.DeleteFolder{ID: id(3), Version: 1}, gone(3), 0},
		{"the inbox stays", nil, admin, all(7), nil, fault.Forbidden},
		{"a user's own in it may go", nil, bob, one(9), gone(9), 0},
	} {
		test.run(t)
	}
}
