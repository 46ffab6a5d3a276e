package foldertree_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

func TestAccess(t *testing.T) {
	// 1 Reports (alice) / 2 2026 / 3 Q3 (bob may read), 4 Plans (staff may write)
	story := []events.Data{
		created(1, 0, "Reports", "user:alice"), created(2, 1, "2026", ""), created(3, 2, "Q3", ""), created(4, 0, "Plans", ""),
		events.FolderShared{Folder: id(3), Permissions: []events.Permission{{Principal: "user:bob", Access: "read"}, {Principal: "group:x", Access: "own"}}},
		events.FolderShared{Folder: id(4), Permissions: []events.Permission{{Principal: "group:staff", Access: "write"}}},
	}
	for _, test := range []struct {
		name   string
		then   []events.Data
		user   events.User
		folder byte
		want   events.Access
	}{
		{"the owner owns", nil, alice, 1, events.Own},
		{"and all below", nil, alice, 3, events.Own},
		{"a group grants", nil, alice, 4, events.Write},
		{"a permission grants", nil, bob, 3, events.Read},
		{"but not above", nil, bob, 2, events.NoAccess},
		{"nor beside", nil, bob, 4, events.NoAccess},
		{"an admin may do everything", nil, admin, 3, events.Own},
		{"nobody may do anything in what does not exist", nil, admin, 9, events.NoAccess},
		{"what is above adds to what is below", []events.Data{events.FolderShared{Folder: id(1), Permissions: []events.Permission{{Principal: "user:bob", Access: "write"}}}}, bob, 3, events.Write},
		{"what is below takes nothing away", []events.Data{
			events.FolderShared{Folder: id(1), Permissions: []events.Permission{{Principal: "user:bob", Access: "own"}}},
		}, bob, 3, events.Own},
		{"a permission can be withdrawn", []events.Data{events.FolderShared{Folder: id(3)}}, bob, 3, events.NoAccess},
		{"the owner stays", []events.Data{events.FolderShared{Folder: id(1)}}, alice, 1, events.Own},
		{"a move changes what is above", []events.Data{events.FolderMoved{Folder: id(3), Parent: id(4)}}, alice, 3, events.Write},
		{"a rename changes nothing", []events.Data{events.FolderRenamed{Folder: id(3), Name: "Third"}}, bob, 3, events.Read},
		{"a deleted folder has no access", []events.Data{events.FolderDeleted{Folder: id(3)}}, admin, 3, events.NoAccess},
		{"nor has what is below it", []events.Data{events.FolderDeleted{Folder: id(1)}}, alice, 3, events.NoAccess},
	} {
		tree := fold(foldertree.New(foldertree.Rules{}), append(story[:len(story):len(story)], test.then...))
		if got := tree.Access(test.user, id(test.folder)); got != test.want {
			t.Errorf("%s: access is %v, want %v", test.name, got, test.want)
		}
	}
}

