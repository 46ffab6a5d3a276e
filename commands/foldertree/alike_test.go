package foldertree_test

import (
	"strings"
	"testing"

	"annals/commands/commandstest"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// A name that looks like the name of a folder in the same parent is refused. The error
// contains the other name if the user may read that folder. Names that differ only in ASCII
// letters and digits are allowed, and existing folders with names that look alike may be
// renamed.
func TestAlikeNamesRefused(t *testing.T) {
	given := append(commandstest.Folders(),
		created(20, 0, "Fin\u200bance", "user:eve"), // such names are refused now, but exist in old logs
		created(24, 0, "lnbox", "user:eve"), created(25, 24, "A  B", ""),
		created(21, 1, "report1", ""), created(22, 1, "Отчёт", ""), created(23, 5, "Рlans", ""),
	)
	name := func(n string) *string { return &n }
	parent := func(n byte) *uuid.UUID { p := id(n); return &p }
	for _, test := range []struct {
		what string
		user events.User
		when interface {
			Decide(*foldertree.Tree, events.User) ([]events.Data, error)
		}
		kind fault.Kind
		says string
	}{
		{"Cyrillic letters beside a Latin name", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "Рlаns"}}, fault.Conflict, `the name "Рlаns" looks like "Plans", another folder here: at position 1 there is U+0420, and U+0050 in the other`},
		{"Cyrillic letters in another case", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "рlans"}}, fault.Conflict, `looks like "Plans"`},
		{"like a top-level folder of another user", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Bоb's"}}, fault.Conflict, `looks like one that is taken here`},
		{"the same, by an admin", admin, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Bоb's"}}, fault.Conflict, `looks like "Bob's"`},
		{"like a name with an invisible character", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Finance"}}, fault.Conflict, `looks like one that is taken`},
		{"an invisible character", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "Pl\u200bans"}}, fault.Invalid, "U+200B ZERO WIDTH SPACE at position 3"},
		{"a character that changes the direction", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "\u202ePlans"}}, fault.Invalid, "U+202E RIGHT-TO-LEFT OVERRIDE at position 1"},
		{"like the inbox", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Inbох"}}, fault.Conflict, `looks like "Inbox"`},
		{"like the inbox, in lower case", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "inbox"}}, fault.Conflict, `the name "inbox" looks like "Inbox"`},
		{"like the inbox, in upper case", admin, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "INBOX"}}, fault.Conflict, `looks like "Inbox"`},
		{"like the inbox, with digits", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "1nb0x"}}, fault.Conflict, `looks like "Inbox"`},
		{"like the inbox, with a bar", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "|nbox"}}, fault.Conflict, `looks like "Inbox"`},
		{"like the inbox, in Greek upper case", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "ΙΝΒΟΧ"}}, fault.Conflict, `looks like "Inbox"`},
		{"like the inbox, by a move to the top level", admin, foldertree.ChangeFolder{ID: id(23), Version: -1, Parent: parent(0), Name: name("lNBOX")}, fault.Conflict, `looks like "Inbox"`},
		{"like the inbox, but not at the top level", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "inbox"}}, 0, ""},
		{"longer than the inbox", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Inboxes"}}, 0, ""},
		{"like a sibling, in upper case", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "PLANS"}}, 0, ""},
		{"in an old folder that looks like the inbox", events.User{Principal: "user:eve"}, creation{foldertree.CreateFolder{Parent: id(24), Name: "Notes"}}, 0, ""},
		{"renaming an old folder that looks like the inbox", events.User{Principal: "user:eve"}, foldertree.ChangeFolder{ID: id(24), Version: -1, Name: name("Post")}, 0, ""},
		{"like a sibling, with one space less", events.User{Principal: "user:eve"}, creation{foldertree.CreateFolder{Parent: id(24), Name: "A B"}}, fault.Conflict, `the name "A B" looks like "A  B", another folder here: at position 3 there is U+0042, and U+0020 in the other`},
		{"several blanks", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "A  B"}}, 0, ""},
		{"renaming a folder with two spaces", events.User{Principal: "user:eve"}, foldertree.ChangeFolder{ID: id(25), Version: -1, Name: name("A B")}, 0, ""},
		{"renamed to another script", alice, foldertree.ChangeFolder{ID: id(4), Version: -1, Name: name("Планы")}, 0, ""},
		{"renamed to look like a sibling", alice, foldertree.ChangeFolder{ID: id(4), Version: -1, Name: name("rероrt1")}, fault.Conflict, `looks like "report1"`},
		{"moved next to a folder that looks like it", admin, foldertree.ChangeFolder{ID: id(23), Version: -1, Parent: parent(1)}, fault.Conflict, `looks like "Plans"`},
		{"moved and renamed", admin, foldertree.ChangeFolder{ID: id(23), Version: -1, Parent: parent(1), Name: name("Pläne")}, 0, ""},
		{"like a sibling, in ASCII", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "reportl"}}, 0, ""},
		{"with another letter", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "Отчет"}}, 0, ""},
		{"like a folder that is not a sibling", alice, creation{foldertree.CreateFolder{Parent: id(4), Name: "rероrt1"}}, 0, ""},
		{"renaming an old folder", events.User{Principal: "user:eve"}, foldertree.ChangeFolder{ID: id(20), Version: -1, Name: name("Finance")}, 0, ""},
		{"moving an old folder", admin, foldertree.ChangeFolder{ID: id(20), Version: -1, Parent: parent(1)}, 0, ""},
	} {
		data, err := test.when.Decide(fold(given), test.user)
		if fault.KindOf(err) != test.kind && err != nil || (err != nil) != (test.kind != 0) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: Decide = %v, %v, want %v with %q", test.what, data, err, test.kind, test.says)
		}
	}
}

