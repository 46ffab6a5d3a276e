package projections_test

import (
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/projections/generation"
	"annals/projections/projectionstest"

	"github.com/google/uuid"
)

// service is a set of projections that serve a log with documents in one folder.
type service struct {
	*projections.Set
	log     *events.Log
	options generation.Options
	dir     string // of its files
	folder  uuid.UUID
	stop    func()
}

// serve returns a service with n imported documents, which the named read models have applied.
func serve(t *testing.T, n int, models ...string) service {
	t.Helper()
	log, dir := projectionstest.NewLog(t), t.TempDir()
	folder, last := projectionstest.ImportDocuments(t, log, n)
	o := projectionstest.Options(t, log, dir)
	set, stop := projectionstest.Serve(t, o)
	for _, name := range models {
		projectionstest.Wait(t, set.Runner(name), last)
	}
	return service{set, log, o, dir, folder, stop}
}

// importDocument imports another document, and returns when the runners have applied it.
func (s service) importDocument(t *testing.T, runners ...*projections.Runner) {
	t.Helper()
	_, at := projectionstest.ImportDocument(t, s.log, s.folder, "lighthouse")
	for _, r := range runners {
		projectionstest.Wait(t, r, at)
	}
}

// beside opens a generation beside the active one, after waiting for the end of a cut-over.
func (s service) beside(t *testing.T, name string, number int) (r *projections.Runner, release func()) {
	t.Helper()
	for {
		r, release, err := s.Beside(t.Context(), name, number)
		if err == nil {
			return r, release
		}
		if !fault.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
		time.Sleep(poll / 10)
	}
}
