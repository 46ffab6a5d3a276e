package projections

import (
	"testing"

	"annals/events"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

// A document's rows say where it was called what then, and are judged by where
// it lies now, however often its events are applied.
func TestAuditTrailFollowsDocument(t *testing.T) {
	log := newLog(t)
	a, b, document := uuid.New(), uuid.New(), uuid.New()
	add(t, log, events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"})
	stream := events.DocumentStream(document)
	add(t, log, stream, imported(a, "a.md"), events.DocumentMoved{Version: 2, Folder: b}, events.DocumentRenamed{Version: 3, Name: "b.md"},
		events.DocumentMoved{Version: 4, Folder: a}, events.DocumentMoved{Version: 5, Folder: b}, events.DocumentDeleted{Version: 6})
	r, err := runnerOver(t.Context(), log, readmodel.Audit{}, homeIn(t, t.TempDir()), "audit", quiet)
	if err != nil {
		t.Fatal(err)
	}
	batch, last, err := log.Read(t.Context(), 0, 100, r.Types()...)
	if err != nil {
		t.Fatal(err)
	}
	want := "DocumentDeleted b.md b.md B B\n" +
		"DocumentImported a.md  A \n" +
		"DocumentMoved a.md a.md B A\n" +
		"DocumentMoved b.md b.md A B\n" +
		"DocumentMoved b.md b.md B A\n" +
		"DocumentRenamed b.md a.md B B"
	for range 2 {
		if err := r.serving.ApplyBatch(t.Context(), batch, last); err != nil {
			t.Fatal(err)
		}
		got := rows(t, r, `SELECT type || ' ' || name || ' ' || old_name || ' ' ||
				(SELECT f.name FROM entries f WHERE f.thing = 'folder-' || e.parent) || ' ' || coalesce((SELECT f.name FROM entries f WHERE f.thing = 'folder-' || e.old_parent), '')
			FROM entries e WHERE thing = '`+stream+`' ORDER BY 1`)
		if got != want {
			t.Errorf("the trail holds\n%s\nwant\n%s", got, want)
		}
		if n := number(t, r, `SELECT count(*) FROM entries WHERE thing = $1 AND place = $2`, stream, b.String()); n != 6 {
			t.Errorf("%d rows are judged by the folder that the document lay in last, want 6", n)
		}
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}
