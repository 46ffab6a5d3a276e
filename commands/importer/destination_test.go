package importer

import (
	"testing"

	"annals/commands/foldertree"
	"annals/events"

	"github.com/google/uuid"
)

// change renames or moves a folder of alice.
func (b *fixture) change(c foldertree.ChangeFolder) {
	b.Helper()
	c.Version = -1
	if _, err := b.handler().ChangeFolder(b.Context(), alice, "", c); err != nil {
		b.Fatal(err)
	}
}

// folder returns a folder of alice, and creates it if it does not exist.
func (b *fixture) folder(path string) uuid.UUID {
	b.Helper()
	id, err := b.handler().EnsureFolder(b.Context(), alice, events.Cause{}, foldertree.Destination{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	return id
}

var bob = events.User{Principal: "user:bob"}

// share gives a user access to a folder of alice; access "none" withdraws the user's access.
func (b *fixture) share(path string, user events.User, access string) {
	b.Helper()
	c := foldertree.ShareFolder{ID: b.folder(path), Version: -1}
	if access != "none" {
		c.Permissions = []events.Permission{{Principal: user.Principal, Access: access}}
	}
	if _, err := b.handler().ShareFolder(b.Context(), alice, "", c); err != nil {
		b.Fatal(err)
	}
	if access == "none" {
		return
	}
	if _, err := b.handler().AcceptInvitation(b.Context(), user, "", foldertree.AcceptInvitation{Folder: c.ID}); err != nil {
		b.Fatal(err)
	}
}

// While files wait to be read, their folder is renamed, moved or deleted, or their user
// loses access to it. The files must follow the folder, or fail.
func TestFilesFollowMovedFolder(t *testing.T) {
	first := newFixture(t)
	name := "Past"
	for _, test := range []struct {
		name string
		then func(b *fixture, library uuid.UUID) // called while the files wait
		path string                              // path of the folder afterwards
		want string                              // the error
	}{
		{"a rename", func(b *fixture, library uuid.UUID) {
			b.change(foldertree.ChangeFolder{ID: library, Name: &name})
		}, "Past", ""},
		{"a move, and a new folder with the old name", func(b *fixture, library uuid.UUID) {
			archive := b.folder("Archive")
			b.change(foldertree.ChangeFolder{ID: library, Parent: &archive})
			b.folder("Library")
		}, "Archive/Library", ""},
		{"a deletion", func(b *fixture, _ uuid.UUID) { b.deleteFolder("Library") }, "",
			`folder "Library" was deleted before the file was filed in it`},
		{"a withdrawal", func(b *fixture, _ uuid.UUID) { b.share("Library", bob, "none") }, "", `you may not write in folder "Library"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := first.again()
			b.TB = t
			library := b.folder("Library")
			b.share("Library", bob, "write")
			job, work := b.accept(bob, doc{"a.md", "Library", "a"}, doc{"b.md", "Library/new/er", "b"})
			test.then(b, library)
			if nacked := b.deliver(b.importer(b.driver), work); len(nacked) > 0 {
				t.Errorf("rejected %v, want none", nacked)
			}
			o := b.outcome(job)
			if test.want != "" {
				if o.failed[0] != test.want || len(o.documents) > 0 {
					t.Errorf("failed with %q and created %v, want %q", o.failed[0], o.documents, test.want)
				}
				return
			}
			want := []uuid.UUID{library, b.folder(test.path + "/new/er")}
			for file, folder := range want {
				if got := o.documents[o.imported[file].Document].Folder; got != folder {
					t.Errorf("file %d was filed in folder %v, want %v; failed: %v", file, got, folder, o.failed)
				}
			}
			for _, e := range b.all() {
				if folder, ok := e.Data.(events.FolderCreated); ok && folder.Owner == bob.Principal {
					t.Errorf("folder %q was created with bob as its owner", folder.Name)
				}
			}
		})
	}
}
