package commands

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"annals/commands/commandstest"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// edit returns a command for version 3 of document 50. An empty name, folder 0 and nil tags
// change nothing.
func edit(name string, folder byte, tags []string) ChangeDocument {
	c := ChangeDocument{ID: id(50), Version: 3}
	if name != "" {
		c.Name = &name
	}
	if folder != 0 {
		f := id(folder)
		c.Folder = &f
	}
	if tags != nil {
		c.Tags = &tags
	}
	return c
}

func TestChangeDocument(t *testing.T) {
	given := []events.Data{
		events.DocumentImported{Version: 1, Folder: id(2), Name: "a.md", Content: events.Content{SHA256: shaA}},
		events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentTagged{Version: 3, Tags: []string{"x", "y"}},
	}
	stale := edit("c.md", 0, nil)
	stale.Version = 2
	ahead := edit("c.md", 0, nil)
	ahead.Version = 4
	staleSame := edit("b.md", 0, nil)
	staleSame.Version = 2
	for _, test := range []struct {
		name string
		when ChangeDocument
		then []events.Data
		kind fault.Kind
	}{
		{"a new name", edit("c.md", 0, nil), []events.Data{events.DocumentRenamed{Version: 4, Name: "c.md"}}, 0},
		{"a name with spaces around it", edit(" c.md ", 0, nil), []events.Data{events.DocumentRenamed{Version: 4, Name: "c.md"}}, 0},
		{"another folder", edit("", 3, nil), []events.Data{events.DocumentMoved{Version: 4, Folder: id(3)}}, 0},
		{"other tags", edit("", 0, []string{"y", " z", "y"}), []events.Data{events.DocumentTagged{Version: 4, Tags: []string{"y", "z"}}}, 0},
		{"no tags", edit("", 0, []string{}), []events.Data{events.DocumentTagged{Version: 4}}, 0},
		{"all changes of a request have one version", edit("c.md", 3, []string{"z"}), []events.Data{
			events.DocumentRenamed{Version: 4, Name: "c.md"}, events.DocumentMoved{Version: 4, Folder: id(3)}, events.DocumentTagged{Version: 4, Tags: []string{"z"}},
		}, 0},
		{"an unchanged name", edit("b.md", 3, []string{"x", "y"}), []events.Data{events.DocumentMoved{Version: 4, Folder: id(3)}}, 0},
		{"nothing changed", edit("b.md", 2, []string{"x", "y"}), nil, 0},
		{"a stale version", stale, nil, fault.Conflict},
		{"a version that does not exist yet", ahead, nil, fault.Conflict},
		{"a stale version and nothing changed", staleSame, nil, fault.Conflict},
		{"an invalid name", edit("a/b", 0, nil), nil, fault.Invalid},
		{"an invalid tag", edit("", 0, []string{""}), nil, fault.Invalid},
		{"the top level", ChangeDocument{ID: id(50), Version: 3, Folder: &uuid.Nil}, nil, fault.Invalid},
	} {
		c, err := test.when.normalize()
		var got []events.Data
		if err == nil {
			got, err = c.decide(commandstest.Fold(&document{}, given))
		}
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind || (err != nil) != (test.kind != 0) {
			t.Errorf("%s: decide = %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestStaleVersionNamesCurrent(t *testing.T) {
	d := commandstest.Fold(&document{}, []events.Data{events.DocumentImported{Version: 1}, events.DocumentRenamed{Version: 2, Name: "b"}, events.DocumentRenamed{Version: 3, Name: "c"}})
	_, err := DeleteDocument{ID: id(50), Version: 2}.decide(d)
	if want := `document "c" is at version 3, not 2`; err == nil || err.Error() != want {
		t.Errorf("DeleteDocument of an old version: %v, want %s", err, want)
	}
	got, err := DeleteDocument{ID: id(50), Version: 3}.decide(d)
	if want := []events.Data{events.DocumentDeleted{Version: 4}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("DeleteDocument = %v, %v; want %v", got, err, want)
	}
}

func TestDocumentAccess(t *testing.T) {
	in := func(folder byte) []events.Data {
		return []events.Data{events.DocumentImported{Version: 1, Folder: id(folder), Name: "a.md"}}
	}
	for _, test := range []struct {
		name  string
		given []events.Data
		user  events.User
		move  byte // target folder of a move; 0: the command is a rename
		kind  fault.Kind
	}{
		{"a writer renames", in(2), bob, 0, 0},
		{"a writer renames in a folder below", in(3), bob, 0, 0},
		{"a reader renames", in(4), bob, 0, fault.Forbidden},
		{"a user without access", in(1), bob, 0, fault.NotFound},
		{"a missing document", nil, admin, 0, fault.NotFound},
		{"a deleted document", append(in(2), events.DocumentDeleted{Version: 2}), admin, 0, fault.NotFound},
		{"a document in a missing folder", in(99), admin, 0, fault.NotFound},
		{"a writer moves to a folder with the same owners", in(2), bob, 10, 0},
		{"a writer moves to a folder with read access only", in(2), bob, 4, fault.Forbidden},
		{"a writer moves to a folder without access", in(2), bob, 1, fault.NotFound},
		{"a writer moves to a missing folder", in(2), bob, 99, fault.NotFound},
		{"a writer moves to their own folder", in(2), bob, 5, fault.Forbidden},
		{"an owner moves within their own folders", in(6), bob, 5, 0},
		{"an owner moves to another owner's folder", in(6), bob, 2, 0},
		{"a reader moves", in(4), bob, 2, fault.Forbidden},
		{"a move to the same folder", in(2), bob, 2, 0},
		{"a move into the inbox", in(2), admin, 7, fault.Forbidden},
		{"a move into one's own inbox folder", in(5), bob, 9, 0},
		{"a move into another user's inbox folder", in(2), alice, 9, fault.NotFound},
	} {
		c := edit("b.md", 0, nil)
		if test.move != 0 {
			c = edit("", test.move, nil)
		}
		err := c.allow(commandstest.Fold(foldertree.New(foldertree.Rules{}), commandstest.Folders()), test.user, commandstest.Fold(&document{}, test.given))
		if fault.KindOf(err) != test.kind || (err != nil) != (test.kind != 0) {
			t.Errorf("%s: %v, want %v", test.name, err, test.kind)
		}
	}
}

// filed returns a handler with a folder of alice and a document in that folder.
func filed(t *testing.T) (h *Handler, folder, document uuid.UUID) {
	t.Helper()
	h, folder = library(t)
	claim, err := h.ImportDocument(t.Context(), importInto(folder, shaA, "upload"))
	if err != nil {
		t.Fatalf("ImportDocument: %v", err)
	}
	return h, folder, claim.Document
}

func TestRacingWritersOneWins(t *testing.T) {
	h, folder, document := filed(t)
	other := &Handler{Log: h.Log}
	elsewhere, _, err := h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Parent: folder, Name: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(i int) (events.Position, error) {
		h, name, tags := []*Handler{h, other}[i%2], fmt.Sprint(i, ".md"), []string{fmt.Sprint(i)}
		switch i % 4 {
		case 0:
			return h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Name: &name})
		case 1:
			return h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Folder: &elsewhere, Name: &name})
		}
		return h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Tags: &tags})
	}
	testOneWins(t, write)
}

