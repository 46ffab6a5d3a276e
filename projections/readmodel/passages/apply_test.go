package passages_test

import (
	"errors"
	"testing"

	"annals/events"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

func TestRevisionsAppliedTwiceChangeNothing(t *testing.T) {
	log := projectionstest.NewLog(t)
	projectionstest.ReviseDocument(t, log)
	m := openPassages(t, log, t.TempDir())
	batch, through := m.EventsAfter(0)
	var before string
	for range 3 {
		m.ApplyEvents(batch, through)
		if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM passages p JOIN sections s ON s.id = p.row WHERE s.text = $1`, []byte("The text of version three.")); n != 1 {
			t.Fatalf("%d passages have the text of the last version, want 1", n)
		}
		flush(t, m, through)
		after := projectionstest.Dump(t, m.DB())
		if before != "" && before != after {
			t.Errorf("applied again, the tables are\n%s\nwant\n%s", after, before)
		}
		before = after
	}
	m.Close()
}

// After a crash the index may be behind the tables by any number of events. All of these
// events are then applied a second time, which must lead to the same tables and index.
func TestApplyIsIdempotent(t *testing.T) {
	projectionstest.SkipIfRepeated(t)
	for name, end := range map[string]func(folder uuid.UUID) (events.Data, bool){
		"live":           func(uuid.UUID) (events.Data, bool) { return nil, false },
		"deleted":        func(uuid.UUID) (events.Data, bool) { return events.DocumentDeleted{Version: 3}, false },
		"folder deleted": func(folder uuid.UUID) (events.Data, bool) { return events.FolderDeleted{Folder: folder}, true },
	} {
		t.Run(name, func(t *testing.T) {
			log, folder, document := projectionstest.NewLog(t), uuid.New(), uuid.New()
			stream := events.DocumentStream(document)
			interrupted := func(attempt int) {
				projectionstest.Append(t, log, events.TextStream(document, attempt), events.SectionExtracted{Text: "The extraction was interrupted."})
			}
			projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
			unchanged := uuid.New() // a document whose first extraction was interrupted
			projectionstest.Append(t, log, events.TextStream(unchanged, 7), events.SectionExtracted{Text: "The extraction was interrupted."})
			projectionstest.Append(t, log, events.DocumentStream(unchanged), events.DocumentImported{Version: 1, Folder: folder, Name: "unchanged.md", Content: projectionstest.AppendText(t, log, unchanged, 1, "one", 1)})
			interrupted(7)
			projectionstest.Append(t, log, stream, events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: projectionstest.AppendText(t, log, document, 1, "one", 2)})
			interrupted(8)
			projectionstest.Append(t, log, stream, events.DocumentRevised{Version: 2, Content: projectionstest.AppendText(t, log, document, 2, "two", 2)})
			if data, ofFolder := end(folder); ofFolder {
				projectionstest.Append(t, log, events.Folders, data)
			} else if data != nil {
				projectionstest.Append(t, log, stream, data)
			}
			interrupted(9)
			projectionstest.Append(t, log, stream, events.DocumentReread{Version: 4, Content: projectionstest.AppendText(t, log, document, 4, "four", 2)})
			interrupted(10)

			fold := func(again int) string {
				m := openPassages(t, log, t.TempDir())
				batch, through := m.EventsAfter(0)
				for _, part := range [][]events.Event{batch, batch[again:]} {
					m.ApplyEvents(part, through)
				}
				flush(t, m, through)
				var text string
				for _, query := range []string{ // without row ids, which databases choose freely
					`SELECT t.stream || ' ' || t.named || ' ' || coalesce(s.section || ' ' || ` + projectionstest.TextOf("s.text") + `, '') FROM texts t LEFT JOIN sections s ON s.text_id = t.id ORDER BY t.stream, s.section`,
					`SELECT p.document || ' ' || p.version || ' ' || p.section || ' ' || p.number || ' ' || ` + projectionstest.TextOf("s.text") + ` FROM passages p JOIN sections s ON s.id = p.row ORDER BY 1`,
					`SELECT d.id || ' ' || d.version || ' ' || d.shown || ' ' || d.title || ' ' || t.stream FROM documents d JOIN texts t ON t.id = d.text ORDER BY d.id`,
					`SELECT id || ' ' || deleted FROM folders ORDER BY id`,
					`SELECT document FROM unindexed UNION ALL SELECT passage FROM forgotten ORDER BY 1`,
				} {
					text += projectionstest.Rows(t, m.DB(), query) + "\n\n"
				}
				m.Close()
				return text
			}
			batch, _, err := log.Read(t.Context(), 0, 100, (*passages.Projection)(nil).Types()...)
			if err != nil {
				t.Fatal(err)
			}
			want := fold(len(batch))
			for again := range batch {
				if got := fold(again); got != want {
					t.Errorf("applied again from event %d on, the tables are\n%s\nwant\n%s", again, got, want)
				}
			}
		})
	}
}

func TestDeletedFolderIgnoresLaterEvents(t *testing.T) {
	log := projectionstest.NewLog(t)
	document := projectionstest.ReviseDocument(t, log)
	batch, _, err := log.Read(t.Context(), 0, 100, "FolderCreated")
	if err != nil {
		t.Fatal(err)
	}
	folder := batch[1].Data.(events.FolderCreated).Folder
	projectionstest.Append(t, log, events.Folders, events.FolderDeleted{Folder: folder})
	last := projectionstest.Append(t, log, events.DocumentStream(document), events.DocumentTagged{Version: 6, Tags: []string{"late"}},
		events.DocumentRevised{Version: 7, Content: events.Content{Title: "late", TextStream: events.TextStream(document, 3)}})
	m := openPassages(t, log, t.TempDir())
	for m.StepOnce() {
	}
	if m.Position() < last {
		t.Errorf("the passages are at position %d, want %d", m.Position(), last)
	}
	if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM parked`) + projectionstest.Number(t, m.DB(), `SELECT count(*) FROM passages`); n != 0 {
		t.Errorf("%d events are parked or passages are kept, want none", n)
	}
	m.Close()
}

func TestOpenRejectsIndexBehindTables(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	projectionstest.ReviseDocument(t, log)
	m := openPassages(t, log, dir)
	m.StepOnce()
	m.Close()
	for what, test := range map[string]struct {
		log   *events.Log
		index string // folder
		want  error
	}{
		"an empty index": {log, t.TempDir(), searchindex.ErrDamaged},
		"an empty log":   {projectionstest.NewLog(t), dir, generation.ErrLogTruncated},
	} {
		engine := openIndex(t, test.index)
		g, err := generation.New(t.Context(), test.log, &passages.Projection{Engine: engine}, projectionstest.Home(t, dir), "passages-1", projectionstest.Quiet)
		if !errors.Is(err, test.want) {
			t.Errorf("New with %s = %v, %v, want %v", what, g, err, test.want)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
	openPassages(t, log, dir)
}
