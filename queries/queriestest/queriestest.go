// Package queriestest gives tests of queries a log in memory and the read models
// that follow it. It imports projections, events and queries/freshness.
package queriestest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/memory"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
	"annals/projections/tables"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// World is a log and the read models that follow it until the test ends.
type World struct {
	Models *freshness.Models // waits for an hour
	Log    *events.Log
	Driver events.Driver // of Log
	Home   tables.Home
	At     events.Position // of the last event

	t testing.TB
}

// Open returns an empty World.
func Open(t testing.TB) *World {
	t.Helper()
	return OpenOver(t, func(e searchindex.Engine) searchindex.Engine { return e })
}

// OpenOver is Open with a wrapper around the search engine.
func OpenOver(t testing.TB, engine func(searchindex.Engine) searchindex.Engine) *World {
	t.Helper()
	driver, dir := memory.New(), t.TempDir()
	search := bleve.Folder(dir)
	log, home := events.NewLog(driver), projectionstest.Home(t, dir)
	control, err := control.Open(t.Context(), filepath.Join(dir, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	models, err := projections.Open(t.Context(), generation.Options{
		Log: log, Control: control, Tables: home, Logger: slog.New(slog.DiscardHandler),
		Search: searchindextest.Store{Store: search, OnOpen: func(ctx context.Context, name string) (searchindex.Engine, error) {
			e, err := search.Open(ctx, name)
			return engine(e), err
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- models.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, models.Close(), control.Close(), log.Close()); err != nil {
			t.Error(err)
		}
	})
	return &World{Models: freshness.New(models, time.Hour, 0), Log: log, Driver: driver, Home: home, t: t}
}

// Append appends events as user:alice.
func (w *World) Append(stream string, data ...events.Data) {
	w.t.Helper()
	w.AppendAs("user:alice", stream, data...)
}

// AppendAs appends events as a user.
func (w *World) AppendAs(actor events.Principal, stream string, data ...events.Data) {
	w.t.Helper()
	all := make([]events.New, len(data))
	for i, d := range data {
		all[i].Data = d
	}
	at, err := w.Log.Append(w.t.Context(), stream, events.AnyRevision, events.Cause{Actor: actor, Via: "vault", Correlation: "request-1"}, all...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.At = at.Position
}

// Settle waits until every read model has passed the last event.
func (w *World) Settle() {
	w.t.Helper()
	for _, m := range w.Models.All() {
		if err := m.Wait(w.t.Context(), w.At); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Folder makes a folder.
func (w *World) Folder(parent uuid.UUID, name string, owner events.Principal) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.Append(events.Folders, events.FolderCreated{Folder: id, Parent: parent, Name: name, Owner: owner})
	return id
}

// Share replaces what a folder grants by one permission.
func (w *World) Share(folder uuid.UUID, with events.Principal, access string) {
	w.t.Helper()
	w.Append(events.Folders, events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: with, Access: access}}})
}

// Document imports a document with a section for each text.
func (w *World) Document(folder uuid.UUID, name string, tags []string, texts ...string) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	stream := events.TextStream(id, 0)
	for i, text := range texts {
		title := fmt.Sprintf("Section %d", i+1)
		w.Append(stream, events.SectionExtracted{Index: i, Level: 1, Title: title, Path: []string{title}, Text: text})
	}
	w.Append(events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: name, Tags: tags, Content: events.Content{
		SHA256: strings.Repeat("0a", 32), Size: 10, MediaType: "text/markdown", Title: "Title of " + name,
		TextStream: stream, Sections: len(texts), Description: "About " + name + ".",
	}})
	return id
}
