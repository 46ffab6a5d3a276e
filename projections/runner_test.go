package projections_test

import (
	"context"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/projections"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/tables"

	"github.com/google/uuid"
)

// started runs one read model in a home until the test ends.
func started(t testing.TB, log *events.Log, p readmodel.Projection, home tables.Home) *projections.Runner {
	t.Helper()
	r := projections.NewRunner(projectionstest.OpenModel(t, log, p, home).Generation)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// openRunner opens the active generation of a projection.
func openRunner(t testing.TB, o generation.Options, p readmodel.Projection) (r *projections.Runner, aged bool, err error) {
	g, aged, err := o.Open(t.Context(), p)
	if err != nil {
		return nil, false, err
	}
	return projections.NewRunner(g), aged, nil
}

func closeRunner(t testing.TB, r *projections.Runner) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestWaitSeesPosition(t *testing.T) {
	log := projectionstest.NewLog(t)
	r := started(t, log, readmodel.Vault{}, projectionstest.Home(t, t.TempDir()))
	for i := range 50 {
		folder := uuid.New()
		p := projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: folder.String(), Owner: "user:alice"})
		projectionstest.Wait(t, r, p)
		if got := projectionstest.Number(t, r.DB(), `SELECT count(*) FROM folders`); got != i+1 {
			t.Fatalf("after %d folders were created the vault has %d", i+1, got)
		}
	}
}

func TestFailingFolderEventStopsReads(t *testing.T) {
	log := projectionstest.NewLog(t)
	folder := uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	last := projectionstest.Append(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "poison"})
	r := started(t, log, projectionstest.FailingVault{Fails: "poison"}, projectionstest.Home(t, t.TempDir()))
	if err := r.Wait(t.Context(), last); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Wait = %v, want an error of kind unavailable", err)
	}
	if r.Position() >= last {
		t.Error("the read model passed an event of the folder tree that it could not apply")
	}
}

func TestUnknownFolderEventStopsReads(t *testing.T) {
	for name, unknown := range map[string]events.Record{
		"a newer schema":  projectionstest.UnknownEvent("FolderShared", 99),
		"an unknown type": projectionstest.UnknownEvent("FolderUnknown", 1),
	} {
		t.Run(name, func(t *testing.T) {
			driver := memory.New()
			log := projectionstest.LogOver(t, driver)
			projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F"})
			at, err := driver.Append(t.Context(), events.Folders, 0, []events.Record{unknown})
			if err != nil {
				t.Fatal(err)
			}
			r := started(t, log, readmodel.Vault{}, projectionstest.Home(t, t.TempDir()))
			if err := r.Wait(t.Context(), at.Position); !fault.Is(err, fault.Unavailable) || r.Position() >= at.Position {
				t.Errorf("Wait = %v at position %d, want an error of kind unavailable before %d", err, r.Position(), at.Position)
			}
		})
	}
}
