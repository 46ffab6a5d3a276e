package commands

import (
	"reflect"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// revision returns the single file of a job that revises version 1 of document 50.
func revision(job byte, sha256 string) ImportFile {
	f := ImportFile{Job: id(job), User: alice, Accepted: events.FileAccepted{SHA256: sha256, Document: id(50), Version: 1}}
	f.Cause.Causation = events.JobStream(f.Job) + "@0"
	return f
}

func TestReviseDocument(t *testing.T) {
	imported := events.DocumentImported{Version: 1, Folder: id(2), Name: "a.md", Content: events.Content{SHA256: shaA}}
	content := events.Content{SHA256: shaB, Title: "B"}
	revised := events.DocumentRevised{Version: 2, Content: content}
	for _, test := range []struct {
		name  string
		given []events.Data // events of the document; their cause is the file of job 7
		file  ImportFile
		then  []events.Data
		kind  fault.Kind
	}{
		{"other bytes", []events.Data{imported}, revision(7, shaB), []events.Data{revised}, 0},
		{"the same bytes", []events.Data{imported}, revision(7, shaA), nil, 0},
		{"a stale version", []events.Data{imported, events.DocumentTagged{Version: 2}}, revision(7, shaB), nil, fault.Conflict},
		{"a stale version and the same bytes", []events.Data{imported, events.DocumentTagged{Version: 2}}, revision(7, shaA), nil, fault.Conflict},
		{"this job has revised it already", []events.Data{imported, revised}, revision(7, shaB), nil, 0},
		{"this job has revised it, and others changed and deleted it since", []events.Data{imported, revised, events.DocumentRevised{Version: 3, Content: imported.Content}, events.DocumentDeleted{Version: 4}}, revision(7, shaB), nil, 0},
		{"another job has revised it", []events.Data{imported, revised}, revision(8, shaB), nil, fault.Conflict},
		{"a deleted document", []events.Data{imported, events.DocumentDeleted{Version: 2}}, revision(7, shaB), nil, fault.NotFound},
		{"a missing document", nil, revision(7, shaB), nil, fault.NotFound},
	} {
		var d document
		for i, data := range test.given {
			d.Apply(events.Event{Revision: int64(i), Data: data, Metadata: events.Metadata{Causation: revision(7, "").Cause.Causation}})
		}
		got, err := reviseDocument{test.file, content}.decide(&d)
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind || (err != nil) != (test.kind != 0) {
			t.Errorf("%s: decide = %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestStartRevision(t *testing.T) {
	h, folder, document := filed(t)
	deep, _, err := h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Parent: folder, Name: "deep"})
	if err != nil {
		t.Fatal(err)
	}
	name := "notes"
	if _, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Name: &name, Folder: &deep}); err != nil {
		t.Fatal(err)
	}
	started, err := h.StartRevision(t.Context(), alice, "request-7", ReviseDocument{ID: document, Version: 2, SHA256: shaB, Size: 9})
	if err != nil {
		t.Fatalf("StartRevision: %v", err)
	}
	if head, _ := h.Log.Head(t.Context()); started.Position != head {
		t.Errorf("StartRevision = %d, want the head %d", started.Position, head)
	}
	f, err := h.FileToImport(t.Context(), started.Job, 0)
	want := events.FileAccepted{Name: "notes", Folder: "Library/deep", Under: deep, SHA256: shaB, Size: 9, Document: document, Version: 2}
	if err != nil || !reflect.DeepEqual(f.Accepted, want) || f.User.Principal != alice.Principal || f.Cause.Correlation != "request-7" {
		t.Errorf("FileToImport = %+v, %v; want %+v of alice", f, err, want)
	}
	if claim, err := h.ClaimRevision(t.Context(), f); err != nil || claim.Filed || claim.Document != document || claim.Folder != deep {
		t.Errorf("ClaimRevision = %+v, %v", claim, err)
	}
	for range 2 {
		claim, err := h.FileRevision(t.Context(), f, events.Content{SHA256: shaB, Title: "B", TextStream: "text"})
		if err != nil || !claim.Own || !claim.Filed || claim.Title != "B" {
			t.Errorf("FileRevision = %+v, %v; want Own and Filed", claim, err)
		}
	}
	if err := h.CheckRevision(t.Context(), alice, document, 3); err != nil {
		t.Errorf("CheckRevision of the new version: %v", err)
	}
}

func TestRevisionAccess(t *testing.T) {
	h, folder, document := filed(t)
	share := func(access string) { t.Helper(); give(t, h, folder, bob, access) }
	check := func(what string, user events.User, id uuid.UUID, version int, want fault.Kind) {
		t.Helper()
		before, _ := h.Log.Head(t.Context())
		err := h.CheckRevision(t.Context(), user, id, version)
		_, started := h.StartRevision(t.Context(), user, "", ReviseDocument{ID: id, Version: version, SHA256: shaB})
		if !fault.Is(err, want) || !fault.Is(started, want) {
			t.Errorf("%s: CheckRevision: %v, StartRevision: %v; want %v", what, err, started, want)
		}
		if head, _ := h.Log.Head(t.Context()); head != before {
			t.Errorf("%s: a refused revision appended events", what)
		}
	}
	check("another user", bob, document, 1, fault.NotFound)
	check("no document", alice, id(50), 1, fault.NotFound)
	check("another version", alice, document, 2, fault.Conflict)
	share("read")
	check("a reader", bob, document, 1, fault.Forbidden)
	check("a reader of another version", bob, document, 2, fault.Forbidden)
	share("write")
	started, err := h.StartRevision(t.Context(), bob, "", ReviseDocument{ID: document, Version: 1, SHA256: shaB})
	if err != nil {
		t.Fatalf("StartRevision by a writer: %v", err)
	}
	f, err := h.FileToImport(t.Context(), started.Job, 0)
	if err != nil {
		t.Fatal(err)
	}
	share("read")
	if _, err := h.FileRevision(t.Context(), f, events.Content{SHA256: shaB}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("FileRevision after access was withdrawn: %v, want forbidden", err)
	}
}
