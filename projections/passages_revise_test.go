package projections

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// watched is a search index that tells when it has changed, before the tables
// know.
type watched struct {
	*bleve.Index
	applied func() error
}

func (w watched) Apply(ctx context.Context, b searchindex.Batch) error {
	return errors.Join(w.Index.Apply(ctx, b), w.applied())
}

// write adds a text with a number of sections that all hold a word.
func write(t testing.TB, log *events.Log, document uuid.UUID, version int, word string, sections int) events.Content {
	t.Helper()
	stream := events.TextStream(document, version-1)
	var all []events.Data
	for i := range sections {
		all = append(all, events.SectionExtracted{Index: i, Title: fmt.Sprint("section ", i), Text: "It tells of a " + word + "."})
	}
	if len(all) > 0 {
		add(t, log, stream, all...)
	}
	return events.Content{SHA256: strings.Repeat("0", 64), MediaType: "text/markdown", Title: word, TextStream: stream, Sections: sections}
}

// find returns the passages of a document that the index finds by a word and
// the tables say are shown, counted by version.
func find(ctx context.Context, r *Runner, engine searchindex.Engine, q searchindex.Query) (map[int]int, error) {
	found := make(map[int]int)
	for q.Limit = searchindex.MaxLimit; ; q.Offset += q.Limit {
		hits, err := engine.Search(ctx, q)
		if err != nil || len(hits) == 0 {
			return found, err
		}
		for _, h := range hits {
			document, version, section, number, _ := passages.ParseID(h.ID)
			var n int
			err := r.DB().QueryRowContext(ctx, `SELECT count(*) FROM passages p JOIN documents d ON d.id = p.document AND d.shown = p.version
				WHERE p.document = $1 AND p.version = $2 AND p.section = $3 AND p.number = $4`, document, version, section, number).Scan(&n)
			if err != nil {
				return found, err
			}
			if n > 0 {
				found[version]++
			}
		}
	}
}

