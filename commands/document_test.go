package commands

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"annals/commands/commandstest"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

var (
	shaA = strings.Repeat("a", 64)
	shaB = strings.Repeat("b", 64)
)

func importInto(folder uuid.UUID, sha256, causation string) ImportDocument {
	return ImportDocument{
		ID: events.DocumentID(folder, sha256, 0), Folder: folder, Name: "a.md", Tags: []string{"t"},
		Content: events.Content{SHA256: sha256, Title: "A", TextStream: "text"},
		User:    alice, Cause: events.Cause{Actor: "user:alice", Causation: causation},
	}
}

func TestImportDocument(t *testing.T) {
	imported := events.DocumentImported{Version: 1, Folder: id(1), Name: "a.md", Tags: []string{"t"}, Content: events.Content{SHA256: shaA, Title: "A", TextStream: "text"}}
	for _, test := range []struct {
		name      string
		given     []events.Data // caused by upload "first"
		causation string
		then      []events.Data
		kind      fault.Kind
	}{
		{"a new document", nil, "second", []events.Data{imported}, 0},
		{"the same bytes exist", []events.Data{imported}, "second", nil, 0},
		{"the upload's own document exists", []events.Data{imported}, "first", nil, 0},
		{"the upload's own document was deleted", []events.Data{imported, events.DocumentDeleted{Version: 2}}, "first", nil, 0},
		{"a renamed document has the bytes", []events.Data{imported, events.DocumentRenamed{Version: 2, Name: "b.md"}}, "second", nil, 0},
		{"a tagged document has the bytes", []events.Data{imported, events.DocumentTagged{Version: 2}}, "second", nil, 0},
		{"a document that was extracted again has the bytes", []events.Data{imported, events.DocumentReread{Version: 2, Content: imported.Content}}, "second", nil, 0},
		{"a moved document has the id", []events.Data{imported, events.DocumentMoved{Version: 2, Folder: id(2)}}, "second", nil, fault.Conflict},
		{"a document that was moved away and back has the bytes", []events.Data{imported, events.DocumentMoved{Version: 2, Folder: id(2)}, events.DocumentMoved{Version: 3, Folder: id(1)}}, "second", nil, 0},
		{"a revised document has the id", []events.Data{imported, events.DocumentRevised{Version: 2, Content: events.Content{SHA256: shaB}}}, "second", nil, fault.Conflict},
		{"a deleted document has the id", []events.Data{imported, events.DocumentDeleted{Version: 2}}, "second", nil, fault.Conflict},
	} {
		var d document
		for i, data := range test.given {
			d.Apply(events.Event{Revision: int64(i), Data: data, Metadata: events.Metadata{Causation: "first"}})
		}
		got, err := importInto(id(1), shaA, test.causation).decide(&d)
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind {
			t.Errorf("%s: decide = %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestFoldDocument(t *testing.T) {
	d := commandstest.Fold(&document{}, []events.Data{
		events.DocumentImported{Version: 1, Folder: id(1), Name: "a", Content: events.Content{SHA256: shaA, Title: "A"}},
		events.DocumentRenamed{Version: 2, Name: "b"},
		events.DocumentMoved{Version: 3, Folder: id(2)},
		events.DocumentTagged{Version: 4, Tags: []string{"x"}},
		events.DocumentRevised{Version: 5, Content: events.Content{SHA256: shaB, Title: "B"}},
		events.DocumentReread{Version: 6, Content: events.Content{SHA256: shaB, Title: "B2", Warnings: []string{"w"}, TextBytes: 10}},
		events.DocumentDeleted{Version: 7},
	})
	want := &document{exists: true, deleted: true, deletedIn: 6, version: 7, folder: id(2), departures: []departure{{id(1), 0}}, name: "b", tags: []string{"x"}, content: events.Content{SHA256: shaB, Title: "B2", Warnings: []string{"w"}, TextBytes: 10}, contentVersion: 6, bytes: 30, revisions: []string{"", ""}}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("folded to %+v, want %+v", d, want)
	}
}

// library returns a handler and the id of a folder of alice, the only folder in its log.
func library(t *testing.T) (*Handler, uuid.UUID) {
	t.Helper()
	h := &Handler{Log: events.NewLog(memory.New())}
	t.Cleanup(func() { h.Log.Close() })
	folder, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, foldertree.Destination{Path: "Library"})
	if err != nil {
		t.Fatalf("EnsureFolder: %v", err)
	}
	return h, folder
}

func TestSameBytesBecomeOneDocument(t *testing.T) {
	h, folder := library(t)
	other := &Handler{Log: h.Log}
	var mu sync.Mutex
	own, documents := 0, make(map[uuid.UUID]bool)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			c := importInto(folder, shaA, "upload "+string(rune('a'+i)))
			claim, err := []*Handler{h, other}[i%2].ImportDocument(t.Context(), c)
			if err != nil {
				t.Errorf("ImportDocument: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			documents[claim.Document] = true
			if claim.Own {
				own++
			}
		})
	}
	wg.Wait()
	if own != 1 || len(documents) != 1 {
		t.Errorf("%d uploads created %d documents, want 1 and 1", own, len(documents))
	}
}

func TestClaimSkipsTakenIDs(t *testing.T) {
	h, folder := library(t)
	for n := range 3 {
		c := importInto(folder, shaA, "upload")
		c.Cause.Causation += string(rune('0' + n))
		claim, err := h.ClaimDocument(t.Context(), c)
		if want := events.DocumentID(folder, shaA, n); err != nil || claim.Filed || claim.Document != want {
			t.Fatalf("ClaimDocument = %+v, %v; want %v, not filed", claim, err, want)
		}
		c.ID = claim.Document
		if _, err := h.ImportDocument(t.Context(), c); err != nil {
			t.Fatalf("ImportDocument: %v", err)
		}
		c.Cause.Causation = "another"
		if claim, err = h.ClaimDocument(t.Context(), c); err != nil || !claim.Filed || claim.Own || claim.Document != c.ID || claim.Title != "A" {
			t.Errorf("ClaimDocument of the same bytes = %+v, %v; want %v, filed", claim, err, c.ID)
		}
		if _, err := h.Log.Append(t.Context(), events.DocumentStream(c.ID), 0, events.Cause{}, events.New{Data: events.DocumentDeleted{Version: 2}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestImportDocumentNeedsWriteAccess(t *testing.T) {
	h, folder := library(t)
	c := importInto(folder, shaA, "upload")
	c.User = bob
	if _, err := h.ImportDocument(t.Context(), c); !fault.Is(err, fault.Forbidden) {
		t.Errorf("ImportDocument into another user's folder: %v, want forbidden", err)
	}
	if _, err := h.Log.Append(t.Context(), events.Folders, events.AnyRevision, events.Cause{}, events.New{Data: events.FolderDeleted{Folder: folder}}); err != nil {
		t.Fatal(err)
	}
	c.User = admin
	if _, err := h.ImportDocument(t.Context(), c); !fault.Is(err, fault.Forbidden) {
		t.Errorf("ImportDocument into a deleted folder: %v, want forbidden", err)
	}
}
