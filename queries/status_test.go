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
	f, engine := newMoodyFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.settle()
	g := &gate{make(chan struct{}), make(chan struct{})}
	engine.gate.Store(g)
	before := time.Now()
	f.document(top, "a.md", nil, "Text.")
	after := time.Now()
	<-g.entered
	for _, m := range f.Models.All() {
		if m != f.Models.Passages {
			if err := m.Wait(t.Context(), f.at); err != nil {
				t.Fatal(err)
			}
		}
	}
	least := time.Since(after)
	all, err := f.Status(t.Context())
	if err != nil || len(all) != len(f.Models.All()) {
		t.Fatalf("status %v (%v)", all, err)
	}
	for _, m := range all {
		behind := m.Name == "passages"
		if behind != (m.Position < m.Head) || behind != (m.Lag > 0) {
			t.Errorf("status %+v, want passages behind and nothing else", m)
		}
		if most := time.Since(before) + time.Millisecond; behind && (m.Lag < least || m.Lag > most) {
			t.Errorf("passages are %v behind, want %v to %v", m.Lag, least, most)
		}
	}
	close(g.open)
	f.settle()
}

func TestStatusCountsParkedEvents(t *testing.T) {
	f := newFixture(t)
	stream := events.DocumentStream(uuid.New())
	f.addUnreadable(stream, "DocumentImported")
	f.addUnreadable(stream, "DocumentImported")
	f.settle()
	all, err := f.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"vault": 2, "summaries": 2, "passages": 2, "jobs": 0, "work": 0, "usage": 2}
	for _, m := range all {
		if parked, known := want[m.Name]; known && m.Parked != parked || m.Lag != 0 {
			t.Errorf("status %+v, want %d parked", m, parked)
		}
	}
}

func TestBacklogIsWhatHasNotEnded(t *testing.T) {
	f := newFixture(t)
	backlog := func(files int) queries.Backlog {
		t.Helper()
		f.settle()
		b, err := f.Backlog(t.Context())
		if err != nil || b.Files != files || (b.Age > 0) != (files > 0) {
			t.Errorf("backlog %+v (%v), want %d files", b, err, files)
		}
		return b
	}
	backlog(0)
	job := events.JobStream(uuid.New())
	f.add(job, events.FileAccepted{File: 0, Name: "a.md"}, events.FileAccepted{File: 1, Name: "b.md"}, events.FileAccepted{File: 2, Name: "c.exe", Refused: "not a document"})
	backlog(0) // nobody has asked for the job yet
	before := time.Now()
	f.add(job, events.ImportRequested{User: "user:alice", Files: 3})
	after := time.Now()
	b := backlog(2)
	if most := time.Since(before) + time.Millisecond; b.Age > most {
		t.Errorf("the oldest file waits for %v, want up to %v", b.Age, most)
	}
	later := time.Now()
	f.add(events.JobStream(uuid.New()), events.FileAccepted{File: 0, Name: "d.md"}, events.ImportRequested{User: "user:bob", Files: 1})
	if least, b := time.Since(after), backlog(3); b.Age < least {
		t.Errorf("the oldest file waits for %v, want %v at least", b.Age, least)
	}
	f.add(job, events.FileImported{File: 0, Document: uuid.New()}, events.FileFailed{File: 1, Error: "the file is empty"})
	b = backlog(1)
	if most := time.Since(later) + time.Millisecond; b.Age > most {
		t.Errorf("the oldest file waits for %v, want up to %v", b.Age, most)
	}
}

// The last known state of read models must not be used while they cannot be asked.
func TestReadyNeedsVault(t *testing.T) {
	f := newFixture(t)
	f.folder(uuid.Nil, "Top", "user:alice")
	f.settle()
	db := projectionstest.Open(t, f.world.Home, "vault-1")
	defer db.Close()
	for _, step := range []struct {
		change string
		ready  bool
	}{
		{`SELECT 1`, true},
		{`ALTER TABLE checkpoint RENAME TO aside`, false},
		{`ALTER TABLE aside RENAME TO checkpoint`, true},
	} {
		if _, err := db.ExecContext(t.Context(), step.change); err != nil {
			t.Fatal(err)
		}
		if err := f.Ready(t.Context()); (err == nil) != step.ready {
			t.Errorf("after %s: Ready = %v, want ready %t", step.change, err, step.ready)
		}
	}
}
