package projections

import (
	"path/filepath"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex/bleve"

	"github.com/google/uuid"
)

// newPassages opens passages in dir without running them.
func newPassages(t *testing.T, log *events.Log, dir string) *Runner {
	t.Helper()
	engine, err := bleve.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := runnerOver(t.Context(), log, &passages.Projection{Engine: engine}, homeIn(t, dir), "passages", quiet)
	if err != nil {
		engine.Close()
		t.Fatal(err)
	}
	return r
}

// revised is a story of one document: filed, revised twice, tagged, moved.
func revised(t *testing.T, log *events.Log) (document uuid.UUID) {
	t.Helper()
	a, b := uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"})
	document = uuid.New()
	for attempt, word := range []string{"one", "two", "three"} {
		stream := events.TextStream(document, attempt)
		add(t, log, stream, events.SectionExtracted{Text: "The text of version " + word + "."})
		content := events.Content{SHA256: strings.Repeat("0", 64), MediaType: "text/markdown", Title: word, TextStream: stream, Sections: 1}
		if attempt == 0 {
			add(t, log, events.DocumentStream(document), events.DocumentImported{Version: 1, Folder: a, Name: "a.md", Content: content})
			continue
		}
		add(t, log, events.DocumentStream(document), events.DocumentRevised{Version: attempt + 1, Content: content})
	}
	add(t, log, events.DocumentStream(document), events.DocumentTagged{Version: 4, Tags: []string{"t"}}, events.DocumentMoved{Version: 5, Folder: b})
	return document
}

