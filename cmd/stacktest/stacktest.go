// Package stacktest runs, for tests of what serves them, all the parts behind
// the services: real commands, read models, a search index and an importer, in
// folders of the test. It stands where engines are chosen.
package stacktest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"annals/commands"
	"annals/commands/importer"
	"annals/commands/importer/extract"
	"annals/commands/importer/summarise"
	"annals/events/originals"
	"annals/projections"
	"annals/projections/projectionstest"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/queries"
)

// Stack is what runs. Its parts are told to go when the test ends.
type Stack struct {
	Queries  *queries.Queries
	Importer *importer.Importer

	models  *projections.Set
	control *projections.Control
}

// Open makes the parts behind a handler. They stand still until Run. change may
// put other engines behind the read models.
func Open(t testing.TB, handler *commands.Handler, change ...func(*projections.Options)) *Stack {
	t.Helper()
	ctx, dir, quiet := context.Background(), t.TempDir(), slog.New(slog.DiscardHandler)
	control, err := projections.OpenControl(ctx, filepath.Join(dir, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	search := func(generation string) string { return filepath.Join(dir, "search", generation) }
	options := projections.Options{
		Log: handler.Log, Control: control, Tables: projectionstest.Home(t, filepath.Join(dir, "models")), Logger: quiet,
		OpenSearch: func(_ context.Context, generation string) (searchindex.Engine, error) {
			return bleve.Open(search(generation))
		},
		RemoveSearch: func(_ context.Context, generation string) error { return os.RemoveAll(search(generation)) },
	}
	for _, set := range change {
		set(&options)
	}
	models, err := projections.Open(ctx, options)
	if err != nil {
		t.Fatal(errors.Join(err, control.Close()))
	}
	reads := &queries.Queries{Models: models}
	handler.Duplicates, handler.Names, handler.Contents = reads, reads, reads
	return &Stack{
		Queries: reads, models: models, control: control,
		Importer: &importer.Importer{
			Handler: handler, Reader: extract.New(extract.Options{}), Logger: quiet, Workers: 2,
			Summarise: func(title string) importer.Summariser { return summarise.New(title) },
		},
	}
}

// Run lets the parts work, on what is in a store, until the test ends.
func (s *Stack) Run(t testing.TB, store originals.Store) {
	s.Importer.Originals = store
	queue := &projections.Queue{Work: s.models.Work, Control: s.control, Holder: "test", Workers: 2, Logger: s.Importer.Logger}
	running, stop := context.WithCancel(context.Background())
	imports, stopImports := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.models.Run(running) }()
	go func() { ended <- s.Importer.Run(imports, queue) }()
	t.Cleanup(func() {
		stopImports()
		first := <-ended
		stop()
		err := errors.Join(first, <-ended, s.Importer.Reader.Close(), s.models.Close(), s.control.Close())
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
