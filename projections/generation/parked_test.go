package generation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/sqldb"
	"annals/events/sqldb/postgrestest"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

func TestFailingEventIsParkedWithStream(t *testing.T) {
	log := projectionstest.NewLog(t)
	folder := uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	bad, good := events.DocumentStream(uuid.New()), events.DocumentStream(uuid.New())
	projectionstest.Append(t, log, bad, projectionstest.Imported(folder, "bad.md"))
	projectionstest.Append(t, log, good, projectionstest.Imported(folder, "good.md"))
	projectionstest.Append(t, log, bad, events.DocumentRenamed{Version: 2, Name: "worse.md"})
	projectionstest.Append(t, log, good, events.DocumentRenamed{Version: 2, Name: "better.md"})
	m := projectionstest.Fold(t, log, projectionstest.FailingVault{Fails: "bad.md"})
	if got := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM documents WHERE name = 'better.md'`); got != 1 {
		t.Errorf("the vault has %d documents that were renamed after the failing event, want 1", got)
	}
	if got := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM parked WHERE stream = $1`, bad); got != 2 {
		t.Errorf("%d events of the failing stream are parked, want 2", got)
	}
	if got := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM tags WHERE tag = 'half'`); got != 0 {
		t.Error("the changes of the failing event were not rolled back")
	}
}

func TestUnknownEventIsParked(t *testing.T) {
	for name, unknown := range map[string]events.Record{
		"a newer schema":  projectionstest.UnknownEvent("DocumentRenamed", 99),
		"an unknown type": projectionstest.UnknownEvent("DocumentUnknown", 1),
	} {
		t.Run(name, func(t *testing.T) {
			driver := memory.New()
			log := projectionstest.LogOver(t, driver)
			folder, stream := uuid.New(), events.DocumentStream(uuid.New())
			projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
			projectionstest.Append(t, log, stream, projectionstest.Imported(folder, "a.md"))
			if _, err := driver.Append(t.Context(), stream, 0, []events.Record{unknown}); err != nil {
				t.Fatal(err)
			}
			projectionstest.Append(t, log, stream, events.DocumentRenamed{Version: 3, Name: "b.md"})
			m := projectionstest.Fold(t, log, readmodel.Vault{})
			reasons, err := sqldb.Column[string](t.Context(), m.DB(), `SELECT reason FROM parked WHERE stream = $1 ORDER BY position`, stream)
			if err != nil || len(reasons) != 2 || !strings.Contains(reasons[0], unknown.Type) || !strings.Contains(reasons[1], "waits for an earlier event") {
				t.Errorf("the reasons are %q, %v, want one for the %s and one for the event that waits for it", reasons, err, unknown.Type)
			}
			if got := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM documents WHERE name = 'a.md' AND version = 1`); got != 1 {
				t.Error("the document changed although its events are parked")
			}
		})
	}
}

