package importer

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"annals/commands"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// deleted imports a document into Library, and deletes it.
func (b *fixture) deleted(d doc) uuid.UUID {
	b.Helper()
	id := b.imported(d)
	b.remove(id)
	return id
}

func (b *fixture) remove(id uuid.UUID) {
	b.Helper()
	if _, err := b.handler().DeleteDocument(b.Context(), alice, "", commands.DeleteDocument{ID: id, Version: 1}); err != nil {
		b.Fatal(err)
	}
}

// living returns the documents that are not deleted, each with its part in Metadata.Via.
func (b *fixture) living() (all map[uuid.UUID]events.DocumentImported, via map[uuid.UUID]string) {
	b.Helper()
	all, via = make(map[uuid.UUID]events.DocumentImported), make(map[uuid.UUID]string)
	for _, e := range b.all() {
		switch d := e.Data.(type) {
		case events.DocumentImported:
			all[events.StreamID(e.Stream)], via[events.StreamID(e.Stream)] = d, e.Metadata.Via
		case events.DocumentDeleted:
			delete(all, events.StreamID(e.Stream))
		}
	}
	return all, via
}

// Wherever a process crashes while a document is restored, repeating the request restores it
// exactly once, with its name, folder, tags and text.
func TestCrashAroundAppendsRestoresOnce(t *testing.T) {
	first := newFixture(t)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			b := first.again()
			old := b.deleted(doc{"a.md", "Library", long(10 << 10)})
			d := &crashing{Driver: b.driver, after: after, left: n}
			h := b.crashable(d).Handler
			started, err := h.StartRestore(b.Context(), alice, "request", old)
			if err == nil {
				b.deliver(b.crashable(d), []fileRef{{Job: started.Job}})
			}
			if !d.crashed {
				if n < 5 {
					t.Errorf("the job has only %d appends", n-1)
				}
				break
			}
			what := fmt.Sprintf("crash at append %d, after it %v", n, after)
			again, err := b.handler().StartRestore(b.Context(), alice, "request", old)
			if err != nil || started.Job != uuid.Nil && again.Job != started.Job {
				t.Fatalf("%s: repeated, StartRestore = %+v, %v, want job %s", what, again, err, started.Job)
			}
			if left := b.deliver(b.crashable(b.driver), []fileRef{{Job: again.Job}}); len(left) > 0 {
				t.Errorf("%s: the second run rejected %v", what, left)
			}
			last, err := b.handler().StartRestore(b.Context(), alice, "request", old)
			if err != nil || last.Job != again.Job {
				t.Errorf("%s: after the end, StartRestore = %+v, %v, want job %s", what, last, err, again.Job)
			}
			all, via := b.living()
			if len(all) != 1 {
				t.Fatalf("%s: %d documents, want 1", what, len(all))
			}
			for id, d := range all {
				if id == old || d.Name != "a.md" || !slices.Equal(d.Tags, []string{"t"}) || via[id] != events.ViaRestore(old) {
					t.Errorf("%s: restored %+v as %s via %q", what, d, id, via[id])
				}
				found, err := b.handler().FindDeleted(b.Context(), alice, old)
				if err != nil || found.Restored != id {
					t.Errorf("%s: FindDeleted = %+v, %v, want %s", what, found, err, id)
				}
			}
		}
	}
}

// Requests at the same time start one job. What was restored and is deleted again can be
// restored again.
func TestConcurrentRestoresStartOneJob(t *testing.T) {
	b := newFixture(t)
	old := b.deleted(doc{"a.md", "Library", "# A\n\nText.\n"})
	jobs := map[uuid.UUID]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			started, err := b.handler().StartRestore(b.Context(), alice, "request", old)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			jobs[started.Job]++
		})
	}
	group.Wait()
	if len(jobs) != 1 {
		t.Fatalf("the requests started %d jobs", len(jobs))
	}
	var job uuid.UUID
	for job = range jobs {
		b.deliver(b.importer(b.driver), []fileRef{{Job: job}})
	}
	restored := b.outcome(job).imported[0].Document
	b.remove(restored)
	for _, id := range []uuid.UUID{old, restored} {
		again, err := b.handler().StartRestore(b.Context(), alice, "request", id)
		if err != nil || again.Job == job {
			t.Fatalf("after another deletion, StartRestore = %+v, %v, want another job than %s", again, err, job)
		}
		b.deliver(b.importer(b.driver), []fileRef{{Job: again.Job}})
	}
	if all, _ := b.living(); len(all) != 1 {
		t.Errorf("%d documents, want 1: both jobs restore the same bytes in the same folder", len(all))
	}
}

// Only owners restore, and only what was deleted by itself. Others learn nothing.
func TestRestoreRefuses(t *testing.T) {
	b := newFixture(t)
	old := b.deleted(doc{"a.md", "Library", "# A\n\nText.\n"})
	there := b.imported(doc{"b.md", "Library", "# B\n\nText.\n"})
	gone := b.imported(doc{"c.md", "Gone", "# C\n\nText.\n"})
	if _, err := b.handler().DeleteFolder(b.Context(), alice, "", foldertree.DeleteFolder{ID: b.folder("Gone"), Version: -1, Recursive: true}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user events.User
		id   uuid.UUID
		want fault.Kind
	}{
		{bob, old, fault.NotFound}, {bob, there, fault.NotFound}, {bob, gone, fault.NotFound}, {alice, uuid.New(), fault.NotFound},
		{alice, there, fault.Conflict}, {alice, gone, fault.Conflict},
	} {
		if _, err := b.handler().StartRestore(b.Context(), c.user, "", c.id); !fault.Is(err, c.want) {
			t.Errorf("StartRestore by %s: %v, want %v", c.user.Principal, err, c.want)
		}
	}
}
