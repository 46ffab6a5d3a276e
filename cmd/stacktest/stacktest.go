// Package stacktest runs everything that tests of HTTP handlers need: real commands,
// read models, a search index and an importer, in temporary folders. It chooses the
// engines, so it may import all packages.
package stacktest

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"annals/commands"
	"annals/commands/importer"
	"annals/commands/importer/extract/reader"
	"annals/commands/importer/summarise"
	"annals/events"
	"annals/events/originals"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/importqueue"
	"annals/projections/projectionstest"
	"annals/projections/searchindex/bleve"
	"annals/projections/tables"
	"annals/queries"
)

// Stack has the running parts of a service. They stop when the test ends.
type Stack struct {
	Queries  *queries.Queries
	Importer *importer.Importer

	log     *events.Log
	tables  tables.Home
	models  *projections.Set
	control *control.Store
}

// Open creates a Stack that uses the command handler and its log. The parts do not run
// until Run is called. change may modify the options, for example to choose other
// engines.
func Open(t testing.TB, handler *commands.Handler, change ...func(*generation.Options)) *Stack {
	t.Helper()
	ctx, dir, quiet := context.Background(), t.TempDir(), slog.New(slog.DiscardHandler)
	control, err := control.Open(ctx, filepath.Join(dir, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	options := generation.Options{
		Log: handler.Log, Control: control, Tables: projectionstest.Home(t, filepath.Join(dir, "models")), Logger: quiet,
		Search: bleve.Folder(filepath.Join(dir, "search")),
	}
	for _, set := range change {
		set(&options)
	}
	models, err := projections.Open(ctx, options)
	if err != nil {
		t.Fatal(errors.Join(err, control.Close()))
	}
	reads := queries.New(models, queries.Options{})
	handler.Duplicates, handler.Names, handler.Contents = reads, reads, reads
	return &Stack{
		Queries: reads, log: handler.Log, tables: options.Tables, models: models, control: control,
		Importer: &importer.Importer{
			Handler: handler, Reader: reader.New(reader.Options{}), Logger: quiet, Workers: 2,
			Summarise: func(title string) importer.Summariser { return summarise.New(title) },
		},
	}
}

// Run runs the parts until the test ends. The importer reads originals from store.
func (s *Stack) Run(t testing.TB, store originals.Store) {
	s.Importer.Originals = store
	queue := &importqueue.Queue{Work: s.models.Runner("work"), Control: s.control, Holder: "test", Workers: 2, Logger: s.Importer.Logger}
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
