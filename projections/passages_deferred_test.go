package projections

import (
	"context"
	"path/filepath"
	"testing"

	"annals/events"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// A document with very much text is taken in pieces, between which others come
// and it may itself be moved.
func TestASmallDocumentIsFoundBeforeALargeOneThatCameFirst(t *testing.T) {
	heavy(t)
	const sections = 5*deferredPassages + 7
	log, dir := newLog(t), t.TempDir()
	from, to, large, small := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	engine, err := bleve.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	r, err := newRunner(t.Context(), log, &Passages{Engine: sized{engine, &most}}, homeIn(t, dir), "passages", quiet)
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
		if more, err := r.later(t.Context()); err != nil || !more {
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
	for r.Position() < last {
		if _, err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
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
	for r.Position() < last {
		if _, err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	steps(t, r)
	if n, all := in(to, "lighthouse"), in(from, "lighthouse"); n != sections || all != sections {
		t.Errorf("in the folder that the large document was moved to %d passages are found, and %d above it, want %d", n, all, sections)
	}
	if most > deferredPassages {
		t.Errorf("the index takes %d passages at once, want %d at most", most, deferredPassages)
	}
	if n := number(t, r, `SELECT (SELECT count(*) FROM deferred) + (SELECT count(*) FROM unindexed)`); n > 0 {
		t.Errorf("%d documents still wait", n)
	}
}

// sized is a search index that tells how much it was given at once.
type sized struct {
	*bleve.Index
	most *int
}

func (s sized) Apply(ctx context.Context, b searchindex.Batch) error {
	*s.most = max(*s.most, len(b.Put))
	return s.Index.Apply(ctx, b)
}
