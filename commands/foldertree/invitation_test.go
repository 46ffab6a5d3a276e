package foldertree_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"annals/commands/commandstest"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func listOf(n byte, entries ...string) foldertree.ShareFolder {
	return foldertree.ShareFolder{ID: id(n), Version: -1, Permissions: shared(n, entries...).(events.FolderShared).Permissions}
}

func accepted(n byte, who, access, by string) events.Data {
	return events.FolderInvitationAccepted{Folder: id(n), Principal: events.Principal(who), Access: access, By: events.Principal(by)}
}

func declined(n byte, who, by string) events.Data {
	return events.FolderInvitationDeclined{Folder: id(n), Principal: events.Principal(who), By: events.Principal(by)}
}

func unblocked(who, by string) events.Data {
	return events.InviterUnblocked{Principal: events.Principal(who), By: events.Principal(by)}
}

func TestShareInvites(t *testing.T) {
	carolInvited := invited(shared(1), "user:carol=read by user:alice")
	boardOwns := shared(1, "group:board=own")
	still := func(c foldertree.ShareFolder, who ...events.Principal) foldertree.ShareFolder {
		c.Pending = who
		return c
	}
	for _, test := range []folderTest{
		{"a new user", nil, alice, listOf(1, "user:carol=own"), []events.Data{invited(shared(1), "user:carol=own by user:alice")}, 0},
		{"a user with access from a folder above", []events.Data{shared(1, "user:bob=read")}, alice, listOf(3, "user:bob=read"), []events.Data{invited(shared(3), "user:bob=read by user:alice")}, 0},
		{"a group needs no invitation", nil, alice, listOf(1, "group:x=read"), []events.Data{shared(1, "group:x=read")}, 0},
		{"nor does the sharing user", []events.Data{boardOwns}, dave, listOf(1, "group:board=own", "user:dave=read"), []events.Data{shared(1, "group:board=own", "user:dave=read")}, 0},
		{"nor does the creator of the folder", []events.Data{boardOwns}, dave, listOf(1, "group:board=own", "user:alice=read"), []events.Data{shared(1, "group:board=own", "user:alice=read")}, 0},
		{"nor does a share by an administrator", nil, admin, listOf(1, "user:carol=read"), []events.Data{shared(1, "user:carol=read")}, 0},
		{"an owner through a group", []events.Data{boardOwns}, dave, listOf(1, "group:board=own", "user:carol=read"),
			[]events.Data{invited(shared(1, "group:board=own"), "user:carol=read by user:dave through group:board")}, 0},

		{"the same list", []events.Data{carolInvited}, alice, listOf(1, "user:carol=read"), nil, 0},
		{"the same list by an administrator, as pending", []events.Data{carolInvited}, admin, still(listOf(1, "user:carol=read"), "user:carol"), nil, 0},
		{"the same list by an administrator, not as pending", []events.Data{carolInvited}, admin, listOf(1, "user:carol=read"), []events.Data{shared(1, "user:carol=read")}, 0},
		{"the same list by another owner", []events.Data{invited(boardOwns, "user:carol=read by user:alice")}, dave, listOf(1, "group:board=own", "user:carol=read"), nil, 0},
		{"another access by another owner", []events.Data{invited(boardOwns, "user:carol=read by user:alice")}, dave, listOf(1, "group:board=own", "user:carol=write"),
			[]events.Data{invited(boardOwns, "user:carol=write by user:dave through group:board")}, 0},
		{"an invitation left out is withdrawn", []events.Data{carolInvited}, alice, listOf(1), []events.Data{shared(1)}, 0},
		{"an accepted entry stays", []events.Data{carolInvited, accepted(1, "user:carol", "read", "user:alice")}, alice, listOf(1, "user:carol=read"), nil, 0},
		{"an accepted entry gets more access", []events.Data{carolInvited, accepted(1, "user:carol", "read", "user:alice")}, alice, listOf(1, "user:carol=own"), []events.Data{shared(1, "user:carol=own")}, 0},
		{"an accepted entry gets less access", []events.Data{shared(1, "user:carol=own")}, alice, listOf(1, "user:carol=read"), []events.Data{shared(1, "user:carol=read")}, 0},
		{"an accepted entry is sorted in", []events.Data{invited(shared(1, "group:x=read", "user:dave=read"), "user:carol=read by user:alice"), accepted(1, "user:carol", "read", "user:alice")},
			alice, listOf(1, "user:dave=read", "user:carol=read", "group:x=read"), nil, 0},
		{"a removed user is invited again", []events.Data{shared(1, "user:carol=read"), shared(1)}, alice, listOf(1, "user:carol=read"), []events.Data{carolInvited}, 0},
		{"a user who left is invited again", []events.Data{shared(1, "user:carol=read"), events.FolderLeft{Folder: id(1), Principal: "user:carol"}}, alice, listOf(1, "user:carol=read"), []events.Data{carolInvited}, 0},
		{"the same list after the user declined", []events.Data{carolInvited, declined(1, "user:carol", "user:alice")}, alice, listOf(1, "user:carol=read"), nil, 0},
		{"declining does not change the folder's version", []events.Data{carolInvited, declined(1, "user:carol", "user:alice")}, alice, foldertree.ShareFolder{ID: id(1), Version: 2}, []events.Data{shared(1)}, 0},
		{"accepting changes the folder's version", []events.Data{carolInvited, accepted(1, "user:carol", "read", "user:alice")}, alice, foldertree.ShareFolder{ID: id(1), Version: 2}, nil, fault.Conflict},
	} {
		test.run(t)
	}
}

