package passages_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

func TestRevisionIsShownInOneStep(t *testing.T) {
	projectionstest.SkipIfRepeated(t)
	const sections = 2*passages.IndexPassages + 100 // three batches
	log, dir, folder, document := projectionstest.NewLog(t), t.TempDir(), uuid.New(), uuid.New()
	engine := openIndex(t, dir)
	var m *projectionstest.Model
	seen := make(map[string]int) // number of searches, by the versions that they found
	search := func(searchindex.Batch) error {
		found, err := countShown(t.Context(), m.DB(), engine, searchindex.Query{Text: "lighthouse windmill", All: true})
		seen[fmt.Sprint(found)]++
		return err
	}
	applied := func(searchindex.Batch) error { return nil }
	m = openOver(t, log, dir, watched{engine, func(b searchindex.Batch) error { return applied(b) }})
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: projectionstest.AppendText(t, log, document, 1, "lighthouse", 7)})
	m.StepAll()

	projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 2, Content: projectionstest.AppendText(t, log, document, 2, "windmill", sections)})
	applied = search
	m.StepAll()
	if err := search(searchindex.Batch{}); err != nil {
		t.Fatal(err)
	}
	if before, after := seen["map[1:7]"], seen[fmt.Sprintf("map[2:%d]", sections)]; len(seen) != 2 || before < 3 || after < 2 {
		t.Errorf("searches between the batches found %v (passages by version), want all passages of version 1, then all of version 2", seen)
	}
	if n, err := engine.Count(t.Context()); err != nil || n != sections {
		t.Errorf("the index has %d passages (%v), want the %d of the new version", n, err, sections)
	}
	m.Close()
}

func TestEarlierTextsKeptUntilDeletion(t *testing.T) {
	for name, end := range map[string]func(document, folder uuid.UUID) (string, events.Data){
		"document": func(document, _ uuid.UUID) (string, events.Data) {
			return events.DocumentStream(document), events.DocumentDeleted{Version: 4}
		},
		"folder": func(_, folder uuid.UUID) (string, events.Data) {
			return events.Folders, events.FolderDeleted{Folder: folder}
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, folder, document := projectionstest.NewLog(t), uuid.New(), uuid.New()
			projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
			projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: projectionstest.AppendText(t, log, document, 1, "one", 2)})
			projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 2, Content: projectionstest.AppendText(t, log, document, 2, "two", 3)})
			projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 3, Content: projectionstest.AppendText(t, log, document, 3, "three", 1)})
			m := openPassages(t, log, t.TempDir())
			m.StepAll()
			texts := `SELECT t.stream || ': ' || ` + projectionstest.TextOf("s.text") + ` FROM sections s JOIN texts t ON t.id = s.text_id ORDER BY t.stream, s.section`
			var want []string
			for i, word := range []string{"one", "one", "two", "two", "two", "three"} {
				want = append(want, fmt.Sprintf("%s%d: %s", strings.TrimSuffix(events.TextStream(document, 0), "0"), []int{0, 0, 1, 1, 1, 2}[i], projectionstest.TextWith(word)))
			}
			if got := projectionstest.Rows(t, m.DB(), texts); got != strings.Join(want, "\n") {
				t.Errorf("the texts are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}

			projectionstest.AppendText(t, log, document, 5, "five", 1)
			stream, data := end(document, folder)
			projectionstest.Append(t, log, stream, data)
			projectionstest.AppendText(t, log, document, 5, "six", 1) // an extraction that ends after the deletion
			m.StepAll()
			if got := projectionstest.Rows(t, m.DB(), texts); got != "" {
				t.Errorf("texts of the deleted document are kept:\n%s", got)
			}
			if n, err := m.Index().Count(t.Context()); err != nil || n != 0 {
				t.Errorf("the index has %d passages of the deleted document (%v), want none", n, err)
			}
			m.Close()
		})
	}
}

