package access

import (
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/queries/queriestest"

	"github.com/google/uuid"
)

func TestAccessAfterListingFolders(t *testing.T) {
	w := queriestest.Open(t)
	top := w.AddFolder(uuid.Nil, "Top", "user:alice")
	w.Share(top, "user:bob", "write")
	sub := w.AddFolder(top, "Sub", "")
	w.Settle()
	admin, alice, bob := queriestest.Admin, queriestest.Alice, queriestest.Bob
	for _, c := range []struct {
		user events.User
		want folderAccess
	}{{admin, folderAccess{events.Own, "Top/Sub"}}, {alice, folderAccess{events.Own, "Top/Sub"}}, {bob, folderAccess{events.Write, "Top/Sub"}}} {
		v, err := New(t.Context(), w.Models, c.user)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Readable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := v.folder(t.Context(), sub.String()); err != nil || got != c.want {
			t.Errorf("folder for %s = %+v, %v, want %+v", c.user.Principal, got, err, c.want)
		}
		if path, readable, err := v.Path(t.Context(), sub.String()); err != nil || !readable || path != "Top/Sub" {
			t.Errorf("Path for %s = %q, %v, %v, want a readable folder at Top/Sub", c.user.Principal, path, readable, err)
		}
	}
}

func TestQueriesUseIndexes(t *testing.T) {
	projectionstest.OfFiles(t)
	queriestest.NoScans(t, map[string]queriestest.Statement{
		"granted": {SQL: foldersBelow(grantedFolders), Args: 1},
		"steps":   {SQL: stepsTo, Args: 2},
		"top":     {SQL: foldersBelow(topFolders), Args: 1},
	})
}
