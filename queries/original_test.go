package queries_test

import (
	"strings"
	"testing"

	"annals/events"

	"github.com/google/uuid"
)

func TestRefers(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	old, later := strings.Repeat("0d", 32), strings.Repeat("0e", 32)
	check := func(when string, wantOld, wantLater bool) {
		t.Helper()
		if err := f.Models.Jobs.Wait(t.Context(), f.at); err != nil {
			t.Fatal(err)
		}
		for sha256, want := range map[string]bool{old: wantOld, later: wantLater} {
			if got, err := f.Refers(t.Context(), sha256); err != nil || got != want {
				t.Errorf("%s: Refers(%.2s…) = %v (%v), want %v", when, sha256, got, err, want)
			}
		}
	}
	check("before anything", false, false)
	job := uuid.New()
	f.add(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top", SHA256: old}, events.ImportRequested{Files: 1, User: "user:alice"})
	check("while a job works", true, false)
	id := f.file(top, old)
	f.add(events.JobStream(job), events.FileImported{Document: id}, events.JobFinished{Successful: 1})
	check("once the job has ended", true, false)
	f.add(events.DocumentStream(id), events.DocumentRevised{Version: 2, Content: events.Content{SHA256: later, MediaType: "application/pdf", TextStream: events.TextStream(id, 2)}})
	check("as an earlier version", true, true)
	f.add(events.DocumentStream(id), events.DocumentDeleted{Version: 3})
	if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
		t.Fatal(err)
	}
	check("after the document was deleted", false, false)
}

func TestRefersAwaitsVault(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	for i := range 50 {
		sha256 := strings.Repeat(string("0123456789abcdef"[i%16])+string("0123456789abcdef"[i/16]), 32)
		job := uuid.New()
		f.add(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top", SHA256: sha256}, events.ImportRequested{Files: 1, User: "user:alice"})
		id := f.file(top, sha256)
		f.add(events.JobStream(job), events.FileImported{Document: id}, events.JobFinished{Successful: 1})
		if err := f.Models.Jobs.Wait(t.Context(), f.at); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Refers(t.Context(), sha256); err != nil || !got {
			t.Fatalf("Refers = %v (%v) of bytes that are a document", got, err)
		}
	}
}

func TestRefersWhileEventsAreParked(t *testing.T) {
	for stream, kind := range map[string]string{
		events.DocumentStream(uuid.New()): "DocumentImported",
		events.JobStream(uuid.New()):      "FileAccepted",
	} {
		f := newFixture(t)
		sha256 := strings.Repeat("0d", 32)
		if got, err := f.Refers(t.Context(), sha256); err != nil || got {
			t.Errorf("Refers = %v (%v) of bytes that nothing tells of", got, err)
		}
		f.addUnreadable(stream, kind)
		f.settle()
		if got, err := f.Refers(t.Context(), sha256); err != nil || !got {
			t.Errorf("Refers = %v (%v) while there is a %s that cannot be read", got, err, kind)
		}
	}
}

func TestStatus(t *testing.T) {
	f, engine := newMoodyFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.document(f.folder(top, "Sub", ""), "a.md", nil, "Text.")
	f.settle()
	g := &gate{make(chan struct{}), make(chan struct{})}
	engine.gate.Store(g)
	f.add(events.Folders, events.FolderMoved{Folder: f.folder(top, "Empty", ""), Parent: uuid.Nil}, events.FolderMoved{Folder: top, Parent: uuid.Nil})
	<-g.entered
	f.settle()
	all, err := f.Status(t.Context())
	if err != nil || len(all) != len(f.Models.All()) {
		t.Fatalf("status %v (%v)", all, err)
	}
	for _, m := range all {
		if m.Position != f.at || m.Head != f.at || m.Waiting != 0 && m.Name != "passages" || m.Waiting != 1 && m.Name == "passages" {
			t.Errorf("status %+v at position %d, want one document of passages waiting", m, f.at)
		}
	}
	close(g.open)
	for {
		_, moved := f.Models.Passages.Moved()
		if all, err = f.Status(t.Context()); err != nil || all[5].Waiting == 0 {
			break
		}
		<-moved
	}
	if err != nil {
		t.Error(err)
	}
}
