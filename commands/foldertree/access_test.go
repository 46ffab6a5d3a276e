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
	// Folders: 1 Reports (alice) / 2 2026 / 3 Q3 (bob may read), and 4 Plans (staff may
	// write).
	stream := []events.Data{
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
		{"an owner", nil, alice, 1, events.Own},
		{"an owner, in a folder below", nil, alice, 3, events.Own},
		{"a permission of a group", nil, alice, 4, events.Write},
		{"a permission of a user", nil, bob, 3, events.Read},
		{"not in the folder above", nil, bob, 2, events.NoAccess},
		{"not in another folder", nil, bob, 4, events.NoAccess},
		{"an admin", nil, admin, 3, events.Own},
		{"a folder that does not exist", nil, admin, 9, events.NoAccess},
		{"more access from a folder above", []events.Data{events.FolderShared{Folder: id(1), Permissions: []events.Permission{{Principal: "user:bob", Access: "write"}}}}, bob, 3, events.Write},
		{"less access from a lower folder", []events.Data{
			events.FolderShared{Folder: id(1), Permissions: []events.Permission{{Principal: "user:bob", Access: "own"}}},
		}, bob, 3, events.Own},
		{"a withdrawn permission", []events.Data{events.FolderShared{Folder: id(3)}}, bob, 3, events.NoAccess},
		{"an owner after sharing", []events.Data{events.FolderShared{Folder: id(1)}}, alice, 1, events.Own},
		{"a move changes inherited access", []events.Data{events.FolderMoved{Folder: id(3), Parent: id(4)}}, alice, 3, events.Write},
		{"a rename changes no access", []events.Data{events.FolderRenamed{Folder: id(3), Name: "Third"}}, bob, 3, events.Read},
		{"a deleted folder", []events.Data{events.FolderDeleted{Folder: id(3)}}, admin, 3, events.NoAccess},
		{"below a deleted folder", []events.Data{events.FolderDeleted{Folder: id(1)}}, alice, 3, events.NoAccess},
	} {
		tree := fold(append(stream[:len(stream):len(stream)], test.then...))
		if got := tree.Access(test.user, id(test.folder)); got != test.want {
			t.Errorf("%s: Access = %v, want %v", test.name, got, test.want)
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
		{"a whole path is created", nil, bob, "New/a/b",
			[]events.Data{created(101, 0, "New", "user:bob"), created(102, 101, "a", ""), created(103, 102, "b", "")}, 0},
		{"existing folders are not created again", reports, alice, "Reports/2026", nil, 0},
		{"only missing folders are created", reports, alice, "Reports/2026/Q3", []events.Data{created(103, 2, "Q3", "")}, 0},
		{"names are case-sensitive", reports, bob, "reports", []events.Data{created(101, 0, "reports", "user:bob")}, 0},
		{"a folder of another user", reports, bob, "Reports/2026", nil, fault.Forbidden},
		{"below a folder of another user", reports, bob, "Reports/mine", nil, fault.Forbidden},
		{"with read access only", append(reports[:2:2], events.FolderShared{Folder: id(2), Permissions: []events.Permission{{Principal: "user:bob", Access: "read"}}}),
			bob, "Reports/2026/x", nil, fault.Forbidden},
		{"with write access to the deepest folder", append(reports[:2:2], events.FolderShared{Folder: id(2), Permissions: []events.Permission{{Principal: "user:bob", Access: "write"}}}),
			bob, "Reports/2026/x", []events.Data{created(103, 2, "x", "")}, 0},
		{"the name of a deleted folder is free", append(reports[:2:2], events.FolderDeleted{Folder: id(1)}),
			bob, "Reports", []events.Data{created(101, 0, "Reports", "user:bob")}, 0},
		{"the old name of a renamed folder is free", append(reports[:2:2], events.FolderRenamed{Folder: id(1), Name: "Old"}),
			bob, "Reports", []events.Data{created(101, 0, "Reports", "user:bob")}, 0},
		{"a moved folder is found at its new path", append(reports[:2:2], events.FolderMoved{Folder: id(2)}), alice, "2026", nil, fault.Forbidden},
		{"the inbox is created with the first folder in it", nil, bob, "Inbox/bob",
			[]events.Data{created(101, 0, "Inbox", ""), created(102, 101, "bob", "user:bob")}, 0},
		{"each user's own folder in the inbox", []events.Data{created(1, 0, "Inbox", ""), created(2, 1, "bob", "user:bob")}, alice, "Inbox/alice/x",
			[]events.Data{created(102, 1, "alice", "user:alice"), created(103, 102, "x", "")}, 0},
		{"the inbox itself", nil, bob, "Inbox", nil, fault.Forbidden},
		{"another user's folder in the inbox", nil, bob, "Inbox/alice", nil, fault.Forbidden},
		{"another user's folder in the inbox, by an admin", []events.Data{created(1, 0, "Inbox", "")}, admin, "Inbox/alice", nil, fault.Forbidden},
		{"another user's existing folder in the inbox", []events.Data{created(1, 0, "Inbox", ""), created(2, 1, "bob", "user:bob")}, alice, "Inbox/bob", nil, fault.Forbidden},
	} {
		var ids []uuid.UUID
		for i := range strings.Count(test.path, "/") + 1 {
			ids = append(ids, id(byte(101+i)))
		}
		c := foldertree.NewEnsureFolder(test.user, target(test.path)).SetIDs(ids...)
		got, err := c.Decide(fold(test.given))
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind {
			t.Errorf("%s: Decide = %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestForbiddenRevealsNothing(t *testing.T) {
	tree := fold([]events.Data{created(1, 0, "Secret", "user:alice"), created(2, 1, "deep", "")})
	for _, path := range []string{"Secret", "Secret/deep", "Secret/deep/er", "Secret/none"} {
		_, err := tree.MayFile(bob, target(path))
		if want := fmt.Sprintf("you may not write in folder %q", path); err == nil || err.Error() != want {
			t.Errorf("MayFile(%s): %v, want %s", path, err, want)
		}
	}
}

// If a user may not upload to a folder in the inbox, the error names the user's own folder
// in the inbox.
func TestForbiddenNamesOwnInbox(t *testing.T) {
	for _, given := range [][]events.Data{nil, {created(1, 0, "Inbox", ""), created(2, 1, "alice", "user:alice")}} {
		for _, path := range []string{"Inbox", "Inbox/alice", "Inbox/alice/x", "Inbox/none"} {
			_, err := fold(given).MayFile(bob, target(path))
			if want := fmt.Sprintf("you may not write in folder %q; your own folder there is %q", path, "Inbox/bob"); err == nil || err.Error() != want {
				t.Errorf("MayFile(%s): %v, want %s", path, err, want)
			}
		}
	}
}

// ReadablePath starts at the topmost folder that the user may read, and hides the folders
// above.
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
			t.Errorf("ReadablePath for %s = %q, want %q", principal, got, want)
		}
	}
	if got := strings.Join(f.ReadablePath(events.User{Principal: "user:root", Admin: true}, low), "/"); got != "Top/Middle/Low" {
		t.Errorf("ReadablePath for an administrator = %q, want the whole path", got)
	}
}
