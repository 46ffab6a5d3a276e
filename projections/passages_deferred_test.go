package projections

import (
	"context"
	"path/filepath"
	"testing"

	"annals/events"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// A document with very much text is taken in pieces, between which others come
// and it may itself be moved.
func TestSmallDocumentIndexedBeforeLargeOne(t *testing.T) {
	heavy(t)
	const sections = 5*passages.DeferredPassages + 7
	log, dir := newLog(t), t.TempDir()
	from, to, large, small := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	engine, err := bleve.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	var most, all int
	r, err := runnerOver(t.Context(), log, &passages.Projection{Engine: sized{engine, &most, &all}}, homeIn(t, dir), "passages", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	in := func(folder uuid.UUID, word string) int {
		t.Helper()
		found, err := find(t.Context(), r, engine, searchindex.Query{Text: word, Granted: []string{folder.String()}})
		if err != nil {
			t.Fatal(err)
		}
		return found[1]
	}
	piece := func() {
		t.Helper()
		if more, err := r.doDeferred(t.Context()); err != nil || !more {
			t.Fatalf("a piece of the large document: %t, %v", more, err)
		}
	}
	filed := func(document uuid.UUID, word string, sections int) events.Position {
		content := write(t, log, document, 1, word, sections)
		return add(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: from, Name: word, Content: content})
	}
	for _, f := range []uuid.UUID{from, to} {
		add(t, log, events.Folders, events.FolderCreated{Folder: f, Name: f.String()})
	}
	filed(large, "lighthouse", sections)
	last := filed(small, "windmill", 3)
	add(t, log, events.Folders, events.FolderMoved{Folder: from, Parent: to}) // as one that waits for this, too
	through := add(t, log, events.Folders, events.FolderMoved{Folder: from})
	reach := func(at events.Position) (atOnce int) {
		t.Helper()
		for ; r.Position() < at; atOnce = max(atOnce, all) {
			all = 0
			if _, err := r.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return atOnce
	}
	reach(through)
	if since := number(t, r, `SELECT position FROM deferred`); events.Position(since) > last {
		t.Errorf("the large document is lacking since position %d, after it was filed by %d", since, last)
	}
	if n := in(from, "windmill"); n != 3 {
		t.Errorf("of the small document %d passages are found, want 3", n)
	}
	piece()
	piece()
	if n := in(from, "lighthouse"); n != 0 {
		t.Errorf("%d passages are found of a document that is not taken whole", n)
	}
	add(t, log, events.DocumentStream(large), events.DocumentMoved{Version: 2, Folder: to})
	last = add(t, log, events.Folders, events.FolderMoved{Folder: to, Parent: from})
	reach(last)
	steps(t, r)
	if n, all := in(to, "lighthouse"), in(from, "lighthouse"); n != sections || all != sections {
		t.Errorf("in the folder that the large document was moved to %d passages are found, and %d above it, want %d", n, all, sections)
	}
	if most > passages.DeferredPassages {
		t.Errorf("the index takes %d passages at once, want %d at most", most, passages.DeferredPassages)
	}

	// A change of it waits in the same way, and so do many documents that are not
	// quite as large.
	if n := reach(add(t, log, events.DocumentStream(large), events.DocumentTagged{Version: 3, Tags: []string{"long"}})); n > 0 {
		t.Errorf("a tag of a large document has the index take %d passages at once", n)
	}
	const many = 10
	for range many {
		filed(uuid.New(), "dovecote", passages.DeferredPassages-1)
	}
	last = filed(uuid.New(), "quagmire", 3)
	if n := reach(last); n > passages.IndexPassages+3 {
		t.Errorf("of many documents the index takes %d passages in one step, want no more than a batch", n)
	}
	if n := in(from, "quagmire"); n != 3 {
		t.Errorf("of a small document behind many larger ones %d passages are found, want 3", n)
	}
	steps(t, r)
	if n := in(from, "dovecote"); n != many*(passages.DeferredPassages-1) {
		t.Errorf("of the larger ones %d passages are found, want %d", n, many*(passages.DeferredPassages-1))
	}
	if n := number(t, r, `SELECT (SELECT count(*) FROM deferred) + (SELECT count(*) FROM unindexed)`); n > 0 {
		t.Errorf("%d documents still wait", n)
	}
}

// sized is a search index that tells how much it was given at once.
type sized struct {
	*bleve.Index
	most, all *int
}

func (s sized) Apply(ctx context.Context, b searchindex.Batch) error {
	*s.most = max(*s.most, len(b.Put))
	*s.all += len(b.Put)
	return s.Index.Apply(ctx, b)
}
