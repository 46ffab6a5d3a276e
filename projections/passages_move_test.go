package projections

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// found counts the documents that the index finds below a folder.
func found(t testing.TB, r *Runner, folder uuid.UUID, word string) int {
	t.Helper()
	q := searchindex.Query{Text: word, All: true, Folders: []string{folder.String()}, Limit: searchindex.MaxLimit}
	hits, err := r.Projection.(*passages.Projection).Engine.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return len(hits)
}

// fileInto files a document of one section that holds a word.
func fileInto(t testing.TB, log *events.Log, folder uuid.UUID, word string) (document uuid.UUID, at events.Position) {
	t.Helper()
	document = uuid.New()
	return document, add(t, log, events.DocumentStream(document),
		events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, log, document, 1, word, 1)})
}

// moveMany files documents below a folder, of 100 each in folders of their own,
// and returns the event that moves it elsewhere.
func moveMany(t testing.TB, log *events.Log, documents int) (move events.FolderMoved, from uuid.UUID, last events.Position) {
	t.Helper()
	const each = 100
	from, move = uuid.New(), events.FolderMoved{Folder: uuid.New(), Parent: uuid.New()}
	add(t, log, events.Folders, events.FolderCreated{Folder: from, Name: "from"}, events.FolderCreated{Folder: move.Parent, Name: "to"},
		events.FolderCreated{Folder: move.Folder, Parent: from, Name: "folder"})
	for i := range documents / each {
		below := uuid.New()
		add(t, log, events.Folders, events.FolderCreated{Folder: below, Parent: move.Folder, Name: fmt.Sprint(i)})
		for range each {
			_, last = fileInto(t, log, below, "lighthouse")
		}
	}
	return move, from, last
}

func TestNewDocumentsIndexedDuringRelabelling(t *testing.T) {
	heavy(t)
	const filed, documents = 5, 8 * passages.DeferredPassages
	log, other := newLog(t), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: other, Name: "other"})
	move, from, last := moveMany(t, log, documents)
	engine, err := bleve.Open(filepath.Join(t.TempDir(), "index"))
	if err != nil {
		t.Fatal(err)
	}
	var held atomic.Bool
	entered, leave := make(chan struct{}), make(chan struct{})
	hold := func() error {
		for _, c := range []chan struct{}{entered, leave} {
			select {
			case c <- struct{}{}:
			case <-t.Context().Done():
			}
		}
		return nil
	}
	r := started(t, log, &passages.Projection{Engine: watched{engine, func() error {
		if held.Load() {
			return hold()
		}
		return nil
	}}})
	wait(t, r, last)
	held.Store(true)
	wait(t, r, add(t, log, events.Folders, move))
	for n := 1; n <= filed; n++ {
		<-entered // a piece of the labelling
		_, at := fileInto(t, log, other, "windmill")
		<-leave
		<-entered // what comes next
		if got := found(t, r, other, "windmill"); got != n {
			t.Fatalf("of %d documents filed meanwhile the index holds %d", n, got)
		}
		<-leave
		wait(t, r, at)
		if number(t, r, `SELECT count(*) FROM deferred`) == 0 {
			t.Fatal("no document waits to be relabelled: too few to test")
		}
	}
	held.Store(false)
	for {
		_, moved := r.Moved()
		if number(t, r, `SELECT count(*) FROM deferred`) == 0 {
			break
		}
		select {
		case <-entered:
			<-leave
		case <-moved:
		}
	}

	if n := found(t, r, from, "lighthouse"); n != 0 {
		t.Errorf("%d passages are still found where the folder was", n)
	}
	if n, err := engine.Count(t.Context()); err != nil || n != documents+filed {
		t.Errorf("the index holds %d passages (%v), want %d", n, err, documents+filed)
	}
	if n := found(t, r, move.Parent, "lighthouse"); n != searchindex.MaxLimit {
		t.Errorf("%d passages are found where the folder is, want %d at least", n, searchindex.MaxLimit)
	}
	wait(t, r, add(t, log, events.Folders, events.FolderDeleted{Folder: move.Folder}))
	if n, err := engine.Count(t.Context()); err != nil || n != filed {
		t.Errorf("after the deletion the index holds %d passages (%v), want %d", n, err, filed)
	}
	if n := number(t, r, `SELECT count(*) FROM sections`); n != filed {
		t.Errorf("after the deletion there are %d sections, want %d", n, filed)
	}
}