// Of the files of a job, Accept refuses only those whose new folder would look like an
// existing one. The folder Inbox can be created even if an older folder looks like it.
func TestAcceptRefusesAlikeFolders(t *testing.T) {
	given := append(commandstest.Folders()[:6:6], created(7, 0, "Inbох", "user:eve"))
	given = append(given, created(8, 0, "inbox", "user:alice"), created(9, 8, "A  B", ""))
	tree := fold(given)
	data := []events.Data{
		events.FileAccepted{File: 0, Name: "a.md", Folder: "Reports/Рlans/Q1", SHA256: "x"},
		events.FileAccepted{File: 1, Name: "b.md", Folder: "Reports/Plans/Q1", SHA256: "y"},
		events.FileAccepted{File: 2, Name: "c.md", Folder: "Inbox/alice", SHA256: "z"},
		events.FileAccepted{File: 3, Name: "d.md", Folder: "Вob's", SHA256: "z"},
		events.FileAccepted{File: 4, Name: "e  e.md", Folder: "inbox/New", SHA256: "z"}, // the folder inbox exists, so only New is created
		events.FileAccepted{File: 5, Name: "f.md", Folder: "inbox/A  B", SHA256: "z"},
		events.FileAccepted{File: 6, Name: "g.md", Folder: "inbox/A B", SHA256: "z"},
		events.FileAccepted{File: 7, Name: "h.md", Folder: "INBOX/alice", SHA256: "z"},
	}
	if err := tree.Accept(alice, data); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`looks like "Plans"`, "", "", "looks like one that is taken", "", "", `looks like "A  B"`, `looks like "Inbox"`} {
		f := data[i].(events.FileAccepted)
		if (f.Refused != "") != (want != "") || !strings.Contains(f.Refused, want) || f.Refused != "" && f.SHA256 != "" {
			t.Errorf("file %d is refused by %q, want %q", i, f.Refused, want)
		}
	}
	to, _ := foldertree.Destination{Path: "Inbox/alice"}.Split()
	if made, err := foldertree.NewEnsureFolder(alice, to).Decide(tree); err != nil || len(made) != 2 {
		t.Errorf("Decide for the inbox = %v, %v, want two folders", made, err)
	}
	to, _ = foldertree.Destination{Path: "Reports/Рlans"}.Split()
	if made, err := foldertree.NewEnsureFolder(alice, to).Decide(tree); !fault.Is(err, fault.Conflict) {
		t.Errorf("Decide for a folder that looks like another = %v, %v, want conflict", made, err)
	}
}

// The tree's index by lookKey stays correct after creations, renames, moves and deletions.
func TestLooksIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := foldertree.New(foldertree.Rules{})
		var data []events.Data
		folder := rapid.ByteRange(1, 6)
		for i := range 30 {
			n, parent := folder.Draw(t, "folder"), rapid.ByteRange(0, 2).Draw(t, "parent")
			name := rapid.SampledFrom([]string{"Plans", "Рlans", "Pl\u200bans", "Q1", "Ql"}).Draw(t, "name")
			switch {
			case i < 6:
				data = append(data, created(byte(i+1), 0, name, ""))
			case rapid.Bool().Draw(t, "rename"):
				data = append(data, renamed(n, name))
			case n > 2:
				data = append(data, moved(n, parent, ""))
			}
		}
		data = append(data, events.FolderDeleted{Folder: id(folder.Draw(t, "deleted"))})
		commandstest.Fold(tree, data)
		if err := tree.CheckLooks(); err != nil {
			t.Error(err)
		}
	})
}