func TestFullDiskParksNothing(t *testing.T) {
	projectionstest.OfFiles(t)
	log := projectionstest.NewLog(t)
	g, err := generation.New(t.Context(), log, readmodel.Vault{}, projectionstest.Home(t, t.TempDir()), "odd #%41 name", projectionstest.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	folder := uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	for range 40 {
		projectionstest.Append(t, log, events.DocumentStream(uuid.New()), projectionstest.Imported(folder, strings.Repeat("long", 1000)+".md"))
	}
	var pages int
	if err := g.Store().QueryRow(t.Context(), `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		if err := g.Store().QueryRow(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, n)).Scan(new(int)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 3)
	if _, err := g.Step(t.Context()); err == nil {
		t.Fatal("Step on a full disk succeeded")
	}
	limit(1 << 20)
	if _, err := g.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := projectionstest.Number(t, g.Store().Reads(), `SELECT count(*) FROM documents`); got != 40 {
		t.Errorf("after space was freed the vault contains %d documents, want 40", got)
	}
	if got := projectionstest.Number(t, g.Store().Reads(), `SELECT count(*) FROM parked`); got != 0 {
		t.Errorf("%d events were parked because the disk was full, want none", got)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// dividing is a vault that runs a statement which PostgreSQL rejects if a document's name
// begins with "bad".
type dividing struct{ readmodel.Vault }

func (v dividing) Apply(ctx context.Context, tx readmodel.Tx, e events.Event) error {
	err := v.Vault.Apply(ctx, tx, e)
	if d, ok := e.Data.(events.DocumentImported); ok && strings.HasPrefix(d.Name, "bad") {
		err = errors.Join(err, tx.Exec(ctx, `UPDATE documents SET size = size / 0 WHERE id = $1`, events.StreamID(e.Stream).String()))
	}
	return err
}

func TestRejectedStatementParksOneEvent(t *testing.T) {
	log, folder := projectionstest.NewLog(t), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	for _, name := range []string{"a", "bad", "c", "d", "bad too", "e"} {
		projectionstest.Append(t, log, events.DocumentStream(uuid.New()), projectionstest.Imported(folder, name))
	}
	m := projectionstest.OpenModel(t, log, dividing{}, projectionstest.Database(t, postgrestest.URL(t)))
	m.StepOnce()
	if got, want := projectionstest.Rows(t, m.DB(), `SELECT name FROM documents ORDER BY name`), "a\nc\nd\ne"; got != want {
		t.Errorf("the vault contains the documents\n%s\nwant\n%s", got, want)
	}
	reasons, err := sqldb.Column[string](t.Context(), m.DB(), `SELECT reason FROM parked`)
	if err != nil || len(reasons) != 2 || !strings.Contains(reasons[0], "division by zero") {
		t.Errorf("events are parked for %q (%v), want two for a division by zero", reasons, err)
	}
}

// parkDocuments appends to each stream the events of a document that the program cannot
// read. Then it folds all read models, which park these events.
func parkDocuments(t *testing.T, old *projectionstest.OldReader, o generation.Options, folder uuid.UUID, streams ...string) {
	t.Helper()
	for _, stream := range streams {
		old.Hide(stream, 0)
		projectionstest.Append(t, o.Log, stream, projectionstest.Imported(folder, "a.md"), events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentRenamed{Version: 3, Name: "c.md"})
	}
	projectionstest.FoldAll(t, o, projectionstest.Head(t, o.Log))
}

// newOldReader returns a log that an older program reads, the options of that program,
// and a folder in the log.
func newOldReader(t *testing.T) (old *projectionstest.OldReader, o generation.Options, folder uuid.UUID) {
	t.Helper()
	old = projectionstest.NewOldReader()
	o = projectionstest.Options(t, projectionstest.LogOver(t, old), t.TempDir())
	folder, _ = projectionstest.ImportDocuments(t, o.Log, 1)
	return old, o, folder
}

func TestParkedPages(t *testing.T) {
	old, o, folder := newOldReader(t)
	streams := []string{events.DocumentStream(uuid.New()), events.DocumentStream(uuid.New())}
	parkDocuments(t, old, o, folder, streams...)
	var got []string
	for after, left := events.Position(0), 6; left > 0; {
		page, more, err := o.Parked(t.Context(), "vault", "", after, 2)
		if err != nil || len(page) != 2 || more != left-2 {
			t.Fatalf("Parked = %d events, %d more, %v, want 2 and %d more", len(page), more, err, left-2)
		}
		got, after, left = append(got, page[0].Stream, page[1].Stream), page[1].Position, more
	}
	if want := []string{streams[0], streams[0], streams[0], streams[1], streams[1], streams[1]}; !slices.Equal(got, want) {
		t.Errorf("the parked events are of the streams %q, want %q", got, want)
	}
	page, more, err := o.Parked(t.Context(), "vault", streams[1], 0, 1)
	if err != nil || len(page) != 1 || more != 2 || page[0].Stream != streams[1] {
		t.Errorf("Parked of one stream = %+v, %d more, %v, want one event and 2 more", page, more, err)
	}
}

func TestRetryParksRemainingUnknownEvents(t *testing.T) {
	old, o, folder := newOldReader(t)
	one, two := events.DocumentStream(uuid.New()), events.DocumentStream(uuid.New())
	parkDocuments(t, old, o, folder, one, two)
	old.Hide(one, 2)
	for stream, want := range map[string]bool{"": true, one: true, two: false} {
		if can, err := o.CanRetry(t.Context(), "vault", stream); can != want || err != nil {
			t.Errorf("CanRetry of the stream %q = %t, %v, want %t", stream, can, err, want)
		}
	}
	if _, err := o.RebuildFromStart(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	if err := o.Switch(t.Context(), "vault"); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]int64{one: 2, two: 0} {
		parked, _, err := o.Parked(t.Context(), "vault", stream, 0, 10)
		if err != nil || len(parked) != 3-int(want) || parked[0].Revision != want {
			t.Errorf("parked events of %s are %+v (%v), want those from revision %d on", stream, parked, err, want)
		}
	}
}

func TestCanRetryFailsWithoutParkedEventInLog(t *testing.T) {
	old, o, folder := newOldReader(t)
	parkDocuments(t, old, o, folder, events.DocumentStream(uuid.New()))
	o.Log = projectionstest.NewLog(t)
	if can, err := o.CanRetry(t.Context(), "vault", ""); can || err == nil {
		t.Errorf("CanRetry = %t, %v, want an error", can, err)
	}
}

// An interrupted rebuild has parked events that can be applied now. RebuildFromStart must
// discard it.
func TestRebuildFromStartDropsInterruptedRebuild(t *testing.T) {
	old, o, folder := newOldReader(t)
	parkDocuments(t, old, o, folder, events.DocumentStream(uuid.New()))
	begun, err := o.Begin(t.Context(), readmodel.Vault{})
	if err == nil {
		err = o.Fill(t.Context(), readmodel.Vault{}, begun, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	old.Upgrade()
	if _, err = o.RebuildFromStart(t.Context(), "vault", nil); err == nil {
		err = o.Switch(t.Context(), "vault")
	}
	if err != nil {
		t.Fatal(err)
	}
	if parked, _, err := o.Parked(t.Context(), "vault", "", 0, 10); err != nil || len(parked) > 0 {
		t.Errorf("parked are still %+v (%v), want none", parked, err)
	}
}

// Permissions depend on the folder tree, so its events are never parked.
func TestFailingFolderEventStopsGeneration(t *testing.T) {
	log := projectionstest.NewLog(t)
	folder := uuid.New()
	first := projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	last := projectionstest.Append(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "bad"})
	m := projectionstest.OpenModel(t, log, projectionstest.FailingVault{Fails: "bad"}, projectionstest.Home(t, t.TempDir()))
	err := m.CatchUp(t.Context(), last, nil)
	if !errors.As(err, new(*generation.PoisonError)) || generation.IsTransient(err) || fault.Is(err, fault.Unavailable) {
		t.Errorf("CatchUp = %v, want a PoisonError", err)
	}
	if at, err := m.Store().Checkpoint(t.Context()); at != first || err != nil {
		t.Errorf("the checkpoint is %d (%v), want %d", at, err, first)
	}
}
