package foldertree_test

import (
	"strings"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// A name that people would take for one beside it is refused, with the other
// name where the user may see it; names that only differ in plain letters and
// digits are not, nor such as there are already, which may be renamed.
func TestAlikeNamesAreRefused(t *testing.T) {
	given := append(grounds(),
		created(20, 0, "Fin\u200bance", "user:eve"), // made before such names were refused
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
		{"a name of somebody else's at the top level", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Bоb's"}}, fault.Conflict, `looks like one that is taken here`},
		{"the same to an admin", admin, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Bоb's"}}, fault.Conflict, `looks like "Bob's"`},
		{"a name without what hides in another", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Finance"}}, fault.Conflict, `looks like one that is taken`},
		{"what nobody sees", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "Pl\u200bans"}}, fault.Invalid, "U+200B ZERO WIDTH SPACE at position 3"},
		{"what turns the direction", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "\u202ePlans"}}, fault.Invalid, "U+202E RIGHT-TO-LEFT OVERRIDE at position 1"},
		{"the inbox", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Inbох"}}, fault.Conflict, `looks like "Inbox"`},
		{"the inbox in small letters", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "inbox"}}, fault.Conflict, `the name "inbox" looks like "Inbox"`},
		{"the inbox in capitals", admin, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "INBOX"}}, fault.Conflict, `looks like "Inbox"`},
		{"the inbox with digits", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "1nb0x"}}, fault.Conflict, `looks like "Inbox"`},
		{"the inbox with a bar", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "|nbox"}}, fault.Conflict, `looks like "Inbox"`},
		{"the inbox in Greek capitals", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "ΙΝΒΟΧ"}}, fault.Conflict, `looks like "Inbox"`},
		{"a folder moved to the top as an inbox", admin, foldertree.ChangeFolder{ID: id(23), Version: -1, Parent: parent(0), Name: name("lNBOX")}, fault.Conflict, `looks like "Inbox"`},
		{"an inbox elsewhere", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "inbox"}}, 0, ""},
		{"another name than the inbox", alice, creation{foldertree.CreateFolder{Parent: uuid.Nil, Name: "Inboxes"}}, 0, ""},
		{"other names in capitals", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "PLANS"}}, 0, ""},
		{"within what looked like the inbox before", events.User{Principal: "user:eve"}, creation{foldertree.CreateFolder{Parent: id(24), Name: "Notes"}}, 0, ""},
		{"what looked like the inbox before is renamed", events.User{Principal: "user:eve"}, foldertree.ChangeFolder{ID: id(24), Version: -1, Name: name("Post")}, 0, ""},
		{"another number of blanks", events.User{Principal: "user:eve"}, creation{foldertree.CreateFolder{Parent: id(24), Name: "A B"}}, fault.Conflict, `the name "A B" looks like "A  B", another folder here: at position 3 there is U+0042, and U+0020 in the other`},
		{"several blanks", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "A  B"}}, 0, ""},
		{"the blanks are mended", events.User{Principal: "user:eve"}, foldertree.ChangeFolder{ID: id(25), Version: -1, Name: name("A B")}, 0, ""},
		{"renamed in letters of its own", alice, foldertree.ChangeFolder{ID: id(4), Version: -1, Name: name("Планы")}, 0, ""},
		{"renamed to look like a sibling", alice, foldertree.ChangeFolder{ID: id(4), Version: -1, Name: name("rероrt1")}, fault.Conflict, `looks like "report1"`},
		{"moved beside one that is alike", admin, foldertree.ChangeFolder{ID: id(23), Version: -1, Parent: parent(1)}, fault.Conflict, `looks like "Plans"`},
		{"moved and renamed", admin, foldertree.ChangeFolder{ID: id(23), Version: -1, Parent: parent(1), Name: name("Pläne")}, 0, ""},
		{"plain names", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "reportl"}}, 0, ""},
		{"other letters", alice, creation{foldertree.CreateFolder{Parent: id(1), Name: "Отчет"}}, 0, ""},
		{"elsewhere", alice, creation{foldertree.CreateFolder{Parent: id(4), Name: "rероrt1"}}, 0, ""},
		{"an old name is mended", events.User{Principal: "user:eve"}, foldertree.ChangeFolder{ID: id(20), Version: -1, Name: name("Finance")}, 0, ""},
		{"an old name is moved", admin, foldertree.ChangeFolder{ID: id(20), Version: -1, Parent: parent(1)}, 0, ""},
	} {
		data, err := test.when.Decide(fold(foldertree.New(foldertree.Rules{}), given), test.user)
		if fault.KindOf(err) != test.kind && err != nil || (err != nil) != (test.kind != 0) || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: decided %v, %v, want %v with %q", test.what, data, err, test.kind, test.says)
		}
	}
}

// Of an import, files alone are refused whose folder would be made beside one
// that looks like it; and nothing stands in the way of the inbox.
func TestAcceptRefusesAlikeFolders(t *testing.T) {
	given := append(grounds()[:6:6], created(7, 0, "Inbох", "user:eve"))
	given = append(given, created(8, 0, "inbox", "user:alice"), created(9, 8, "A  B", ""))
	tree := fold(foldertree.New(foldertree.Rules{}), given)
	data := []events.Data{
		events.FileAccepted{File: 0, Name: "a.md", Folder: "Reports/Рlans/Q1", SHA256: "x"},
		events.FileAccepted{File: 1, Name: "b.md", Folder: "Reports/Plans/Q1", SHA256: "y"},
		events.FileAccepted{File: 2, Name: "c.md", Folder: "Inbox/alice", SHA256: "z"},
		events.FileAccepted{File: 3, Name: "d.md", Folder: "Вob's", SHA256: "z"},
		events.FileAccepted{File: 4, Name: "e  e.md", Folder: "inbox/New", SHA256: "z"}, // a folder that was there before
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
		t.Errorf("the inbox is made by %v, %v", made, err)
	}
	to, _ = foldertree.Destination{Path: "Reports/Рlans"}.Split()
	if made, err := foldertree.NewEnsureFolder(alice, to).Decide(tree); !fault.Is(err, fault.Conflict) {
		t.Errorf("a folder that looks like another is made by %v, %v", made, err)
	}
}

// Whatever is made, renamed, moved and deleted, folders are compared with all
// their siblings.
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
		fold(tree, data)
		if err := tree.CheckLooks(); err != nil {
			t.Error(err)
		}
	})
}
