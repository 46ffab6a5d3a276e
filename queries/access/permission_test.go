package access_test

import (
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/queries/access"
	"annals/queries/queriestest"

	"github.com/google/uuid"
)

// fixture is a log with read models, and the Rights that reads them.
type fixture struct {
	*queriestest.World
	rights *access.Rights
	t      testing.TB
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := queriestest.Open(t)
	return &fixture{w, &access.Rights{Models: w.Models}, t}
}

var (
	admin = queriestest.Admin
	alice = queriestest.Alice
	bob   = queriestest.Bob
	eve   = queriestest.Eve
)

func TestPermissionsRequireOwnership(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sub := f.AddFolder(top, "Sub", "")
	list := []events.Permission{{Principal: "group:staff", Access: "write"}, {Principal: "user:alice", Access: "read"}, {Principal: "user:carol", Access: "own"}}
	f.Append(events.Folders, events.FolderShared{Folder: top, Permissions: list})
	f.Settle()
	for _, user := range []events.User{alice, admin, {Principal: "user:carol"}} {
		p, err := f.rights.Permissions(t.Context(), user, top)
		if err != nil || !slices.Equal(p.Owners, []events.Principal{"user:alice"}) || !slices.Equal(p.List, list) || p.Version != 2 {
			t.Errorf("Permissions(%s) = %+v, %v", user.Principal, p, err)
		}
		p, err = f.rights.Permissions(t.Context(), user, sub)
		if err != nil || len(p.Owners) != 0 || len(p.List) != 0 || p.Version != 1 {
			t.Errorf("Permissions(%s) of the subfolder = %+v, %v, want none", user.Principal, p, err)
		}
	}
	if p, err := f.rights.Permissions(t.Context(), bob, top); !fault.Is(err, fault.Forbidden) {
		t.Errorf("Permissions(bob) = %+v, %v, want fault.Forbidden", p, err)
	}
	for _, id := range []uuid.UUID{top, sub, uuid.New()} {
		if p, err := f.rights.Permissions(t.Context(), eve, id); !fault.Is(err, fault.NotFound) {
			t.Errorf("Permissions(eve) = %+v, %v, want fault.NotFound", p, err)
		}
	}
	f.Append(events.Folders, events.FolderDeleted{Folder: sub})
	f.Settle()
	if _, err := f.rights.Permissions(t.Context(), admin, sub); !fault.Is(err, fault.NotFound) {
		t.Errorf("Permissions of a deleted folder: %v, want fault.NotFound", err)
	}
}

func TestPermissionsMatchVersion(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	const changes = 300
	f.Settle()
	ended := make(chan error, 1)
	go func() {
		for {
			p, err := f.rights.Permissions(t.Context(), alice, top)
			if err == nil && p.Version > 1 && (len(p.List) != 1 || p.List[0].Principal != events.Principal(fmt.Sprint("user:", p.Version))) {
				err = fmt.Errorf("version %d has the list %v", p.Version, p.List)
			}
			if err != nil || p.Version == changes+1 {
				ended <- err
				return
			}
		}
	}()
	for version := range changes {
		f.Share(top, events.Principal(fmt.Sprint("user:", version+2)), "read")
		f.Await(f.Models.Vault)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestFolderPathsAndAccess(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sub := f.AddFolder(top, "Sub", "")
	low := f.AddFolder(sub, "Low", "")
	gone := f.AddFolder(uuid.Nil, "Gone", "user:alice")
	f.Append(events.Folders, events.FolderShared{Folder: sub, Permissions: []events.Permission{{Principal: "user:bob", Access: "write"}}}, events.FolderDeleted{Folder: gone})
	f.Settle()
	for _, c := range []struct {
		user  events.User
		paths []string
		can   []events.Access // in top, sub, low and gone
	}{
		{alice, []string{"Top", "Top/Sub", "Top/Sub/Low"}, []events.Access{events.Own, events.Own, events.Own, 0}},
		{bob, []string{"Top/Sub", "Top/Sub/Low"}, []events.Access{0, events.Write, events.Write, 0}},
		{admin, []string{"Top", "Top/Sub", "Top/Sub/Low"}, []events.Access{events.Own, events.Own, events.Own, 0}},
		{events.User{Principal: "user:nobody"}, nil, make([]events.Access, 4)},
	} {
		if got, err := f.rights.FolderPaths(t.Context(), c.user); err != nil || !slices.Equal(got, c.paths) {
			t.Errorf("FolderPaths(%s) = %q, %v, want %q", c.user.Principal, got, err, c.paths)
		}
		for i, folder := range []uuid.UUID{top, sub, low, gone} {
			got, err := f.rights.Access(t.Context(), c.user, folder)
			if got != c.can[i] || (got == 0) != fault.Is(err, fault.NotFound) {
				t.Errorf("Access(%s, %d) = %v, %v, want %v", c.user.Principal, i, got, err, c.can[i])
			}
		}
	}
}