func TestEnsureFolder(t *testing.T) {
	reports := []events.Data{created(1, 0, "Reports", "user:alice"), created(2, 1, "2026", "")}
	for _, test := range []struct {
		name  string
		given []events.Data
		user  events.User
		path  string
		then  []events.Data
		kind  fault.Kind
	}{
		{"the creator of a top-level folder owns it", nil, bob, "New",
			[]events.Data{created(101, 0, "New", "user:bob")}, 0},
		{"a path is made in one step", nil, bob, "New/a/b",
			[]events.Data{created(101, 0, "New", "user:bob"), created(102, 101, "a", ""), created(103, 102, "b", "")}, 0},
		{"what exists is not made again", reports, alice, "Reports/2026", nil, 0},
		{"only what is missing is made", reports, alice, "Reports/2026/Q3", []events.Data{created(103, 2, "Q3", "")}, 0},
		{"names are case-sensitive", reports, bob, "reports", []events.Data{created(101, 0, "reports", "user:bob")}, 0},
		{"nobody files in a folder of others", reports, bob, "Reports/2026", nil, fault.Forbidden},
		{"nor below it", reports, bob, "Reports/mine", nil, fault.Forbidden},
		{"to read is not enough", append(reports[:2:2], events.FolderShared{Folder: id(2), Permissions: []events.Permission{{Principal: "user:bob", Access: "read"}}}),
			bob, "Reports/2026/x", nil, fault.Forbidden},
		{"the deepest folder decides", append(reports[:2:2], events.FolderShared{Folder: id(2), Permissions: []events.Permission{{Principal: "user:bob", Access: "write"}}}),
			bob, "Reports/2026/x", []events.Data{created(103, 2, "x", "")}, 0},
		{"a deleted folder's name is free", append(reports[:2:2], events.FolderDeleted{Folder: id(1)}),
			bob, "Reports", []events.Data{created(101, 0, "Reports", "user:bob")}, 0},
		{"so is a renamed one's", append(reports[:2:2], events.FolderRenamed{Folder: id(1), Name: "Old"}),
			bob, "Reports", []events.Data{created(101, 0, "Reports", "user:bob")}, 0},
		{"a moved folder is found where it is", append(reports[:2:2], events.FolderMoved{Folder: id(2)}), alice, "2026", nil, fault.Forbidden},
		{"the inbox comes with the first folder in it", nil, bob, "Inbox/bob",
			[]events.Data{created(101, 0, "Inbox", ""), created(102, 101, "bob", "user:bob")}, 0},
		{"everybody has a folder there", []events.Data{created(1, 0, "Inbox", ""), created(2, 1, "bob", "user:bob")}, alice, "Inbox/alice/x",
			[]events.Data{created(102, 1, "alice", "user:alice"), created(103, 102, "x", "")}, 0},
		{"nobody makes the inbox his own", nil, bob, "Inbox", nil, fault.Forbidden},
		{"nobody makes the folder of another", nil, bob, "Inbox/alice", nil, fault.Forbidden},
		{"not even an admin", []events.Data{created(1, 0, "Inbox", "")}, admin, "Inbox/alice", nil, fault.Forbidden},
		{"nobody files in another's inbox", []events.Data{created(1, 0, "Inbox", ""), created(2, 1, "bob", "user:bob")}, alice, "Inbox/bob", nil, fault.Forbidden},
	} {
		var ids []uuid.UUID
		for i := range strings.Count(test.path, "/") + 1 {
			ids = append(ids, id(byte(101+i)))
		}
		c := foldertree.NewEnsureFolder(test.user, place(test.path)).SetIDs(ids...)
		got, err := c.Decide(fold(foldertree.New(foldertree.Rules{}), test.given))
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind {
			t.Errorf("%s: decided %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestForbiddenRevealsNothing(t *testing.T) {
	tree := fold(foldertree.New(foldertree.Rules{}), []events.Data{created(1, 0, "Secret", "user:alice"), created(2, 1, "deep", "")})
	for _, path := range []string{"Secret", "Secret/deep", "Secret/deep/er", "Secret/none"} {
		_, err := tree.MayFile(bob, place(path))
		if want := fmt.Sprintf("you may not write in folder %q", path); err == nil || err.Error() != want {
			t.Errorf("mayFile(%s) = %v, want %s", path, err, want)
		}
	}
}

// A user who writes outside of his inbox folder gets its path in the error, whatever
// exists there.
func TestForbiddenNamesOwnInbox(t *testing.T) {
	for _, given := range [][]events.Data{nil, {created(1, 0, "Inbox", ""), created(2, 1, "alice", "user:alice")}} {
		for _, path := range []string{"Inbox", "Inbox/alice", "Inbox/alice/x", "Inbox/none"} {
			_, err := fold(foldertree.New(foldertree.Rules{}), given).MayFile(bob, place(path))
			if want := fmt.Sprintf("you may not write in folder %q; your own folder there is %q", path, "Inbox/bob"); err == nil || err.Error() != want {
				t.Errorf("mayFile(%s) = %v, want %s", path, err, want)
			}
		}
	}
}

// A job that revises a document names of its folder's path what the user may
// read.
func TestReadablePath(t *testing.T) {
	f := foldertree.New(foldertree.Rules{})
	top, middle, low := uuid.New(), uuid.New(), uuid.New()
	for i, d := range []events.Data{
		events.FolderCreated{Folder: top, Name: "Top", Owner: "user:alice"},
		events.FolderCreated{Folder: middle, Parent: top, Name: "Middle"},
		events.FolderCreated{Folder: low, Parent: middle, Name: "Low"},
		events.FolderShared{Folder: middle, Permissions: []events.Permission{{Principal: "group:staff", Access: "write"}}},
	} {
		f.Apply(events.Event{Data: d, Position: events.Position(i + 1)})
	}
	for principal, want := range map[events.Principal]string{"user:alice": "Top/Middle/Low", "user:bob": "Middle/Low", "user:eve": ""} {
		user := events.User{Principal: principal}
		if principal == "user:bob" {
			user.Groups = []events.Principal{"group:staff"}
		}
		if got := strings.Join(f.ReadablePath(user, low), "/"); got != want {
			t.Errorf("%s gets %q, want %q", principal, got, want)
		}
	}
	if got := strings.Join(f.ReadablePath(events.User{Principal: "user:root", Admin: true}, low), "/"); got != "Top/Middle/Low" {
		t.Errorf("an administrator gets %q", got)
	}
}
