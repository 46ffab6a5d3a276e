package queries_test

import (
	"strings"
	"testing"

	"annals/events"
	"annals/queries/search"

	"github.com/google/uuid"
)

// A document's name is compared with those of its folder alone, and of documents
// that are there now.
func TestAlikeDocuments(t *testing.T) {
	f := newFixture(t)
	top, other := f.folder(uuid.Nil, "Top", "user:alice"), f.folder(uuid.Nil, "Other", "user:alice")
	report := f.document(top, "report1.md", nil, "a")
	f.document(top, "Отчёт.md", nil, "b")
	f.document(other, "plans.md", nil, "c")
	f.document(top, "a   b c.md", nil, "e")
	moved := f.document(other, "moved.md", nil, "d")
	f.add(events.DocumentStream(moved), events.DocumentRenamed{Version: 2, Name: "ѕсоре.md"}, events.DocumentMoved{Version: 2, Folder: top})
	f.settle()
	for _, test := range []struct {
		name   string
		except uuid.UUID
		want   string
	}{
		{"rероrt1.md", uuid.Nil, "report1.md"}, {"rероrt1.md", report, ""}, {"report1.md", uuid.Nil, ""}, {"reportl.md", uuid.Nil, ""},
		{"Отчет.md", uuid.Nil, ""}, {"рlans.md", uuid.Nil, ""}, {"scope.md", uuid.Nil, "ѕсоре.md"}, {"mоved.md", uuid.Nil, ""}, {"ѕcope.md", uuid.Nil, "ѕсоре.md"},
		{"a b c.md", uuid.Nil, "a   b c.md"}, {"a b  c.md", uuid.Nil, "a   b c.md"}, {"a\u00a0b c.md", uuid.Nil, "a   b c.md"}, {"a   b c.md", uuid.Nil, ""}, {"ab c.md", uuid.Nil, ""},
		{"report 1.md", uuid.Nil, ""},
	} {
		got, err := f.AlikeDocuments(t.Context(), []uuid.UUID{other, top}, []string{"unlike.md", test.name}, test.except)
		if err != nil || len(got) != 2 || got[0] != "" || got[1] != test.want {
			t.Errorf("AlikeDocuments(%s, except %s) = %q, %v, want %q", test.name, test.except, got, err, test.want)
		}
	}
}

// Every source names its folder, and the creator of that or the nearest folder above:
// not those who own it by a share, whom any owner can choose.
func TestSourcesNameFolderAndOwner(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	sub := f.folder(top, "Sub", "")
	f.share(sub, "user:bob", "own")
	moved := f.folder(uuid.Nil, "Moved", "user:eve")
	f.add(events.Folders, events.FolderMoved{Folder: moved, Parent: sub})
	twice := f.folder(uuid.Nil, "Twice", "user:zoe")
	f.add(events.Folders, events.FolderMoved{Folder: twice, Parent: uuid.Nil, Owner: "user:carl"})
	f.share(twice, "user:alice", "read")
	inbox := f.folder(uuid.Nil, "Inbox", "")
	f.share(inbox, "user:alice", "read")
	for folder, word := range map[uuid.UUID]string{top: "zebra", sub: "lion", moved: "tiger", twice: "bear", inbox: "wolf"} {
		f.document(folder, word+".md", nil, "The "+word+" was seen in 1759 by John Smeaton.")
	}
	f.settle()
	for word, want := range map[string][3]string{
		"zebra": {"Top", "user:alice", " in folder “Top” of alice"},
		"lion":  {"Top/Sub", "user:alice", " in folder “Top/Sub” of alice"},
		"tiger": {"Top/Sub/Moved", "user:eve", " in folder “Top/Sub/Moved” of eve"},
		"bear":  {"Twice", "user:carl, user:zoe", " in folder “Twice” of carl and zoe"},
		"wolf":  {"Inbox", "", " in folder “Inbox”"},
	} {
		found, err := f.Search(t.Context(), alice, search.Query{Query: word})
		if err != nil || len(found) != 1 || found[0].Folder != want[0] || found[0].Owner != want[1] {
			t.Errorf("Search(%s) = %+v, %v, want it in %s of %s", word, found, err, want[0], want[1])
		}
		a, err := f.Ask(t.Context(), alice, search.Query{Query: "Who saw the " + word + "?"})
		if err != nil || !strings.Contains(a.Reasoning, want[2]) {
			t.Errorf("Ask(%s) = %+v, %v, want%s in the reasoning", word, a, err, want[2])
		}
	}
}
