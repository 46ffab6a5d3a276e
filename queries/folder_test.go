package queries_test

import (
	"testing"

	"annals/events"

	"github.com/google/uuid"
)

func TestFolderAt(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Reports", "user:alice")
	year := f.folder(top, "2024", "")
	f.share(year, "group:staff", "own")
	f.settle()
	for _, c := range []struct {
		user events.User
		path string
		want uuid.UUID
	}{
		{alice, "Reports", top}, {alice, "Reports/2024", year}, {admin, " /Reports/ 2024", year}, {alice, "2024", uuid.Nil}, {alice, "", uuid.Nil},
		{bob, "Reports/2024", year}, {bob, "Reports", uuid.Nil}, {bob, "2024", uuid.Nil}, {eve, "Reports/2024", uuid.Nil},
	} {
		got, found, err := f.FolderAt(t.Context(), c.user, c.path)
		if err != nil || got.ID != c.want || found != (c.want != uuid.Nil) {
			t.Errorf("FolderAt(%s, %q) = %+v, %v, %v; want %s", c.user.Principal, c.path, got, found, err, c.want)
		}
		if c.user.Principal == bob.Principal && got.Parent != uuid.Nil {
			t.Errorf("bob gets the parent %s, which he may not read", got.Parent)
		}
	}
	f.add(events.Folders, events.FolderDeleted{Folder: top})
	f.settle()
	if got, found, err := f.FolderAt(t.Context(), admin, "Reports/2024"); err != nil || found {
		t.Errorf("once it is deleted it is %+v, %v, %v", got, found, err)
	}
}
