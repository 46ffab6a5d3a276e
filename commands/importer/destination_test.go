package importer

import (
	"testing"

	"annals/commands/foldertree"
	"annals/events"

	"github.com/google/uuid"
)

// change is a change of a folder of alice's.
func (b *bench) change(c foldertree.ChangeFolder) {
	b.Helper()
	c.Version = -1
	if _, err := b.handler().ChangeFolder(b.Context(), alice, "", c); err != nil {
		b.Fatal(err)
	}
}

// folder makes a folder of alice's, or returns the one there is.
func (b *bench) folder(path string) uuid.UUID {
	b.Helper()
	id, err := b.handler().EnsureFolder(b.Context(), alice, events.Cause{}, foldertree.Destination{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	return id
}

var bob = events.User{Principal: "user:bob"}

// share grants a user so much in a folder of alice's; none: nothing.
func (b *bench) share(path string, user events.User, access string) {
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

// A folder may be renamed, moved or deleted, and its user be shut out, while
// the files that go there wait to be read.
func TestFilesFollowMovedFolder(t *testing.T) {
	first := newBench(t)
	name := "Past"
	for _, test := range []struct {
		name string
		then func(b *bench, library uuid.UUID) // while the files wait
		path string                            // of the library's, then
		want string                            // the sentence
	}{
		{"a rename", func(b *bench, library uuid.UUID) {
			b.change(foldertree.ChangeFolder{ID: library, Name: &name})
		}, "Past", ""},
		{"a move, and another by the old name", func(b *bench, library uuid.UUID) {
			archive := b.folder("Archive")
			b.change(foldertree.ChangeFolder{ID: library, Parent: &archive})
			b.folder("Library")
		}, "Archive/Library", ""},
		{"a deletion", func(b *bench, _ uuid.UUID) { b.deleteFolder("Library") }, "",
			`folder "Library" was deleted before the file was filed in it`},
		{"a withdrawal", func(b *bench, _ uuid.UUID) { b.share("Library", bob, "none") }, "", `you may not write in folder "Library"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := first.again()
			b.TB = t
			library := b.folder("Library")
			b.share("Library", bob, "write")
			job, work := b.accept(bob, doc{"a.md", "Library", "a"}, doc{"b.md", "Library/new/er", "b"})
			test.then(b, library)
			if nacked := b.deliver(b.importer(b.driver), work); len(nacked) > 0 {
				t.Errorf("gave back %v", nacked)
			}
			o := b.outcome(job)
			if test.want != "" {
				if o.failed[0] != test.want || len(o.documents) > 0 {
					t.Errorf("failed with %q and made %v, want %q", o.failed[0], o.documents, test.want)
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
				if made, ok := e.Data.(events.FolderCreated); ok && made.Owner == bob.Principal {
					t.Errorf("a folder %q was made for whom files were imported", made.Name)
				}
			}
		})
	}
}
