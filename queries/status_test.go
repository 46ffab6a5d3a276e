package queries_test

import (
	"testing"
	"time"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/queries"

	"github.com/google/uuid"
)

func TestStatusLag(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	held, release := engine.Hold()
	before := time.Now()
	f.AddDocument(top, "a.md", nil, "Text.")
	after := time.Now()
	f.Models.Passages.Hurry(f.At) // do not wait for more events
	<-held
	for _, m := range f.Models.All() {
		if m != f.Models.Passages {
			f.Await(m)
		}
	}
	minLag := time.Since(after)
	all, err := f.queries.Status(t.Context())
	if err != nil || len(all) != len(f.Models.All()) {
		t.Fatalf("Status = %v, %v", all, err)
	}
	for _, m := range all {
		behind := m.Name == "passages"
		if behind != (m.Position < m.Head) || behind != (m.Lag > 0) {
			t.Errorf("Status: got %+v, want only passages behind", m)
		}
		if maxLag := time.Since(before) + time.Millisecond; behind && (m.Lag < minLag || m.Lag > maxLag) {
			t.Errorf("Status: got a lag of %v, want %v to %v", m.Lag, minLag, maxLag)
		}
	}
	release()
	f.Settle()
}

func TestStatusCountsDeferredDocuments(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.AddDocument(f.AddFolder(top, "Sub", ""), "a.md", nil, "Text.")
	f.Settle()
	held, release := engine.Hold()
	f.Append(events.Folders, events.FolderMoved{Folder: f.AddFolder(top, "Empty", ""), Parent: uuid.Nil}, events.FolderMoved{Folder: top, Parent: uuid.Nil})
	f.Models.Passages.Hurry(f.At) // do not wait for more events
	<-held
	f.Settle()
	all, err := f.queries.Status(t.Context())
	if err != nil || len(all) != len(f.Models.All()) {
		t.Fatalf("Status = %v, %v", all, err)
	}
	for _, m := range all {
		if m.Position != f.At || m.Head != f.At || m.Waiting != 0 && m.Name != "passages" || m.Waiting != 1 && m.Name == "passages" {
			t.Errorf("Status: got %+v, want position %d and one deferred document of passages", m, f.At)
		}
	}
	release()
	for {
		_, moved := f.Models.Passages.Moved()
		if all, err = f.queries.Status(t.Context()); err != nil || all[5].Waiting == 0 {
			break
		}
		<-moved
	}
	if err != nil {
		t.Error(err)
	}
}

func TestStatusCountsParkedEvents(t *testing.T) {
	f := newFixture(t)
	stream := events.DocumentStream(uuid.New())
	f.AppendUnreadable(stream, "DocumentImported")
	f.AppendUnreadable(stream, "DocumentImported")
	f.Settle()
	all, err := f.queries.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"vault": 2, "summaries": 2, "passages": 2, "jobs": 0, "work": 0, "usage": 2}
	for _, m := range all {
		if parked, known := want[m.Name]; known && m.Parked != parked || m.Lag != 0 {
			t.Errorf("Status: got %+v, want %d parked events", m, parked)
		}
	}
}

func TestBacklogCountsUnfinishedFiles(t *testing.T) {
	f := newFixture(t)
	backlog := func(files int) queries.Backlog {
		t.Helper()
		f.Settle()
		b, err := f.queries.Backlog(t.Context())
		if err != nil || b.Files != files || (b.Age > 0) != (files > 0) {
			t.Errorf("Backlog = %+v, %v, want %d files", b, err, files)
		}
		return b
	}
	backlog(0)
	job := events.JobStream(uuid.New())
	f.Append(job, events.FileAccepted{File: 0, Name: "a.md"}, events.FileAccepted{File: 1, Name: "b.md"}, events.FileAccepted{File: 2, Name: "c.exe", Refused: "not a document"})
	backlog(0) // the job does not exist before ImportRequested
	before := time.Now()
	f.Append(job, events.ImportRequested{User: "user:alice", Files: 3})
	after := time.Now()
	b := backlog(2)
	if limit := time.Since(before) + time.Millisecond; b.Age > limit {
		t.Errorf("Backlog: got age %v, want at most %v", b.Age, limit)
	}
	later := time.Now()
	f.Append(events.JobStream(uuid.New()), events.FileAccepted{File: 0, Name: "d.md"}, events.ImportRequested{User: "user:bob", Files: 1})
	if limit, b := time.Since(after), backlog(3); b.Age < limit {
		t.Errorf("Backlog: got age %v, want at least %v", b.Age, limit)
	}
	f.Append(job, events.FileImported{File: 0, Document: uuid.New()}, events.FileFailed{File: 1, Error: "the file is empty"})
	b = backlog(1)
	if limit := time.Since(later) + time.Millisecond; b.Age > limit {
		t.Errorf("Backlog: got age %v, want at most %v", b.Age, limit)
	}
}

// A node whose vault cannot be read is not ready, even if its last known position is
// recent enough.
func TestReadyRequiresVault(t *testing.T) {
	f := newFixture(t)
	f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	db := projectionstest.Open(t, f.Home, "vault-1")
	defer db.Close()
	for _, step := range []struct {
		change string
		ready  bool
	}{
		{`SELECT 1`, true},
		{`ALTER TABLE checkpoint RENAME TO hidden`, false},
		{`ALTER TABLE hidden RENAME TO checkpoint`, true},
	} {
		if _, err := db.ExecContext(t.Context(), step.change); err != nil {
			t.Fatal(err)
		}
		if err := f.queries.Ready(t.Context()); (err == nil) != step.ready {
			t.Errorf("after %s: Ready = %v, want ready %t", step.change, err, step.ready)
		}
	}
}