func TestPassagesAppliedAgainStayAsTheyAre(t *testing.T) {
	log := newLog(t)
	revised(t, log)
	r := newPassages(t, log, t.TempDir())
	batch, through, err := log.Read(t.Context(), 0, 100, r.Types()...)
	if err != nil {
		t.Fatal(err)
	}
	var before string
	for range 3 {
		if err := r.serving.ApplyBatch(t.Context(), batch, through); err != nil {
			t.Fatal(err)
		}
		if n := number(t, r, `SELECT count(*) FROM passages p JOIN sections s ON s.id = p.row WHERE s.text = $1`, []byte("The text of version three.")); n != 1 {
			t.Fatalf("%d passages of the last version, want 1", n)
		}
		if err := r.Projection.(*passages.Projection).Flush(t.Context(), r.serving.Store(), through); err != nil {
			t.Fatal(err)
		}
		after := dump(t, r)
		if before != "" && before != after {
			t.Errorf("after a second time:\n%s\nbefore:\n%s", after, before)
		}
		before = after
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// A crash may leave the index behind the tables by any number of events, all of
// which are then applied again.
func TestApplyIsIdempotent(t *testing.T) {
	heavy(t)
	for name, end := range map[string]func(folder uuid.UUID) (events.Data, bool){
		"live":           func(uuid.UUID) (events.Data, bool) { return nil, false },
		"deleted":        func(uuid.UUID) (events.Data, bool) { return events.DocumentDeleted{Version: 3}, false },
		"folder deleted": func(folder uuid.UUID) (events.Data, bool) { return events.FolderDeleted{Folder: folder}, true },
	} {
		t.Run(name, func(t *testing.T) {
			log, folder, document := newLog(t), uuid.New(), uuid.New()
			stream := events.DocumentStream(document)
			cutOff := func(attempt int) {
				add(t, log, events.TextStream(document, attempt), events.SectionExtracted{Text: "It was never read to its end."})
			}
			add(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
			once := uuid.New() // read twice, and never changed
			add(t, log, events.TextStream(once, 7), events.SectionExtracted{Text: "It was not read to its end."})
			add(t, log, events.DocumentStream(once), events.DocumentImported{Version: 1, Folder: folder, Name: "once.md", Content: write(t, log, once, 1, "one", 1)})
			cutOff(7)
			add(t, log, stream, events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: write(t, log, document, 1, "one", 2)})
			cutOff(8)
			add(t, log, stream, events.DocumentRevised{Version: 2, Content: write(t, log, document, 2, "two", 2)})
			if data, ofFolder := end(folder); ofFolder {
				add(t, log, events.Folders, data)
			} else if data != nil {
				add(t, log, stream, data)
			}
			cutOff(9)
			add(t, log, stream, events.DocumentReread{Version: 4, Content: write(t, log, document, 4, "four", 2)})
			cutOff(10)

			fold := func(again int) string {
				r := newPassages(t, log, t.TempDir())
				batch, through, err := log.Read(t.Context(), 0, 100, r.Types()...)
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range [][]events.Event{batch, batch[again:]} {
					if err := r.serving.ApplyBatch(t.Context(), part, through); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Projection.(*passages.Projection).Flush(t.Context(), r.serving.Store(), through); err != nil {
					t.Fatal(err)
				}
				var text string
				for _, query := range []string{ // without the numbers of rows, which tell nothing
					`SELECT t.stream || ' ' || t.named || ' ' || coalesce(s.section || ' ' || ` + asText("s.text") + `, '') FROM texts t LEFT JOIN sections s ON s.text_id = t.id ORDER BY t.stream, s.section`,
					`SELECT p.document || ' ' || p.version || ' ' || p.section || ' ' || p.number || ' ' || ` + asText("s.text") + ` FROM passages p JOIN sections s ON s.id = p.row ORDER BY 1`,
					`SELECT d.id || ' ' || d.version || ' ' || d.shown || ' ' || d.title || ' ' || t.stream FROM documents d JOIN texts t ON t.id = d.text ORDER BY d.id`,
					`SELECT id || ' ' || deleted FROM folders ORDER BY id`,
					`SELECT document FROM unindexed UNION ALL SELECT passage FROM forgotten ORDER BY 1`,
				} {
					text += rows(t, r, query) + "\n\n"
				}
				if err := r.close(); err != nil {
					t.Error(err)
				}
				return text
			}
			batch, _, err := log.Read(t.Context(), 0, 100, (*passages.Projection)(nil).Types()...)
			if err != nil {
				t.Fatal(err)
			}
			want := fold(len(batch))
			for again := range batch {
				if got := fold(again); got != want {
					t.Errorf("applied again from event %d on:\n%s\nwant\n%s", again, got, want)
				}
			}
		})
	}
}

func TestEventsOfDocumentInDeletedFolder(t *testing.T) {
	log := newLog(t)
	document := revised(t, log)
	batch, _, err := log.Read(t.Context(), 0, 100, "FolderCreated")
	if err != nil {
		t.Fatal(err)
	}
	folder := batch[1].Data.(events.FolderCreated).Folder
	add(t, log, events.Folders, events.FolderDeleted{Folder: folder})
	last := add(t, log, events.DocumentStream(document), events.DocumentTagged{Version: 6, Tags: []string{"late"}},
		events.DocumentRevised{Version: 7, Content: events.Content{Title: "late", TextStream: events.TextStream(document, 3)}})
	r := newPassages(t, log, t.TempDir())
	for {
		more, err := r.step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
	}
	if r.Position() < last {
		t.Errorf("stopped at %d of %d", r.Position(), last)
	}
	if n := number(t, r, `SELECT count(*) FROM parked`) + number(t, r, `SELECT count(*) FROM passages`); n != 0 {
		t.Errorf("%d events are parked or passages are left", n)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestIndexThatLostDataIsNotServed(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	revised(t, log)
	r := newPassages(t, log, dir)
	if _, err := r.step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	engine, err := bleve.Open(filepath.Join(dir, "another"))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if r, err := runnerOver(t.Context(), log, &passages.Projection{Engine: engine}, homeIn(t, dir), "passages", quiet); err == nil {
		t.Errorf("tables at position %d were opened over an empty index", r.Position())
	}
	if r, err := runnerOver(t.Context(), newLog(t), readmodel.Vault{}, homeIn(t, dir), "vault", quiet); err != nil {
		t.Error(err)
	} else if err := r.close(); err != nil {
		t.Error(err)
	}
	r = newPassages(t, log, dir)
	if err := r.close(); err != nil {
		t.Error(err)
	}
	engine, err = bleve.Open(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if _, err := runnerOver(t.Context(), newLog(t), &passages.Projection{Engine: engine}, homeIn(t, dir), "passages", quiet); err == nil {
		t.Error("a read model was opened over a log that ends before it")
	}
}
