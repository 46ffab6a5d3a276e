package vault_test

import (
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// importOriginal imports a document without text from an original.
func (f *fixture) importOriginal(folder uuid.UUID, sha256 string) uuid.UUID {
	f.t.Helper()
	return f.Import(events.DocumentImported{Folder: folder, Name: "a.pdf", Content: events.Content{SHA256: sha256, MediaType: "application/pdf"}})
}

func TestRefers(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	old, later := strings.Repeat("0d", 32), strings.Repeat("0e", 32)
	check := func(when string, wantOld, wantLater bool) {
		t.Helper()
		f.Await(f.Models.Jobs)
		for sha256, want := range map[string]bool{old: wantOld, later: wantLater} {
			if got, err := f.vault.Refers(t.Context(), sha256); err != nil || got != want {
				t.Errorf("%s: Refers(%.2s…) = %v (%v), want %v", when, sha256, got, err, want)
			}
		}
	}
	check("before anything", false, false)
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top", SHA256: old}, events.ImportRequested{Files: 1, User: "user:alice"})
	check("during the job", true, false)
	id := f.importOriginal(top, old)
	f.Append(events.JobStream(job), events.FileImported{Document: id}, events.JobFinished{Successful: 1})
	check("after the job", true, false)
	f.Append(events.DocumentStream(id), events.DocumentRevised{Version: 2, Content: events.Content{SHA256: later, MediaType: "application/pdf", TextStream: events.TextStream(id, 2)}})
	check("as an earlier version", true, true)
	f.Append(events.DocumentStream(id), events.DocumentDeleted{Version: 3})
	f.Await(f.Models.Vault)
	check("after the document was deleted", false, false)
}

// The original of a deleted document is kept for some time after the deletion, whenever it was
// uploaded, and whatever became of others with the same bytes.
func TestKeeps(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	sha256, other := strings.Repeat("0d", 32), strings.Repeat("0e", 32)
	check := func(when string, before, after bool) {
		t.Helper()
		f.Await(f.Models.Jobs)
		for deletedAfter, want := range map[time.Time]bool{time.Now().Add(-time.Hour): before, time.Now().Add(time.Hour): after} {
			if got, err := f.vault.Keeps(t.Context(), sha256, deletedAfter); err != nil || got != want {
				t.Errorf("%s: Keeps(deleted after %v) = %v (%v), want %v", when, deletedAfter, got, err, want)
			}
		}
		if got, err := f.vault.Keeps(t.Context(), other, time.Time{}); err != nil || got {
			t.Errorf("%s: Keeps(another original) = %v (%v), want false", when, got, err)
		}
	}
	check("before anything", false, false)
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top", SHA256: sha256}, events.ImportRequested{Files: 1, User: "user:alice"})
	id := f.importOriginal(top, sha256)
	f.Append(events.JobStream(job), events.FileImported{Document: id}, events.JobFinished{Successful: 1})
	check("while the document exists", true, true)
	f.Append(events.DocumentStream(id), events.DocumentDeleted{Version: 2})
	check("after the deletion", true, false)
	f.AppendUnreadable(events.DocumentStream(uuid.New()), "DocumentImported")
	f.Settle()
	if got, err := f.vault.Keeps(t.Context(), other, time.Now()); err != nil || !got {
		t.Errorf("Keeps = %v (%v) while an event is parked, want true", got, err)
	}
}

func TestRefersAwaitsVault(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	for i := range 50 {
		sha256 := strings.Repeat(string("0123456789abcdef"[i%16])+string("0123456789abcdef"[i/16]), 32)
		job := uuid.New()
		f.Append(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top", SHA256: sha256}, events.ImportRequested{Files: 1, User: "user:alice"})
		id := f.importOriginal(top, sha256)
		f.Append(events.JobStream(job), events.FileImported{Document: id}, events.JobFinished{Successful: 1})
		f.Await(f.Models.Jobs)
		if got, err := f.vault.Refers(t.Context(), sha256); err != nil || !got {
			t.Fatalf("Refers = %v, %v for the original of a document, want true", got, err)
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
		if got, err := f.vault.Refers(t.Context(), sha256); err != nil || got {
			t.Errorf("Refers = %v, %v for an unknown original, want false", got, err)
		}
		f.AppendUnreadable(stream, kind)
		f.Settle()
		if got, err := f.vault.Refers(t.Context(), sha256); err != nil || !got {
			t.Errorf("Refers = %v, %v while a %s is parked, want true", got, err, kind)
		}
	}
}

func TestRefersRequiresJobs(t *testing.T) {
	f := newFixture(t)
	f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	f.Stop(f.Models.Jobs)
	sha256 := strings.Repeat("0d", 32)
	f.Append(events.JobStream(uuid.New()), events.FileAccepted{Name: "a.pdf", Folder: "Top", SHA256: sha256}, events.ImportRequested{Files: 1, User: "user:alice"})
	f.AwaitStop(f.Models.Jobs)
	if got, err := f.vault.Refers(t.Context(), sha256); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Refers = %v, %v, want fault.Unavailable", got, err)
	}
}
