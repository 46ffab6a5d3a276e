package readmodel_test

import (
	"testing"

	"annals/events"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

func TestApplyIsIdempotent(t *testing.T) {
	log := projectionstest.NewLog(t)
	folder, doc, job := uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"},
		events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: "group:g", Access: "read"}}})
	projectionstest.Append(t, log, events.JobStream(job), events.FileAccepted{File: 0, Name: "a.md", Folder: "F", SHA256: "aa", Size: 1},
		events.FileAccepted{File: 1, Name: "b.xyz", Folder: "F", Refused: "not supported"},
		events.ImportRequested{Files: 2, User: "user:alice"}, events.FileStarted{File: 0})
	projectionstest.Append(t, log, events.DocumentStream(doc), projectionstest.Imported(folder, "a.md"), events.DocumentTagged{Version: 2, Tags: []string{"x", "y"}})
	projectionstest.Append(t, log, events.JobStream(job), events.FileImported{File: 0, Document: doc, Title: "A"}, events.JobFinished{Successful: 1, Failed: 1})
	for _, p := range []readmodel.Projection{readmodel.Vault{}, readmodel.Jobs{}, readmodel.Work{}, readmodel.Summaries{}, readmodel.Audit{}, readmodel.Usage{}} {
		m := projectionstest.OpenModel(t, log, p, projectionstest.Home(t, t.TempDir()))
		batch, through := m.EventsAfter(0)
		var before string
		for range 2 {
			m.ApplyEvents(batch, through)
			after := projectionstest.Dump(t, m.DB())
			if before != "" && after != before {
				t.Errorf("%s: applied twice, the tables are\n%s\nwant\n%s", p.Name(), after, before)
			}
			before = after
		}
	}
}
