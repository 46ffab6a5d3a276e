package projectionstest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex/bleve"
	"annals/projections/tables"
)

// Quiet is a logger that discards everything.
var Quiet = slog.New(slog.DiscardHandler)

// Options returns the options of a process with the read models in dir. Each call
// simulates another process.
func Options(t testing.TB, log *events.Log, dir string) generation.Options {
	t.Helper()
	return generation.Options{Log: log, Control: Control(t, dir), Tables: Home(t, dir), Search: bleve.Folder(dir), Logger: Quiet}
}

// Control opens the control store in a folder until the test ends.
func Control(t testing.TB, dir string) *control.Store {
	t.Helper()
	return closedAtEnd(t)(control.Open(t.Context(), filepath.Join(dir, "control.db")))
}

func closedAtEnd(t testing.TB) func(*control.Store, error) *control.Store {
	return func(c *control.Store, err error) *control.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
}

// NodeOptions returns the options of a node that shares the database at url with other
// nodes and has its own search index.
func NodeOptions(t testing.TB, log *events.Log, url string) generation.Options {
	t.Helper()
	database, err := sqldb.ParsePostgres(url)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return generation.Options{
		Log: log, Tables: Database(t, url), Logger: Quiet,
		Control: closedAtEnd(t)(control.OpenShared(t.Context(), database)),
		Own:     &generation.Own{Control: Control(t, dir), Tables: tables.Folder(dir)},
		Search:  bleve.Folder(dir),
	}
}

// Serve runs all read models until the test ends or stop is called.
func Serve(t testing.TB, o generation.Options) (s *projections.Set, stop func()) {
	t.Helper()
	s, err := projections.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, Run(t, s)
}

// Run runs read models until the test ends or stop is called, and closes them.
func Run(t testing.TB, s *projections.Set) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// Wait waits until a read model has passed a position.
func Wait(t testing.TB, r *projections.Runner, p events.Position) {
	t.Helper()
	if err := r.Wait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// Until waits until holds returns true. It calls holds whenever the read model has
// changed.
func Until(t testing.TB, r *projections.Runner, holds func() bool) {
	t.Helper()
	for {
		_, moved := r.Moved()
		if holds() {
			return
		}
		select {
		case <-moved:
		case <-t.Context().Done():
			t.Fatalf("%s at position %d of generation %d: the test ended before the condition held", r.Name(), r.Position(), r.Generation())
		}
	}
}

// UntilServes waits until a generation is the active one.
func UntilServes(t testing.TB, r *projections.Runner, generation int) {
	t.Helper()
	Until(t, r, func() bool { return r.Generation() == generation })
}

// FoldAll applies the log up to a position to the active generation of every read model,
// does all deferred work, and closes the generations.
func FoldAll(t testing.TB, o generation.Options, through events.Position) {
	t.Helper()
	through = min(through, Head(t, o.Log))
	for _, m := range readmodel.All() {
		g, _, err := o.Open(t.Context(), m.Projection)
		if err != nil {
			t.Fatal(err)
		}
		if err = g.CatchUp(t.Context(), through, nil); err == nil {
			err = g.FinishDeferred(t.Context())
		}
		if err := errors.Join(err, g.Close()); err != nil {
			t.Errorf("%s: %v", m.Projection.Name(), err)
		}
	}
}