func TestInterruptedRevisionContinues(t *testing.T) {
	log, dir, folder, document := projectionstest.NewLog(t), t.TempDir(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: projectionstest.AppendText(t, log, document, 1, "lighthouse", 3)})
	index := &crashing{openIndex(t, dir), 100}
	m := openOver(t, log, dir, index)
	m.StepAll()
	projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 2, Content: projectionstest.AppendText(t, log, document, 2, "windmill", passages.IndexPassages+100)})
	batch, through := m.EventsAfter(m.Position())
	m.ApplyEvents(batch, through)
	index.left = 1 // the program ends after the first of two batches
	if err := m.Projection.(*passages.Projection).Flush(t.Context(), m.Store(), through); !errors.Is(err, errCrashed) {
		t.Fatalf("Flush = %v, want %v", err, errCrashed)
	}
	m.Close()

	m = openPassages(t, log, dir)
	engine := m.Index()
	q := searchindex.Query{Text: "lighthouse windmill", All: true}
	if found, err := countShown(t.Context(), m.DB(), engine, q); err != nil || len(found) != 1 || found[1] != 3 {
		t.Errorf("after the restart a search finds %v (%v), want the 3 passages of version 1", found, err)
	}
	m.StepAll()
	if found, err := countShown(t.Context(), m.DB(), engine, q); err != nil || len(found) != 1 || found[2] != passages.IndexPassages+100 {
		t.Errorf("after the rest was indexed a search finds %v (%v), want the %d passages of version 2", found, err, passages.IndexPassages+100)
	}
	m.Close()
}

func TestFlushDeletesPassagesDuringLargeDocument(t *testing.T) {
	projectionstest.SkipIfRepeated(t)
	log, folder := projectionstest.NewLog(t), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	file := func(word string, sections int) string {
		document := uuid.New()
		stream := events.DocumentStream(document)
		projectionstest.Append(t, log, stream, events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: projectionstest.AppendText(t, log, document, 1, word, sections)})
		return stream
	}
	const old, added = 2*passages.IndexPassages + 500, passages.IndexPassages + 500
	streams := []string{file("lighthouse", old), file("lighthouse", old)}
	m := openPassages(t, log, t.TempDir())
	m.StepAll()
	for _, stream := range streams {
		projectionstest.Append(t, log, stream, events.DocumentDeleted{Version: 2})
	}
	file("windmill", added)
	batch, through := m.EventsAfter(m.Position())
	m.ApplyEvents(batch, through)
	flush(t, m, through)
	if n, err := m.Index().Count(t.Context()); err != nil || n != added {
		t.Errorf("the index has %d passages (%v), want the %d of the remaining document", n, err, added)
	}
	if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM forgotten`); n != 0 {
		t.Errorf("%d passages are still to be deleted from the index, want none", n)
	}
	m.Close()
}

func TestDocumentInDeletedFolderNotIndexed(t *testing.T) {
	log, gone, kept := projectionstest.NewLog(t), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: gone, Name: "gone"}, events.FolderCreated{Folder: kept, Name: "kept"})
	late, _ := projectionstest.ImportDocument(t, log, kept, "lighthouse")
	moved, _ := projectionstest.ImportDocument(t, log, gone, "lighthouse")
	projectionstest.Append(t, log, events.DocumentStream(moved), events.DocumentMoved{Version: 2, Folder: kept})
	projectionstest.Append(t, log, events.Folders, events.FolderDeleted{Folder: gone})
	projectionstest.ImportDocument(t, log, gone, "lighthouse")
	projectionstest.Append(t, log, events.DocumentStream(late), events.DocumentMoved{Version: 2, Folder: gone})
	m := openPassages(t, log, t.TempDir())
	batch, through := m.EventsAfter(0)
	for range 2 { // events are applied again after a crash
		m.ApplyEvents(batch, through)
		flush(t, m, through)
		if got := projectionstest.Rows(t, m.DB(), `SELECT id FROM documents`); got != moved.String() {
			t.Errorf("the tables contain the documents\n%s\nwant %s", got, moved)
		}
		if inKept, inGone := countBelow(t, m.Index(), kept, "lighthouse"), countBelow(t, m.Index(), gone, "lighthouse"); inKept != 1 || inGone != 0 {
			t.Errorf("%d passages are found in the remaining folder and %d in the deleted one, want 1 and 0", inKept, inGone)
		}
	}
	m.Close()
}
