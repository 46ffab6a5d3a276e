package commands

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// edit returns a command on version 3 of document 50; an empty name, folder 0
// and nil tags stand for none.
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
		{"is kept trimmed", edit(" c.md ", 0, nil), []events.Data{events.DocumentRenamed{Version: 4, Name: "c.md"}}, 0},
		{"another folder", edit("", 3, nil), []events.Data{events.DocumentMoved{Version: 4, Folder: id(3)}}, 0},
		{"other tags", edit("", 0, []string{"y", " z", "y"}), []events.Data{events.DocumentTagged{Version: 4, Tags: []string{"y", "z"}}}, 0},
		{"no tags", edit("", 0, []string{}), []events.Data{events.DocumentTagged{Version: 4}}, 0},
		{"one request makes one version", edit("c.md", 3, []string{"z"}), []events.Data{
			events.DocumentRenamed{Version: 4, Name: "c.md"}, events.DocumentMoved{Version: 4, Folder: id(3)}, events.DocumentTagged{Version: 4, Tags: []string{"z"}},
		}, 0},
		{"unchanged fields make no event", edit("b.md", 3, []string{"x", "y"}), []events.Data{events.DocumentMoved{Version: 4, Folder: id(3)}}, 0},
		{"a change that changes nothing is none", edit("b.md", 2, []string{"x", "y"}), nil, 0},
		{"a stale version", stale, nil, fault.Conflict},
		{"one that does not exist yet", ahead, nil, fault.Conflict},
		{"even for what changes nothing", staleSame, nil, fault.Conflict},
		{"a name that cannot be", edit("a/b", 0, nil), nil, fault.Invalid},
		{"tags that cannot be", edit("", 0, []string{""}), nil, fault.Invalid},
		{"no folder", ChangeDocument{ID: id(50), Version: 3, Folder: &uuid.Nil}, nil, fault.Invalid},
	} {
		c, err := test.when.normalize()
		var got []events.Data
		if err == nil {
			got, err = c.decide(fold(&document{}, given))
		}
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind || (err != nil) != (test.kind != 0) {
			t.Errorf("%s: decided %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestStaleVersionNamesCurrent(t *testing.T) {
	d := fold(&document{}, []events.Data{events.DocumentImported{Version: 1}, events.DocumentRenamed{Version: 2, Name: "b"}, events.DocumentRenamed{Version: 3, Name: "c"}})
	_, err := DeleteDocument{ID: id(50), Version: 2}.decide(d)
	if want := `document "c" is at version 3, not 2`; err == nil || err.Error() != want {
		t.Errorf("DeleteDocument of an old version: %v, want %s", err, want)
	}
	got, err := DeleteDocument{ID: id(50), Version: 3}.decide(d)
	if want := []events.Data{events.DocumentDeleted{Version: 4}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("DeleteDocument = %v, %v; want %v", got, err, want)
	}
}

// TestAccessToDocuments uses the folders of grounds.
func TestAccessToDocuments(t *testing.T) {
	in := func(folder byte) []events.Data {
		return []events.Data{events.DocumentImported{Version: 1, Folder: id(folder), Name: "a.md"}}
	}
	for _, test := range []struct {
		name  string
		given []events.Data
		user  events.User
		move  byte // to this folder; 0: it is renamed
		kind  fault.Kind
	}{
		{"writers rename", in(2), bob, 0, 0},
		{"below what they may write, too", in(3), bob, 0, 0},
		{"readers do not", in(4), bob, 0, fault.Forbidden},
		{"others do not see it", in(1), bob, 0, fault.NotFound},
		{"it does not exist", nil, admin, 0, fault.NotFound},
		{"or not any more", append(in(2), events.DocumentDeleted{Version: 2}), admin, 0, fault.NotFound},
		{"or its folder does not", in(99), admin, 0, fault.NotFound},
		{"writers move to where they write", in(2), bob, 10, 0},
		{"not to where they read", in(2), bob, 4, fault.Forbidden},
		{"nor to what they cannot see", in(2), bob, 1, fault.NotFound},
		{"nor to what does not exist", in(2), bob, 99, fault.NotFound},
		{"nor to where they would own it", in(2), bob, 5, fault.Forbidden},
		{"owners do", in(6), bob, 5, 0},
		{"and give away", in(6), bob, 2, 0},
		{"readers do not move", in(4), bob, 2, fault.Forbidden},
		{"to where it is is no move", in(2), bob, 2, 0},
		{"nothing is put into the inbox", in(2), admin, 7, fault.Forbidden},
		{"but into a folder there", in(5), bob, 9, 0},
		{"of one's own", in(2), alice, 9, fault.NotFound},
	} {
		c := edit("b.md", 0, nil)
		if test.move != 0 {
			c = edit("", test.move, nil)
		}
		err := c.allow(fold(foldertree.New(foldertree.Rules{}), grounds()), test.user, fold(&document{}, test.given))
		if fault.KindOf(err) != test.kind || (err != nil) != (test.kind != 0) {
			t.Errorf("%s: %v, want %v", test.name, err, test.kind)
		}
	}
}

// filed is a handler with a document of alice's in a folder of hers.
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

// testOneWins calls write 16 times at once, with the same version, and checks that one call
// writes and the others are refused with the version that it made.
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
		t.Errorf("%d writers won and %d were stale, want 1 and 15", won, stale)
	}
}

func TestDocumentAccessFollowsFolders(t *testing.T) {
	h, folder, document := filed(t)
	name := "b.md"
	at, err := h.ChangeDocument(t.Context(), alice, "request-7", ChangeDocument{ID: document, Version: 1, Name: &name})
	if head, _ := h.Log.Head(t.Context()); err != nil || at != head {
		t.Errorf("ChangeDocument stands at %d, %v; the log's head is %d", at, err, head)
	}
	if same, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 2, Name: &name}); err != nil || same != at {
		t.Errorf("the same again stands at %d, %v; want %d", same, err, at)
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
