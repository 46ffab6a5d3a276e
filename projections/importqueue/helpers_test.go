package importqueue

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/searchindex/bleve"
)

var quiet = slog.New(slog.DiscardHandler)

func newLog(t *testing.T) *events.Log {
	t.Helper()
	log := events.NewLog(memory.New())
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return log
}

// started runs the read models of a log until the test ends, and returns the runner of
// the work read model.
func started(t *testing.T, log *events.Log) *projections.Runner {
	t.Helper()
	dir := t.TempDir()
	s, err := projections.Open(t.Context(), generation.Options{
		Log: log, Control: newControl(t), Tables: projectionstest.Home(t, dir), Search: bleve.Folder(dir), Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s.Runner("work")
}

// add appends events to the end of a stream.
func add(t *testing.T, log *events.Log, stream string, data ...events.Data) events.Position {
	t.Helper()
	all := make([]events.New, len(data))
	for i, d := range data {
		all[i].Data = d
	}
	at, err := log.Append(t.Context(), stream, events.AnyRevision, events.Cause{Actor: "user:alice"}, all...)
	if err != nil {
		t.Fatal(err)
	}
	return at.Position
}

func wait(t *testing.T, r *projections.Runner, p events.Position) {
	t.Helper()
	if err := r.Wait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}
