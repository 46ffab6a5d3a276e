package commands

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

var (
	alice = events.User{Principal: "user:alice", Groups: []events.Principal{"group:staff"}}
	bob   = events.User{Principal: "user:bob"}
	admin = events.User{Principal: "user:root", Admin: true}
)

// id returns the same id for the same number.
func id(n byte) uuid.UUID { return uuid.UUID{15: n} }

// fold gives a state its story.
func fold[S state](s S, story []events.Data) S {
	for i, data := range story {
		s.apply(events.Event{Revision: int64(i), Data: data})
	}
	return s
}

func created(n, parent byte, name string, owner events.Principal) events.Data {
	return events.FolderCreated{Folder: id(n), Parent: id(parent), Name: name, Owner: owner}
}

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
		tree := fold(newTree(), append(story[:len(story):len(story)], test.then...))
		if got := tree.access(test.user, id(test.folder)); got != test.want {
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
		{"whoever makes a top-level folder owns it", nil, bob, "New",
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
		path := strings.Split(test.path, "/")
		c := ensureFolder{user: test.user, to: destination{shown: test.path, names: path}}
		for i := range path {
			c.ids = append(c.ids, id(byte(101+i)))
		}
		got, err := c.decide(fold(newTree(), test.given))
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind {
			t.Errorf("%s: decided %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestForbiddenTellsNothing(t *testing.T) {
	tree := fold(newTree(), []events.Data{created(1, 0, "Secret", "user:alice"), created(2, 1, "deep", "")})
	for _, path := range []string{"Secret", "Secret/deep", "Secret/deep/er", "Secret/none"} {
		_, err := tree.mayFile(bob, destination{shown: path, names: strings.Split(path, "/")})
		if want := fmt.Sprintf("you may not write in folder %q", path); err == nil || err.Error() != want {
			t.Errorf("mayFile(%s) = %v, want %s", path, err, want)
		}
	}
}

// Whoever writes beside his folder in the inbox is told where it is, whatever
// exists there.
func TestForbiddenTellsTheOwnInbox(t *testing.T) {
	for _, given := range [][]events.Data{nil, {created(1, 0, "Inbox", ""), created(2, 1, "alice", "user:alice")}} {
		for _, path := range []string{"Inbox", "Inbox/alice", "Inbox/alice/x", "Inbox/none"} {
			_, err := fold(newTree(), given).mayFile(bob, destination{shown: path, names: strings.Split(path, "/")})
			if want := fmt.Sprintf("you may not write in folder %q; your own folder there is %q", path, "Inbox/bob"); err == nil || err.Error() != want {
				t.Errorf("mayFile(%s) = %v, want %s", path, err, want)
			}
		}
	}
}

func TestRacingMakersMakeOneFolder(t *testing.T) {
	log := events.NewLog(memory.New())
	defer log.Close()
	handlers := []*Handler{{Log: log}, {Log: log}, {Log: log}}
	ids := make([]uuid.UUID, 24)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			path := "shared/" + fmt.Sprint(i%2) + "/leaf"
			if ids[i], err = handlers[i%3].EnsureFolder(t.Context(), alice, events.Cause{}, Destination{Path: path}); err != nil {
				t.Errorf("EnsureFolder(%s): %v", path, err)
			}
		})
	}
	wg.Wait()
	for i, got := range ids {
		if got != ids[i%2] || got == uuid.Nil {
			t.Errorf("maker %d was given folder %v, another maker of the same path %v", i, got, ids[i%2])
		}
	}
	count := 0
	if err := log.ReadStream(t.Context(), events.Folders, 0, func(events.Event) error { count++; return nil }); err != nil || count != 5 {
		t.Errorf("the stream holds %d events (%v), want 5", count, err)
	}
}

func TestCheckImport(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	if _, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, Destination{Path: "Reports/2026"}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		user    events.User
		folders []string
		kind    fault.Kind
	}{
		{alice, []string{"Reports", "New", "Reports/x", "Reports"}, 0},
		{alice, nil, 0},
		{bob, []string{"New", "Reports/x"}, fault.Forbidden},
		{admin, []string{"Reports/x"}, 0},
		{alice, []string{"Reports", "a//b"}, fault.Invalid},
	} {
		if err := h.CheckImport(t.Context(), test.user, test.folders); fault.KindOf(err) != test.kind {
			t.Errorf("CheckImport(%s, %q) = %v, want kind %v", test.user.Principal, test.folders, err, test.kind)
		}
	}
	for path, want := range map[string]bool{"Reports/2026": true, "Reports/none": false, "None": false} {
		folder, found, err := h.FindFolder(t.Context(), alice, Destination{Path: path})
		if err != nil || found != want || found != (folder != uuid.Nil) {
			t.Errorf("FindFolder(%s) = %v, %v, %v; want found %v", path, folder, found, err, want)
		}
	}
}
