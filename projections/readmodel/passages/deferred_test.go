package passages_test

import (
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// A very large document is indexed in pieces. Between the pieces, other documents must be
// indexed, and the large document itself may be moved.
func TestSmallDocumentIndexedBeforeLargeOne(t *testing.T) {
	projectionstest.SkipIfRepeated(t)
	const sections = 5*passages.DeferredPassages + 7
	log, dir := projectionstest.NewLog(t), t.TempDir()
	from, to, large, small := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	engine := openIndex(t, dir)
	var largest, sum int // numbers of passages that the index received: in its largest change, and in all changes since sum was reset
	m := openOver(t, log, dir, watched{engine, func(b searchindex.Batch) error {
		largest, sum = max(largest, len(b.Put)), sum+len(b.Put)
		return nil
	}})
	count := func(folder uuid.UUID, word string) int {
		t.Helper()
		found, err := countShown(t.Context(), m.DB(), engine, searchindex.Query{Text: word, Granted: []string{folder.String()}})
		if err != nil {
			t.Fatal(err)
		}
		return found[1]
	}
	indexPiece := func() {
		t.Helper()
		if more, err := m.DoDeferred(t.Context()); err != nil || !more {
			t.Fatalf("DoDeferred = %t, %v, want true", more, err)
		}
	}
	file := func(document uuid.UUID, word string, sections int) events.Position {
		content := projectionstest.AppendText(t, log, document, 1, word, sections)
		return projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: from, Name: word, Content: content})
	}
	for _, f := range []uuid.UUID{from, to} {
		projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: f, Name: f.String()})
	}
	file(large, "lighthouse", sections)
	last := file(small, "windmill", 3)
	projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: from, Parent: to}) // the move also defers the small document
	through := projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: from})
	// stepTo applies events up to a position and returns the largest number of passages
	// that the index received in one step.
	stepTo := func(at events.Position) (most int) {
		t.Helper()
		for ; m.Position() < at; most = max(most, sum) {
			sum = 0
			m.StepOnce()
		}
		return most
	}
	stepTo(through)
	if since := projectionstest.Number(t, m.DB(), `SELECT position FROM deferred`); events.Position(since) > last {
		t.Errorf("the large document is deferred since position %d, want %d at most", since, last)
	}
	if n := count(from, "windmill"); n != 3 {
		t.Errorf("%d passages of the small document are found, want 3", n)
	}
	indexPiece()
	indexPiece()
	if n := count(from, "lighthouse"); n != 0 {
		t.Errorf("%d passages are found of a document that is partly indexed, want none", n)
	}
	projectionstest.Append(t, log, events.DocumentStream(large), events.DocumentMoved{Version: 2, Folder: to})
	last = projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: to, Parent: from})
	stepTo(last)
	m.StepAll()
	if n, above := count(to, "lighthouse"), count(from, "lighthouse"); n != sections || above != sections {
		t.Errorf("%d passages of the large document are found in its new folder and %d in the folder above, want %d", n, above, sections)
	}
	if largest > passages.DeferredPassages {
		t.Errorf("one change of the index has %d passages, want %d at most", largest, passages.DeferredPassages)
	}

	// Changes of the large document are deferred, too. So are changes of many medium
	// documents.
	if n := stepTo(projectionstest.Append(t, log, events.DocumentStream(large), events.DocumentTagged{Version: 3, Tags: []string{"long"}})); n > 0 {
		t.Errorf("after a large document was tagged the index receives %d passages, want none before the deferred work", n)
	}
	const medium = 10
	for range medium {
		file(uuid.New(), "dovecote", passages.DeferredPassages-1)
	}
	last = file(uuid.New(), "quagmire", 3)
	if n := stepTo(last); n > passages.IndexPassages+3 {
		t.Errorf("the index receives %d passages in one step, want about one batch at most", n)
	}
	if n := count(from, "quagmire"); n != 3 {
		t.Errorf("%d passages of a small document behind many medium ones are found, want 3", n)
	}
	m.StepAll()
	if n := count(from, "dovecote"); n != medium*(passages.DeferredPassages-1) {
		t.Errorf("%d passages of the medium documents are found, want %d", n, medium*(passages.DeferredPassages-1))
	}
	if n := projectionstest.Number(t, m.DB(), `SELECT (SELECT count(*) FROM deferred) + (SELECT count(*) FROM unindexed)`); n > 0 {
		t.Errorf("%d documents are still deferred or not indexed, want none", n)
	}
}
