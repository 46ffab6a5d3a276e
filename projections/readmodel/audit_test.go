package readmodel_test

import (
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

// The rows of a document show its name and folder at the time of each event. Who may
// read them depends on its current folder. Applying the events twice changes nothing.
func TestAuditTrailFollowsDocument(t *testing.T) {
	log := projectionstest.NewLog(t)
	a, b, document := uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: a, Name: "A"}, events.FolderCreated{Folder: b, Name: "B"})
	stream := events.DocumentStream(document)
	projectionstest.Append(t, log, stream, projectionstest.Imported(a, "a.md"), events.DocumentMoved{Version: 2, Folder: b}, events.DocumentRenamed{Version: 3, Name: "b.md"},
		events.DocumentMoved{Version: 4, Folder: a}, events.DocumentMoved{Version: 5, Folder: b}, events.DocumentDeleted{Version: 6})
	m := projectionstest.OpenModel(t, log, readmodel.Audit{}, projectionstest.Home(t, t.TempDir()))
	batch, last := m.EventsAfter(0)
	want := "DocumentDeleted b.md b.md B B\n" +
		"DocumentImported a.md  A \n" +
		"DocumentMoved a.md a.md B A\n" +
		"DocumentMoved b.md b.md A B\n" +
		"DocumentMoved b.md b.md B A\n" +
		"DocumentRenamed b.md a.md B B"
	for range 2 {
		m.ApplyEvents(batch, last)
		got := projectionstest.Rows(t, m.DB(), `SELECT type || ' ' || name || ' ' || old_name || ' ' ||
				(SELECT f.name FROM entries f WHERE f.thing = 'folder-' || e.parent) || ' ' || coalesce((SELECT f.name FROM entries f WHERE f.thing = 'folder-' || e.old_parent), '')
			FROM entries e WHERE thing = '`+stream+`' ORDER BY 1`)
		if got != want {
			t.Errorf("entries are\n%s\nwant\n%s", got, want)
		}
		if n := projectionstest.Number(t, m.DB(), `SELECT count(*) FROM entries WHERE thing = $1 AND place = $2`, stream, b.String()); n != 6 {
			t.Errorf("%d entries have the last folder of the document as their place, want 6", n)
		}
	}
}