func TestARevisionIsShownInOneStep(t *testing.T) {
	heavy(t)
	const sections = 2*passages.IndexPassages + 100 // three batches of the index
	log, dir, folder, document := newLog(t), t.TempDir(), uuid.New(), uuid.New()
	engine, err := bleve.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	var r *Runner
	seen := make(map[string]int)
	look := func() error {
		found, err := find(t.Context(), r, engine, searchindex.Query{Text: "lighthouse windmill", All: true})
		seen[fmt.Sprint(found)]++
		return err
	}
	applied := func() error { return nil }
	watch := &passages.Projection{Engine: watched{engine, func() error { return applied() }}}
	if r, err = runnerOver(t.Context(), log, watch, homeIn(t, dir), "passages", quiet); err != nil {
		t.Fatal(err)
	}
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	add(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, log, document, 1, "lighthouse", 7)})
	steps(t, r)

	add(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 2, Content: write(t, log, document, 2, "windmill", sections)})
	applied = look
	steps(t, r)
	if err := look(); err != nil {
		t.Fatal(err)
	}
	if before, after := seen["map[1:7]"], seen[fmt.Sprintf("map[2:%d]", sections)]; len(seen) != 2 || before < 3 || after < 2 {
		t.Errorf("between the batches a search found %v (versions: passages), want all of one version, first 1 and then 2", seen)
	}
	if n, err := engine.Count(t.Context()); err != nil || n != sections {
		t.Errorf("the index holds %d passages (%v), want those of the new version, %d", n, err, sections)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// steps lets a read model that does not run catch up with the log.
func steps(t *testing.T, r *Runner) {
	t.Helper()
	for {
		more, err := r.step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting, err := r.doDeferred(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more && !waiting {
			return
		}
	}
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
			log, folder, document := newLog(t), uuid.New(), uuid.New()
			add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
			add(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, log, document, 1, "one", 2)})
			add(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 2, Content: write(t, log, document, 2, "two", 3)})
			add(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 3, Content: write(t, log, document, 3, "three", 1)})
			r := newPassages(t, log, t.TempDir())
			steps(t, r)
			texts := `SELECT t.stream || ': ' || ` + asText("s.text") + ` FROM sections s JOIN texts t ON t.id = s.text_id ORDER BY t.stream, s.section`
			prefix, err := passages.TextPrefix(document.String())
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i, word := range []string{"one", "one", "two", "two", "two", "three"} {
				want = append(want, fmt.Sprintf("%s%d: It tells of a %s.", prefix, []int{0, 0, 1, 1, 1, 2}[i], word))
			}
			if got := rows(t, r, texts); got != strings.Join(want, "\n") {
				t.Errorf("texts are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}

			write(t, log, document, 5, "five", 1)
			stream, data := end(document, folder)
			add(t, log, stream, data)
			write(t, log, document, 5, "six", 1) // a long extraction
			steps(t, r)
			if got := rows(t, r, texts); got != "" {
				t.Errorf("of the deleted document the texts are left:\n%s", got)
			}
			if n, err := r.Projection.(*passages.Projection).Engine.Count(t.Context()); err != nil || n != 0 {
				t.Errorf("the index holds %d passages of it (%v)", n, err)
			}
			if err := r.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInterruptedRevisionContinues(t *testing.T) {
	log, dir, folder, document := newLog(t), t.TempDir(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	add(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, log, document, 1, "lighthouse", 3)})
	r := newPassages(t, log, dir)
	steps(t, r)
	add(t, log, events.DocumentStream(document), events.DocumentRevised{Version: 2, Content: write(t, log, document, 2, "windmill", passages.IndexPassages+100)})
	batch, through, err := log.Read(t.Context(), r.Position(), 10*passages.IndexPassages, r.Types()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.serving.ApplyBatch(t.Context(), batch, through); err != nil {
		t.Fatal(err)
	}
	// One batch is in the index when the program ends.
	f, err := r.Projection.(*passages.Projection).NewFlush(t.Context(), r.serving.Store())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Page(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}

	r = newPassages(t, log, dir)
	engine := r.Projection.(*passages.Projection).Engine
	q := searchindex.Query{Text: "lighthouse windmill", All: true}
	if found, err := find(t.Context(), r, engine, q); err != nil || len(found) != 1 || found[1] != 3 {
		t.Errorf("before it continues, a search finds %v (%v), want the 3 passages of version 1", found, err)
	}
	steps(t, r)
	if found, err := find(t.Context(), r, engine, q); err != nil || len(found) != 1 || found[2] != passages.IndexPassages+100 {
		t.Errorf("after it went on, a search finds %v (%v), want the %d passages of version 2", found, err, passages.IndexPassages+100)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestFlushForgetsDuringLargeDocument(t *testing.T) {
	heavy(t)
	log, folder := newLog(t), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	file := func(word string, sections int) string {
		document := uuid.New()
		stream := events.DocumentStream(document)
		add(t, log, stream, events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, log, document, 1, word, sections)})
		return stream
	}
	const old, added = 2*passages.IndexPassages + 500, passages.IndexPassages + 500
	streams := []string{file("lighthouse", old), file("lighthouse", old)}
	r := newPassages(t, log, t.TempDir())
	steps(t, r)
	for _, stream := range streams {
		add(t, log, stream, events.DocumentDeleted{Version: 2})
	}
	file("windmill", added)
	batch, through, err := log.Read(t.Context(), r.Position(), 2*added, r.Types()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.serving.ApplyBatch(t.Context(), batch, through); err != nil {
		t.Fatal(err)
	}
	p := r.Projection.(*passages.Projection)
	if err := p.Flush(t.Context(), r.serving.Store(), through); err != nil {
		t.Fatal(err)
	}
	if n, err := p.Engine.Count(t.Context()); err != nil || n != added {
		t.Errorf("the index holds %d passages (%v), want those of the document that is left, %d", n, err, added)
	}
	if n := number(t, r, `SELECT count(*) FROM forgotten`); n != 0 {
		t.Errorf("%d passages are still to be forgotten", n)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestDocumentInDeletedFolderNotIndexed(t *testing.T) {
	log, gone, kept := newLog(t), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: gone, Name: "gone"}, events.FolderCreated{Folder: kept, Name: "kept"})
	late, _ := fileInto(t, log, kept, "lighthouse")
	passing, _ := fileInto(t, log, gone, "lighthouse")
	add(t, log, events.DocumentStream(passing), events.DocumentMoved{Version: 2, Folder: kept})
	add(t, log, events.Folders, events.FolderDeleted{Folder: gone})
	fileInto(t, log, gone, "lighthouse")
	add(t, log, events.DocumentStream(late), events.DocumentMoved{Version: 2, Folder: gone})
	r := newPassages(t, log, t.TempDir())
	batch, through, err := log.Read(t.Context(), 0, 100, r.Types()...)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time, as after a crash
		if err := r.serving.ApplyBatch(t.Context(), batch, through); err != nil {
			t.Fatal(err)
		}
		if err := r.Projection.(*passages.Projection).Flush(t.Context(), r.serving.Store(), through); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, r, `SELECT id FROM documents`); got != passing.String() {
			t.Errorf("the tables hold the documents\n%s\nwant %s", got, passing)
		}
		if n, m := found(t, r, kept, "lighthouse"), found(t, r, gone, "lighthouse"); n != 1 || m != 0 {
			t.Errorf("%d passages are found in the folder that is kept and %d in the one that is gone, want 1 and 0", n, m)
		}
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}