func BenchmarkImportsWhileAMovedFolderIsLabelledAnew(b *testing.B) {
	const documents = 20_000
	log, other := newLog(b), uuid.New()
	add(b, log, events.Folders, events.FolderCreated{Folder: other, Name: "other"})
	move, from, last := moveMany(b, log, documents)
	engine, err := bleve.Open(filepath.Join(b.TempDir(), "index"))
	if err != nil {
		b.Fatal(err)
	}
	r := started(b, log, &passages.Projection{Engine: engine})
	wait(b, r, last)
	for b.Loop() {
		if number(b, r, `SELECT count(*) FROM deferred`) == 0 {
			wait(b, r, add(b, log, events.Folders, move))
			move.Parent, from = from, move.Parent
		}
		_, at := fileInto(b, log, other, "windmill")
		wait(b, r, at)
	}
}

func TestLabellingGoesOnAfterARestart(t *testing.T) {
	heavy(t)
	log, dir := newLog(t), t.TempDir()
	from, to, folder := uuid.New(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: from, Name: "from"}, events.FolderCreated{Folder: to, Name: "to"},
		events.FolderCreated{Folder: folder, Parent: from, Name: "folder"})
	const documents = passages.DeferredPassages + 10
	var first, removed uuid.UUID
	for i := range documents {
		document, _ := fileInto(t, log, folder, "lighthouse")
		switch i {
		case 0:
			first = document
		case documents - 1:
			removed = document
		}
	}
	r := newPassages(t, log, dir)
	steps(t, r)
	moved := add(t, log, events.Folders, events.FolderMoved{Folder: folder, Parent: to})
	add(t, log, events.DocumentStream(first), events.DocumentTagged{Version: 2, Tags: []string{"t"}})
	last := add(t, log, events.DocumentStream(removed), events.DocumentDeleted{Version: 2})
	if _, err := r.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	const waiting, since = `SELECT count(*) FROM deferred`, `SELECT coalesce((SELECT min(position) - 1 FROM deferred), (SELECT position FROM checkpoint))`
	if n := number(t, r, waiting); n != documents-2 || r.Position() < last {
		t.Errorf("at position %d, %d documents wait, want at %d all but the one that was labelled for its tag and the one deleted", r.Position(), n, last)
	}
	if n := number(t, r, since); events.Position(n) != moved-1 {
		t.Errorf("all moves up to %d are shown, want %d", n, moved-1)
	}
	if more, err := r.doDeferred(t.Context()); err != nil || !more {
		t.Fatalf("later() = %v, %v", more, err)
	}
	if n := number(t, r, waiting); n == 0 || n == documents-2 {
		t.Errorf("after one piece %d documents wait, want some", n)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	// What waits since the first move keeps its place when there is another.
	add(t, log, events.Folders, events.FolderMoved{Folder: folder, Parent: from})
	back := add(t, log, events.Folders, events.FolderMoved{Folder: folder, Parent: to})
	r = newPassages(t, log, dir)
	if _, err := r.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := number(t, r, since); events.Position(n) != moved-1 {
		t.Errorf("after more moves all up to %d are shown, want %d", n, moved-1)
	}
	steps(t, r)
	if n := number(t, r, since); events.Position(n) < back {
		t.Errorf("in the end all moves up to %d are shown, want %d", n, back)
	}
	if n, m := found(t, r, to, "lighthouse"), found(t, r, from, "lighthouse"); n != documents-1 || m != 0 {
		t.Errorf("%d passages are found where the folder is and %d where it was, want all %d and none", n, m, documents-1)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}
