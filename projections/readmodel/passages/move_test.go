package passages_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/searchindextest"

	"github.com/google/uuid"
)

// importBelow imports documents below a folder, 100 into each of its subfolders. It
// returns the event that moves the folder, and the folder's parent before the move.
func importBelow(t testing.TB, log *events.Log, documents int) (move events.FolderMoved, from uuid.UUID, last events.Position) {
	t.Helper()
	const each = 100
	from, move = uuid.New(), events.FolderMoved{Folder: uuid.New(), Parent: uuid.New()}
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: from, Name: "from"}, events.FolderCreated{Folder: move.Parent, Name: "to"},
		events.FolderCreated{Folder: move.Folder, Parent: from, Name: "folder"})
	for i := range documents / each {
		below := uuid.New()
		projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: below, Parent: move.Folder, Name: fmt.Sprint(i)})
		for range each {
			_, last = projectionstest.ImportDocument(t, log, below, "lighthouse")
		}
	}
	return move, from, last
}

func TestNewDocumentsIndexedDuringRelabelling(t *testing.T) {
	projectionstest.SkipIfRepeated(t)
	const added, documents = 5, 8 * passages.DeferredPassages
	log, other := projectionstest.NewLog(t), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: other, Name: "other"})
	move, from, last := importBelow(t, log, documents)
	var held atomic.Bool
	entered, leave := make(chan struct{}), make(chan struct{})
	applied := func(searchindex.Batch) error {
		for _, c := range []chan struct{}{entered, leave} {
			if !held.Load() {
				return nil
			}
			select {
			case c <- struct{}{}:
			case <-t.Context().Done():
			}
		}
		return nil
	}
	o := projectionstest.Options(t, log, t.TempDir())
	store, engine := o.Search, searchindex.Engine(nil)
	o.Search = searchindextest.Store{Store: store, OnOpen: func(ctx context.Context, generation string) (_ searchindex.Engine, err error) {
		engine, err = store.Open(ctx, generation)
		return watched{engine, applied}, err
	}}
	s, _ := projectionstest.Serve(t, o)
	r := s.Runner(passages.Name)
	projectionstest.Wait(t, r, last)
	held.Store(true)
	projectionstest.Wait(t, r, projectionstest.Append(t, log, events.Folders, move))
	for n := 1; n <= added; n++ {
		<-entered // the index receives a piece of the moved documents
		_, at := projectionstest.ImportDocument(t, log, other, "windmill")
		<-leave
		<-entered // the index receives the next change
		if got := countBelow(t, engine, other, "windmill"); got != n {
			t.Fatalf("the index has %[2]d of %[1]d documents that were imported meanwhile", n, got)
		}
		<-leave
		projectionstest.Wait(t, r, at)
		if projectionstest.Number(t, r.DB(), `SELECT count(*) FROM deferred`) == 0 {
			t.Fatal("no document is left to relabel: the folder has too few documents for this test")
		}
	}
	held.Store(false)
	for {
		_, moved := r.Moved()
		if projectionstest.Number(t, r.DB(), `SELECT count(*) FROM deferred`) == 0 {
			break
		}
		select {
		case <-entered:
			<-leave
		case <-moved:
		}
	}

	if n := countBelow(t, engine, from, "lighthouse"); n != 0 {
		t.Errorf("%d passages are found in the old parent folder, want none", n)
	}
	if n, err := engine.Count(t.Context()); err != nil || n != documents+added {
		t.Errorf("the index has %d passages (%v), want %d", n, err, documents+added)
	}
	if n := countBelow(t, engine, move.Parent, "lighthouse"); n != searchindex.MaxLimit {
		t.Errorf("%d passages are found in the new parent folder, want %d", n, searchindex.MaxLimit)
	}
	projectionstest.Wait(t, r, projectionstest.Append(t, log, events.Folders, events.FolderDeleted{Folder: move.Folder}))
	if n, err := engine.Count(t.Context()); err != nil || n != added {
		t.Errorf("after the deletion the index has %d passages (%v), want %d", n, err, added)
	}
	if n := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM sections`); n != added {
		t.Errorf("after the deletion there are %d sections, want %d", n, added)
	}
}

func BenchmarkImportDuringRelabelling(b *testing.B) {
	const documents = 20_000
	log, other := projectionstest.NewLog(b), uuid.New()
	projectionstest.Append(b, log, events.Folders, events.FolderCreated{Folder: other, Name: "other"})
	move, from, last := importBelow(b, log, documents)
	s, _ := projectionstest.Serve(b, projectionstest.Options(b, log, b.TempDir()))
	r := s.Runner(passages.Name)
	projectionstest.Wait(b, r, last)
	for b.Loop() {
		if projectionstest.Number(b, r.DB(), `SELECT count(*) FROM deferred`) == 0 {
			projectionstest.Wait(b, r, projectionstest.Append(b, log, events.Folders, move))
			move.Parent, from = from, move.Parent
		}
		_, at := projectionstest.ImportDocument(b, log, other, "windmill")
		projectionstest.Wait(b, r, at)
	}
}

func TestRelabellingContinuesAfterRestart(t *testing.T) {
	projectionstest.SkipIfRepeated(t)
	log, dir := projectionstest.NewLog(t), t.TempDir()
	from, to, folder := uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: from, Name: "from"}, events.FolderCreated{Folder: to, Name: "to"},
		events.FolderCreated{Folder: folder, Parent: from, Name: "folder"})
	const documents = passages.DeferredPassages + 10
	var first, removed uuid.UUID
	for i := range documents {
		document, _ := projectionstest.ImportDocument(t, log, folder, "lighthouse")
		switch i {
		case 0:
			first = document
		case documents - 1:
			removed = document
		}
	}
	m := openPassages(t, log, dir)
	m.StepAll()
	moved := projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: folder, Parent: to})
	projectionstest.Append(t, log, events.DocumentStream(first), events.DocumentTagged{Version: 2, Tags: []string{"t"}})
	last := projectionstest.Append(t, log, events.DocumentStream(removed), events.DocumentDeleted{Version: 2})
	m.StepOnce()
	const deferred, shown = `SELECT count(*) FROM deferred`, `SELECT coalesce((SELECT min(position) - 1 FROM deferred), (SELECT position FROM checkpoint))`
	if n := projectionstest.Number(t, m.DB(), deferred); n != documents-2 || m.Position() < last {
		t.Errorf("at position %d, %d documents are deferred, want %d at position %d: all except the tagged one and the deleted one", m.Position(), n, documents-2, last)
	}
	if n := projectionstest.Number(t, m.DB(), shown); events.Position(n) != moved-1 {
		t.Errorf("the index shows the moves up to position %d, want %d", n, moved-1)
	}
	if more, err := m.DoDeferred(t.Context()); err != nil || !more {
		t.Fatalf("DoDeferred = %v, %v, want true", more, err)
	}
	if n := projectionstest.Number(t, m.DB(), deferred); n == 0 || n == documents-2 {
		t.Errorf("after one piece %d documents are deferred, want fewer than %d and not none", n, documents-2)
	}
	m.Close()
	// Documents that are deferred since the first move keep their position when the
	// folder is moved a second time.
	projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: folder, Parent: from})
	back := projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: folder, Parent: to})
	m = openPassages(t, log, dir)
	m.StepOnce()
	if n := projectionstest.Number(t, m.DB(), shown); events.Position(n) != moved-1 {
		t.Errorf("after more moves the index shows those up to position %d, want %d", n, moved-1)
	}
	m.StepAll()
	if n := projectionstest.Number(t, m.DB(), shown); events.Position(n) < back {
		t.Errorf("in the end the index shows the moves up to position %d, want %d", n, back)
	}
	if now, before := countBelow(t, m.Index(), to, "lighthouse"), countBelow(t, m.Index(), from, "lighthouse"); now != documents-1 || before != 0 {
		t.Errorf("%d passages are found in the new parent folder and %d in the old one, want %d and none", now, before, documents-1)
	}
	m.Close()
}