// testOneWins calls write 16 times concurrently. One call must succeed and create version 2,
// and the others must fail because they expected version 1.
func testOneWins(t *testing.T, write func(i int) (events.Position, error)) {
	t.Helper()
	won, stale := 0, 0
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			at, err := write(i)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && at > 0:
				won++
			case fault.Is(err, fault.Conflict) && strings.HasSuffix(err.Error(), "is at version 2, not 1"):
				stale++
			default:
				t.Errorf("write %d = %d, %v", i, at, err)
			}
		})
	}
	all.Wait()
	if won != 1 || stale != 15 {
		t.Errorf("%d writes succeeded and %d were stale, want 1 and 15", won, stale)
	}
}

func TestDocumentAccessFollowsFolders(t *testing.T) {
	h, folder, document := filed(t)
	name := "b.md"
	at, err := h.ChangeDocument(t.Context(), alice, "request-7", ChangeDocument{ID: document, Version: 1, Name: &name})
	if head, _ := h.Log.Head(t.Context()); err != nil || at != head {
		t.Errorf("ChangeDocument = %d, %v; want the head %d", at, err, head)
	}
	if same, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 2, Name: &name}); err != nil || same != at {
		t.Errorf("the same ChangeDocument again = %d, %v; want %d", same, err, at)
	}
	share := func(access string) { t.Helper(); give(t, h, folder, bob, access) }
	remove := func() error {
		_, err := h.DeleteDocument(t.Context(), bob, "", DeleteDocument{ID: document, Version: 2})
		return err
	}
	if err := remove(); !fault.Is(err, fault.NotFound) {
		t.Errorf("DeleteDocument by another user: %v, want not found", err)
	}
	share("write")
	if err := remove(); !fault.Is(err, fault.Forbidden) {
		t.Errorf("DeleteDocument by a writer: %v, want forbidden", err)
	}
	share("own")
	if err := remove(); err != nil {
		t.Errorf("DeleteDocument by an owner: %v", err)
	}
	if err := remove(); !fault.Is(err, fault.NotFound) {
		t.Errorf("DeleteDocument again: %v, want not found", err)
	}
}
