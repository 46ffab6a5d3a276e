package projections

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"annals/events"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// found counts the documents that the index finds below a folder.
func found(t *testing.T, r *Runner, folder uuid.UUID, word string) int {
	t.Helper()
	q := searchindex.Query{Text: word, All: true, Folders: []string{folder.String()}, Limit: searchindex.MaxLimit}
	hits, err := r.Projection.(*Passages).Engine.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return len(hits)
}

// fileInto files a document of one section that holds a word.
func fileInto(t *testing.T, log *events.Log, folder uuid.UUID, word string) (document uuid.UUID, at events.Position) {
	t.Helper()
	document = uuid.New()
	return document, add(t, log, events.DocumentStream(document),
		events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, log, document, 1, word, 1)})
}

func TestWhatIsNewIsFoundWhileAMovedFolderIsLabelledAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("it files 20,000 documents")
	}
	const documents, subfolders = 20_000, 100
	log, dir := newLog(t), t.TempDir()
	from, to, folder, other := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: from, Name: "from"}, events.FolderCreated{Folder: to, Name: "to"},
		events.FolderCreated{Folder: other, Name: "other"}, events.FolderCreated{Folder: folder, Parent: from, Name: "folder"})
	var last events.Position
	for i := range subfolders {
		below := uuid.New()
		add(t, log, events.Folders, events.FolderCreated{Folder: below, Parent: folder, Name: fmt.Sprint(i)})
		for range documents / subfolders {
			_, last = fileInto(t, log, below, "lighthouse")
		}
	}
	engine, err := bleve.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	r := started(t, log, &Passages{Engine: engine})
	if err := r.Wait(t.Context(), last); err != nil {
		t.Fatal(err)
	}

	begun := time.Now()
	wait(t, r, add(t, log, events.Folders, events.FolderMoved{Folder: folder, Parent: to}))
	t.Logf("a folder of %d documents was moved in %v", documents, time.Since(begun))
	var took []time.Duration
	for number(t, r, `SELECT count(*) FROM relabels`) > 0 {
		filed := time.Now()
		_, at := fileInto(t, log, other, "windmill")
		wait(t, r, at)
		took = append(took, time.Since(filed))
		if n := found(t, r, other, "windmill"); n != len(took) {
			t.Fatalf("of %d documents filed meanwhile %d are found", len(took), n)
		}
	}
	t.Logf("the last of them were labelled anew after %v", time.Since(begun))
	if len(took) < 5 {
		t.Fatalf("%d documents were filed meanwhile, too few to tell", len(took))
	}
	slices.Sort(took)
	t.Logf("%d documents filed meanwhile were found after %v (median), %v (longest)", len(took), took[len(took)/2], took[len(took)-1])
	if n := found(t, r, from, "lighthouse"); n != 0 {
		t.Errorf("%d passages are still found where the folder was", n)
	}
	if n, err := engine.Count(t.Context()); err != nil || n != uint64(documents+len(took)) {
		t.Errorf("the index holds %d passages (%v), want %d", n, err, documents+len(took))
	}
	if n := found(t, r, to, "lighthouse"); n != searchindex.MaxLimit {
		t.Errorf("%d passages are found where the folder is, want %d at least", n, searchindex.MaxLimit)
	}

	begun = time.Now()
	if err := r.Wait(t.Context(), add(t, log, events.Folders, events.FolderDeleted{Folder: folder})); err != nil {
		t.Fatal(err)
	}
	t.Logf("it was deleted in %v", time.Since(begun))
	if n, err := engine.Count(t.Context()); err != nil || n != uint64(len(took)) {
		t.Errorf("after the deletion the index holds %d passages (%v), want %d", n, err, len(took))
	}
	if n := number(t, r, `SELECT count(*) FROM sections`); n != len(took) {
		t.Errorf("after the deletion there are %d sections, want %d", n, len(took))
	}
}

func TestLabellingGoesOnAfterARestart(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	from, to, folder := uuid.New(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: from, Name: "from"}, events.FolderCreated{Folder: to, Name: "to"},
		events.FolderCreated{Folder: folder, Parent: from, Name: "folder"})
	const documents = relabelPassages + 10
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
	const waiting, since = `SELECT count(*) FROM relabels`, `SELECT coalesce((SELECT min(position) - 1 FROM relabels), (SELECT position FROM checkpoint))`
	if n := number(t, r, waiting); n != documents-2 || r.Position() < last {
		t.Errorf("at position %d, %d documents wait, want at %d all but the one that was labelled for its tag and the one deleted", r.Position(), n, last)
	}
	if n := number(t, r, since); events.Position(n) != moved-1 {
		t.Errorf("all moves up to %d are shown, want %d", n, moved-1)
	}
	if more, err := r.later(t.Context()); err != nil || !more {
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