func TestAnswerInvitation(t *testing.T) {
	carolInvited := invited(shared(1, "group:board=own"), "user:carol=read by user:alice")
	byBoard := invited(shared(1, "group:board=own"), "user:carol=read by user:dave through group:board")
	accept, decline := foldertree.AcceptInvitation{id(1)}, foldertree.DeclineInvitation{id(1)}
	byBob := invited(shared(2, "user:bob=own"), "user:carol=read by user:bob")
	for _, test := range []folderTest{
		{"accepted", []events.Data{carolInvited}, carol, accept, []events.Data{accepted(1, "user:carol", "read", "user:alice")}, 0},
		{"declined", []events.Data{carolInvited}, carol, decline, []events.Data{declined(1, "user:carol", "user:alice")}, 0},
		{"by another user", []events.Data{carolInvited}, bob, accept, nil, fault.NotFound},
		{"by an administrator", []events.Data{carolInvited}, admin, accept, nil, fault.NotFound},
		{"by the inviter", []events.Data{carolInvited}, alice, accept, nil, fault.NotFound},
		{"accepted twice", []events.Data{carolInvited, accepted(1, "user:carol", "read", "user:alice")}, carol, accept, nil, 0},
		{"declining after accepting leaves the folder", []events.Data{carolInvited, accepted(1, "user:carol", "read", "user:alice")}, carol, decline,
			[]events.Data{events.FolderLeft{Folder: id(1), Principal: "user:carol"}}, 0},
		{"declining a permission without invitation leaves the folder", []events.Data{shared(1, "user:carol=own")}, carol, decline,
			[]events.Data{events.FolderLeft{Folder: id(1), Principal: "user:carol"}}, 0},
		{"declining a group's permission", []events.Data{shared(1, "group:board=read")}, dave, decline, nil, fault.NotFound},
		{"declining by the creator", nil, alice, decline, nil, fault.NotFound},
		{"accepting after declining", []events.Data{carolInvited, declined(1, "user:carol", "user:alice")}, carol, accept, nil, fault.NotFound},
		{"declined twice", []events.Data{carolInvited, declined(1, "user:carol", "user:alice")}, carol, decline, nil, fault.NotFound},
		{"accepting after the inviter was unblocked", []events.Data{carolInvited, declined(1, "user:carol", "user:alice"), unblocked("user:carol", "user:alice")}, carol, accept,
			[]events.Data{accepted(1, "user:carol", "read", "user:alice")}, 0},
		{"another invitation by a blocked inviter", []events.Data{carolInvited, declined(1, "user:carol", "user:alice"), invited(shared(10), "user:carol=own by user:alice")}, carol, foldertree.AcceptInvitation{id(10)}, nil, fault.NotFound},
		{"the same invitation, repeated by a blocked inviter", []events.Data{carolInvited, declined(1, "user:carol", "user:alice"), shared(1), carolInvited}, carol, accept, nil, fault.NotFound},
		{"an earlier invitation by a blocked inviter", []events.Data{carolInvited, invited(shared(10), "user:carol=own by user:alice"), declined(1, "user:carol", "user:alice"), invited(shared(10, "group:x=read"), "user:carol=own by user:alice")},
			carol, foldertree.AcceptInvitation{id(10)}, nil, fault.NotFound},
		{"an invitation by another inviter", []events.Data{carolInvited, declined(1, "user:carol", "user:alice"), byBoard}, carol, accept, []events.Data{accepted(1, "user:carol", "read", "user:dave")}, 0},

		{"withdrawn", []events.Data{carolInvited, shared(1)}, carol, accept, nil, fault.NotFound},
		{"the folder deleted", []events.Data{carolInvited, events.FolderDeleted{Folder: id(1)}}, carol, accept, nil, fault.NotFound},
		{"the folder above deleted", []events.Data{invited(shared(3), "user:carol=read by user:alice"), events.FolderDeleted{Folder: id(1)}}, carol, foldertree.AcceptInvitation{id(3)}, nil, fault.NotFound},
		{"the folder above deleted before", []events.Data{events.FolderDeleted{Folder: id(1)}, invited(shared(3), "user:carol=read by user:alice")}, carol, foldertree.AcceptInvitation{id(3)}, nil, fault.NotFound},
		{"the folder moved", []events.Data{carolInvited, moved(1, 10, "")}, carol, accept, []events.Data{accepted(1, "user:carol", "read", "user:alice")}, 0},
		{"the inviter no longer an owner", []events.Data{byBob, invited(shared(2, "user:bob=write"), "user:carol=read by user:bob")}, carol, foldertree.AcceptInvitation{id(2)}, nil, fault.NotFound},
		{"the inviter's group no longer an owner", []events.Data{byBoard, invited(shared(1), "user:carol=read by user:dave through group:board")}, carol, accept, nil, fault.NotFound},
		{"no such folder", nil, carol, foldertree.AcceptInvitation{id(99)}, nil, fault.NotFound},

		{"unblocked", []events.Data{carolInvited, declined(1, "user:carol", "user:alice")}, carol, foldertree.UnblockInviter{"user:alice"}, []events.Data{unblocked("user:carol", "user:alice")}, 0},
		{"unblocked by another user", []events.Data{carolInvited, declined(1, "user:carol", "user:alice")}, bob, foldertree.UnblockInviter{"user:alice"}, nil, 0},
		{"unblocked, but not blocked before", nil, carol, foldertree.UnblockInviter{"user:alice"}, nil, 0},
	} {
		test.run(t)
	}
}

