package passages_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// slow is a search index whose changes wait until the test lets them go on.
type slow struct {
	searchindex.Engine
	fails error
	goOn  chan struct{}
}

func (s *slow) Apply(ctx context.Context, b searchindex.Batch) error {
	<-s.goOn
	if s.fails != nil {
		return s.fails
	}
	return s.Engine.Apply(ctx, b)
}

// content returns what the tables and the index contain, without row ids.
func content(t *testing.T, m *projectionstest.Model, folders []uuid.UUID) string {
	t.Helper()
	var ids []string
	if err := m.Index().Each(t.Context(), func(id string) error { ids = append(ids, id); return nil }); err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		for _, word := range []string{"lighthouse", "windmill", "dovecote"} {
			hits, err := m.Index().Search(t.Context(), searchindex.Query{Text: word, All: true, Folders: []string{f.String()}, Limit: searchindex.MaxLimit})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hits {
				ids = append(ids, word+" in "+f.String()+": "+h.ID)
			}
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, "\n") + "\n" + projectionstest.Rows(t, m.DB(), `SELECT id || ' ' || folder || ' ' || tags || ' ' || version || ' ' || shown FROM documents ORDER BY id`) +
		"\n" + projectionstest.Rows(t, m.DB(), `SELECT document || ' ' || version || ' ' || section || ' ' || number FROM passages ORDER BY 1`) +
		"\nwaiting: " + projectionstest.Rows(t, m.DB(), `SELECT document FROM unindexed UNION ALL SELECT document FROM deferred UNION ALL SELECT passage FROM forgotten`)
}

// Events that change documents while the engine is indexing them must not get lost, whether
// the engine then succeeds, fails, or the program ends.
func TestEventsWhileEngineWorks(t *testing.T) {
	log := projectionstest.NewLog(t)
	from, to, below := uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: from, Name: "from"}, events.FolderCreated{Folder: to, Name: "to"},
		events.FolderCreated{Folder: below, Parent: from, Name: "below"})
	file := func(folder uuid.UUID) (document uuid.UUID, stream string) {
		document = uuid.New()
		stream = events.DocumentStream(document)
		projectionstest.Append(t, log, stream, events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: projectionstest.AppendText(t, log, document, 1, "lighthouse", 3)})
		return document, stream
	}
	_, moved := file(from)
	revised, revision := file(from)
	_, tagged := file(from)
	file(below)
	_, deleted := file(from)
	_, last := file(from) // the engine is indexing the last row, too: its number must not be used again
	half := projectionstest.Head(t, log)
	projectionstest.Append(t, log, last, events.DocumentDeleted{Version: 2})
	projectionstest.Append(t, log, deleted, events.DocumentDeleted{Version: 2})
	file(to)
	file(to)
	projectionstest.Append(t, log, moved, events.DocumentMoved{Version: 2, Folder: to})
	projectionstest.Append(t, log, tagged, events.DocumentTagged{Version: 2, Tags: []string{"red"}})
	projectionstest.Append(t, log, revision, events.DocumentRevised{Version: 2, Content: projectionstest.AppendText(t, log, revised, 2, "windmill", 2)})
	projectionstest.Append(t, log, events.Folders, events.FolderMoved{Folder: below, Parent: to})
	more := projectionstest.Head(t, log)
	projectionstest.Append(t, log, revision, events.DocumentRevised{Version: 3, Content: projectionstest.AppendText(t, log, revised, 3, "dovecote", 1)})
	folders := []uuid.UUID{from, to, below}

	whole := openPassages(t, log, t.TempDir())
	whole.StepAll()
	want := content(t, whole, folders)
	whole.Close()
	for _, test := range []struct {
		name  string
		fails error
		ends  bool
	}{{name: "succeeds"}, {name: "fails", fails: errCrashed}, {name: "program ends", fails: errCrashed, ends: true}, {name: "program ends afterwards", ends: true}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			engine := &slow{openIndex(t, dir), test.fails, make(chan struct{}, 100)}
			m := openOver(t, log, dir, engine)
			p := m.Projection.(*passages.Projection)
			apply := func(after, through events.Position) {
				t.Helper()
				batch, _ := m.EventsAfter(after)
				batch = slices.DeleteFunc(batch, func(e events.Event) bool { return e.Position > through })
				m.ApplyEvents(batch, through)
			}
			apply(0, half)
			if err := p.Advance(t.Context(), m.Store(), half); err != nil {
				t.Fatal(err)
			}
			apply(half, more) // while the engine works
			engine.goOn <- struct{}{}
			err := p.Advance(t.Context(), m.Store(), more) // gives the engine the second batch, if the first one succeeds
			if !errors.Is(err, test.fails) {
				t.Fatalf("Advance after the engine worked = %v, want %v", err, test.fails)
			}
			engine.fails = nil
			close(engine.goOn)
			if test.ends {
				m.Close()
				m = openPassages(t, log, dir)
			}
			m.ApplyAll()
			if got := content(t, m, folders); got != want {
				t.Errorf("tables and index contain\n%s\nwant\n%s", got, want)
			}
			m.Close()
		})
	}
}