// Only accepted invitations grant access.
func TestInvitationGrantsAfterAcceptance(t *testing.T) {
	stream := append(commandstest.Folders(), invited(shared(1), "user:carol=own by user:alice"))
	for _, step := range []struct {
		then events.Data
		want events.Access
	}{
		{nil, events.NoAccess},
		{declined(1, "user:carol", "user:alice"), events.NoAccess},
		{unblocked("user:carol", "user:alice"), events.NoAccess},
		{accepted(1, "user:carol", "own", "user:alice"), events.Own},
		{shared(1, "user:carol=read"), events.Read},
		{events.FolderLeft{Folder: id(1), Principal: "user:carol"}, events.NoAccess},
	} {
		if step.then != nil {
			stream = append(stream, step.then)
		}
		tree := fold(stream)
		if got := tree.Access(carol, id(3)); got != step.want {
			t.Errorf("after %+v Access = %v, want %v", step.then, got, step.want)
		}
		if owns := slices.Contains(tree.Owners(id(1)), carol.Principal); owns != (step.want == events.Own) {
			t.Errorf("after %+v carol is an owner: %v", step.then, owns)
		}
	}
}

func TestRulesOfSharing(t *testing.T) {
	for _, test := range []struct {
		name  string
		rules foldertree.Rules
		given []events.Data
		user  events.User
		when  foldertree.ShareFolder
		then  []events.Data
		kind  fault.Kind
	}{
		{"open shares", foldertree.Rules{OpenShares: true}, nil, alice, listOf(1, "user:carol=own"), []events.Data{shared(1, "user:carol=own")}, 0},
		{"open shares, with a pending invitation", foldertree.Rules{OpenShares: true}, []events.Data{invited(shared(1), "user:carol=own by user:alice")}, alice,
			foldertree.ShareFolder{ID: id(1), Version: -1, Permissions: listOf(1, "user:carol=own").Permissions, Pending: []events.Principal{"user:carol"}}, nil, 0},
		{"own groups: a group of the owner", foldertree.Rules{ShareWith: foldertree.ShareWithOwnGroups}, nil, alice, listOf(1, "group:staff=read"), []events.Data{shared(1, "group:staff=read")}, 0},
		{"own groups: another group", foldertree.Rules{ShareWith: foldertree.ShareWithOwnGroups}, nil, alice, listOf(1, "group:board=read"), nil, fault.Forbidden},
		{"own groups: an existing entry stays", foldertree.Rules{ShareWith: foldertree.ShareWithOwnGroups}, []events.Data{shared(1, "group:board=write")}, alice, listOf(1, "group:board=read", "user:bob=read"),
			[]events.Data{invited(shared(1, "group:board=read"), "user:bob=read by user:alice")}, 0},
		{"own groups: an existing entry gets more access", foldertree.Rules{ShareWith: foldertree.ShareWithOwnGroups}, []events.Data{shared(1, "group:board=read")}, alice, listOf(1, "group:board=own"), nil, fault.Forbidden},
		{"own groups: by an administrator", foldertree.Rules{ShareWith: foldertree.ShareWithOwnGroups}, nil, admin, listOf(1, "group:board=own"), []events.Data{shared(1, "group:board=own")}, 0},
		{"admins only: by an owner", foldertree.Rules{ShareWith: foldertree.ShareByAdmins}, nil, alice, listOf(1, "user:bob=read"), nil, fault.Forbidden},
		{"admins only: by an owner, with open shares", foldertree.Rules{ShareWith: foldertree.ShareByAdmins, OpenShares: true}, nil, alice, listOf(1, "group:staff=read"), nil, fault.Forbidden},
		{"admins only: by an administrator", foldertree.Rules{ShareWith: foldertree.ShareByAdmins}, nil, admin, listOf(1, "user:bob=read"), []events.Data{shared(1, "user:bob=read")}, 0},
		{"admins only: an owner withdraws entries", foldertree.Rules{ShareWith: foldertree.ShareByAdmins}, nil, alice, listOf(2), []events.Data{shared(2)}, 0},
		{"100 invitations", foldertree.Rules{}, many(5, 19), alice, listOf(1, "user:new=read"), []events.Data{invited(shared(1), "user:new=read by user:alice")}, 0},
		{"101 invitations", foldertree.Rules{}, many(5, 20), alice, listOf(1, "user:new=read"), nil, fault.Forbidden},
		{"too many in one list", foldertree.Rules{MaxSent: 2}, nil, alice, listOf(1, "user:a=read", "user:b=read", "user:c=read"), nil, fault.Forbidden},
		{"the limit in one list", foldertree.Rules{MaxSent: 3}, nil, alice, listOf(1, "user:a=read", "user:b=read", "user:c=read"),
			[]events.Data{invited(shared(1), "user:a=read by user:alice", "user:b=read by user:alice", "user:c=read by user:alice")}, 0},
		{"declined invitations count, so that the inviter does not notice", foldertree.Rules{MaxSent: 1}, []events.Data{invited(shared(10), "user:a=read by user:alice"), declined(10, "user:a", "user:alice")}, alice, listOf(1, "user:b=read"), nil, fault.Forbidden},
		{"withdrawing some while over the limit", foldertree.Rules{MaxSent: 1}, many(2, 2), alice, listOf(100, "user:0-0=read"), []events.Data{invited(shared(100), "user:0-0=read by user:alice")}, 0},
		{"invitations to deleted folders do not count", foldertree.Rules{MaxSent: 1}, []events.Data{invited(shared(2), "user:a=read by user:alice"), events.FolderDeleted{Folder: id(1)}}, alice, listOf(10, "user:b=read"),
			[]events.Data{invited(shared(10), "user:b=read by user:alice")}, 0},
		{"20 to the same user", foldertree.Rules{}, same(19), alice, listOf(1, "user:carol=read"), []events.Data{invited(shared(1), "user:carol=read by user:alice")}, 0},
		{"21 to the same user", foldertree.Rules{}, same(20), alice, listOf(1, "user:carol=read"), nil, fault.Forbidden},
		{"a user with too many invitations", foldertree.Rules{MaxReceived: 1}, []events.Data{invited(shared(5), "user:carol=read by user:bob")}, alice, listOf(1, "user:carol=read"), nil, fault.Forbidden},
		{"a user who declined", foldertree.Rules{MaxReceived: 1}, []events.Data{invited(shared(5), "user:carol=read by user:bob"), declined(5, "user:carol", "user:bob")}, alice, listOf(1, "user:carol=read"),
			[]events.Data{invited(shared(1), "user:carol=read by user:alice")}, 0},
	} {
		tree := foldWith(test.rules, append(commandstest.Folders(), test.given...))
		got, err := test.when.Decide(tree, test.user)
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind {
			t.Errorf("%s: decided %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

// many returns the events that create folders of alice, with the numbers 100 and up, each
// with invitations to a number of users.
func many(folders, users int) (stream []events.Data) {
	for f := range folders {
		n := byte(100 + f)
		var list []string
		for u := range users {
			list = append(list, fmt.Sprintf("user:%d-%d=read by user:alice", f, u))
		}
		stream = append(stream, created(n, 0, fmt.Sprint("Many ", f), "user:alice"), invited(shared(n), list...))
	}
	return stream
}

// same returns the events of a number of folders to which alice has invited carol. Carol has
// declined one of these invitations.
func same(folders int) (stream []events.Data) {
	for f := range folders {
		n := byte(100 + f)
		stream = append(stream, created(n, 0, fmt.Sprint("Same ", f), "user:alice"), invited(shared(n), "user:carol=read by user:alice"))
	}
	return append(stream, declined(100, "user:carol", "user:alice"))
}

func TestTopLevelRules(t *testing.T) {
	top := func(names ...string) foldertree.EnsureFolder {
		return foldertree.NewEnsureFolder(alice, target(strings.Join(names, "/")))
	}
	name := "New"
	for _, test := range []struct {
		rules foldertree.TopLevel
		want  map[string]bool // rights that alice, who is in group:staff, must have
	}{
		{foldertree.TopLevel{}, map[string]bool{"make": true, "file": true, "move": true}},
		{foldertree.TopLevel{Restricted: true}, map[string]bool{}},
		{foldertree.TopLevel{Restricted: true, To: "group:board"}, map[string]bool{}},
		{foldertree.TopLevel{Restricted: true, To: "group:staff"}, map[string]bool{"make": true, "file": true, "move": true}},
	} {
		tree := foldWith(foldertree.Rules{TopLevel: test.rules}, commandstest.Folders())
		for what, decide := range map[string]func() ([]events.Data, error){
			"make": func() ([]events.Data, error) { return foldertree.CreateFolder{Name: name}.Decide(tree, alice, id(50)) },
			"file": func() ([]events.Data, error) { return top("New", "below").Decide(tree) },
			"move": func() ([]events.Data, error) {
				return foldertree.ChangeFolder{ID: id(3), Version: -1, Parent: new(uuid.UUID)}.Decide(tree, alice)
			},
			"below": func() ([]events.Data, error) {
				return foldertree.CreateFolder{Name: name, Parent: id(1)}.Decide(tree, alice, id(50))
			},
			"to one": func() ([]events.Data, error) { return top("Reports", "below").Decide(tree) },
			"inbox":  func() ([]events.Data, error) { return top("Inbox", "alice", "below").Decide(tree) },
			"rename": func() ([]events.Data, error) {
				return foldertree.ChangeFolder{ID: id(1), Version: -1, Name: &name}.Decide(tree, alice)
			},
			"admin": func() ([]events.Data, error) { return foldertree.CreateFolder{Name: name}.Decide(tree, admin, id(50)) },
			"first": func() ([]events.Data, error) { return top("Inbox", "alice").Decide(foldertree.New(tree.Rules())) },
			"descend": func() ([]events.Data, error) {
				return foldertree.ChangeFolder{ID: id(10), Version: -1, Parent: ptr(id(1))}.Decide(tree, alice)
			},
		} {
			_, restricted := map[string]bool{"make": true, "file": true, "move": true}[what]
			data, err := decide()
			if want := !restricted || test.want[what]; want != (err == nil && len(data) > 0) || !want && !fault.Is(err, fault.Forbidden) {
				t.Errorf("under %+v, %s: Decide = %v, %v; allowed: %v", test.rules, what, data, err, want)
			}
		}
	}
	// The error for a folder that the user may not read is the same as for a missing one.
	tree := foldWith(foldertree.Rules{TopLevel: foldertree.TopLevel{Restricted: true}}, commandstest.Folders())
	_, hidden := tree.MayFile(alice, target("Bob's"))
	_, none := tree.MayFile(alice, target("None"))
	if hidden == nil || none == nil || strings.ReplaceAll(hidden.Error(), "Bob's", "None") != none.Error() || !strings.Contains(none.Error(), "only administrators may") {
		t.Errorf("MayFile of a hidden folder: %v; of a missing one: %v; want the same, about administrators", hidden, none)
	}
}

func ptr[T any](v T) *T { return &v }

// Users get access to a folder only by their own commands: they create it, share it with
// themselves or accept an invitation. Administrators are not tested.
func TestAccessNeedsConsent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := []events.User{alice, bob, carol, dave}
		tree := foldertree.New(foldertree.Rules{})
		revision := int64(0)
		accepted := make(map[uuid.UUID]map[events.Principal]bool)
		take := func(data []events.Data, err error) {
			for _, d := range data {
				tree.Apply(events.Event{Revision: revision, Data: d})
				revision++
			}
		}
		for n, user := range users {
			take(foldertree.CreateFolder{Name: "of " + user.Principal.Name()}.Decide(tree, user, id(byte(n+1))))
		}
		note := func(f uuid.UUID, who events.Principal) {
			if accepted[f] == nil {
				accepted[f] = make(map[events.Principal]bool)
			}
			accepted[f][who] = true
		}
		count := byte(len(users))
		folder := rapid.Custom(func(t *rapid.T) uuid.UUID { return id(rapid.ByteRange(1, count).Draw(t, "folder")) })
		user := rapid.SampledFrom(users)
		others := rapid.SliceOfNDistinct(rapid.SampledFrom([]events.Principal{"user:alice", "user:bob", "user:carol", "user:dave"}), 0, 3, rapid.ID[events.Principal])
		steps := map[string]func(*rapid.T, events.User) ([]events.Data, error){
			"create": func(t *rapid.T, u events.User) ([]events.Data, error) {
				if count == 250 {
					return nil, nil
				}
				count++
				return foldertree.CreateFolder{Parent: folder.Draw(t, "parent"), Name: fmt.Sprint(count)}.Decide(tree, u, id(count))
			},
			"move": func(t *rapid.T, u events.User) ([]events.Data, error) {
				return foldertree.ChangeFolder{ID: folder.Draw(t, "id"), Version: -1, Parent: ptr(folder.Draw(t, "to"))}.Decide(tree, u)
			},
			"delete": func(t *rapid.T, u events.User) ([]events.Data, error) {
				return foldertree.DeleteFolder{ID: folder.Draw(t, "id"), Version: -1, Recursive: true}.Decide(tree, u)
			},
			"share": func(t *rapid.T, u events.User) ([]events.Data, error) {
				c := foldertree.ShareFolder{ID: folder.Draw(t, "id"), Version: -1, Pending: others.Draw(t, "pending")}
				for _, p := range others.Draw(t, "with") {
					c.Permissions = append(c.Permissions, events.Permission{Principal: p, Access: rapid.SampledFrom([]string{"read", "own"}).Draw(t, "access")})
				}
				data, err := c.Decide(tree, u)
				if err == nil && slices.ContainsFunc(c.Permissions, func(p events.Permission) bool { return p.Principal == u.Principal }) {
					note(c.ID, u.Principal)
				}
				return data, err
			},
		}
		actions := map[string]func(*rapid.T){
			"accept": func(t *rapid.T) {
				u, f := user.Draw(t, "user"), folder.Draw(t, "id")
				data, err := foldertree.AcceptInvitation{f}.Decide(tree, u)
				if err == nil {
					note(f, u.Principal)
				}
				take(data, err)
			},
			"decline": func(t *rapid.T) {
				u, f := user.Draw(t, "user"), folder.Draw(t, "id")
				data, err := foldertree.DeclineInvitation{f}.Decide(tree, u)
				if err == nil {
					delete(accepted[f], u.Principal)
				}
				take(data, err)
			},
			"unblock": func(t *rapid.T) {
				take(foldertree.UnblockInviter{user.Draw(t, "by").Principal}.Decide(tree, user.Draw(t, "user")))
			},
			"": func(t *rapid.T) {
				if err := tree.Check(); err != nil {
					t.Fatal(err)
				}
				for _, f := range tree.Folders() {
					list, owners := tree.List(f)
					granted := func(who events.Principal) bool {
						return slices.ContainsFunc(list, func(p events.Permission) bool { return p.Principal == who })
					}
					for _, p := range list {
						if !accepted[f][p.Principal] && !slices.Contains(owners, p.Principal) {
							t.Fatalf("%s has %s access to folder %v without having accepted it", p.Principal, p.Access, f)
						}
					}
					maps.DeleteFunc(accepted[f], func(who events.Principal, _ bool) bool { return !granted(who) }) // a user who was removed must accept again
				}
			},
		}
		for _, name := range slices.Sorted(maps.Keys(steps)) {
			actions[name] = func(t *rapid.T) { take(steps[name](t, user.Draw(t, "user"))) }
		}
		t.Repeat(actions)
	})
}
