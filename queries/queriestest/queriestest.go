// Package queriestest opens a log in memory, and read models that follow it, for tests
// of queries. It imports projections, events and queries/freshness.
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
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/searchindex/bleve"
	"annals/projections/searchindex/searchindextest"
	"annals/projections/tables"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Users of tests.
var (
	Admin = events.User{Principal: "user:root", Admin: true}
	Alice = events.User{Principal: "user:alice"}
	Bob   = events.User{Principal: "user:bob", Groups: []events.Principal{"group:staff"}}
	Eve   = events.User{Principal: "user:eve"}
)

// World is a log and the read models that follow it until the test ends.
type World struct {
	Models *freshness.Models // MaxLag is an hour
	Log    *events.Log
	Driver events.Driver // of Log
	Home   tables.Home
	Stores generation.Options // of the read models
	At     events.Position    // of the last event

	t testing.TB
}

// Open returns an empty World.
func Open(t testing.TB) *World {
	t.Helper()
	return open(t, nil, func(e searchindex.Engine) searchindex.Engine { return e })
}

// OpenWithEmbedder returns an empty World with vectors.
func OpenWithEmbedder(t testing.TB, embedder readmodel.Embedder) *World {
	t.Helper()
	return open(t, embedder, func(e searchindex.Engine) searchindex.Engine { return e })
}

// OpenWithEngine returns an empty World and the search engine of its passages.
func OpenWithEngine(t testing.TB) (*World, *Engine) {
	t.Helper()
	engine := new(Engine)
	return open(t, nil, func(e searchindex.Engine) searchindex.Engine { engine.Engine = e; return engine }), engine
}

func open(t testing.TB, embedder readmodel.Embedder, wrap func(searchindex.Engine) searchindex.Engine) *World {
	t.Helper()
	driver, dir := memory.New(), t.TempDir()
	search := bleve.Folder(dir)
	log, home := events.NewLog(driver), projectionstest.Home(t, dir)
	control, err := control.Open(t.Context(), filepath.Join(dir, "control.db"))
	if err != nil {
		t.Fatal(err)
	}
	stores := generation.Options{
		Log: log, Control: control, Tables: home, Embedder: embedder, Logger: slog.New(slog.DiscardHandler),
		Search: searchindextest.Store{Store: search, OnOpen: func(ctx context.Context, name string) (searchindex.Engine, error) {
			e, err := search.Open(ctx, name)
			return wrap(e), err
		}},
	}
	models, err := projections.Open(t.Context(), stores)
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
	return &World{Models: freshness.New(models, time.Hour, 0), Log: log, Driver: driver, Home: home, Stores: stores, t: t}
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

// AppendUnreadable appends an event that this version of the program cannot read.
func (w *World) AppendUnreadable(stream, kind string) {
	w.t.Helper()
	record := events.Record{ID: uuid.New(), Type: kind, Data: []byte(`{}`), Metadata: []byte(`{"schema":999}`)}
	at, err := w.Driver.Append(w.t.Context(), stream, events.AnyRevision, []events.Record{record})
	if err != nil {
		w.t.Fatal(err)
	}
	w.At = at.Position
}

// Await waits until a read model has passed the last event.
func (w *World) Await(m *projections.Runner) {
	w.t.Helper()
	if err := m.Wait(w.t.Context(), w.At); err != nil {
		w.t.Fatal(err)
	}
}

// Settle waits until every read model has passed the last event.
func (w *World) Settle() {
	w.t.Helper()
	for _, m := range w.Models.All() {
		w.Await(m)
	}
}

// Stop hides the checkpoint of a read model, so that the read model stops at the next
// event. Its other tables can still be read.
func (w *World) Stop(m *projections.Runner) {
	w.t.Helper()
	db := projectionstest.Open(w.t, w.Home, m.Name()+"-1")
	if _, err := db.ExecContext(w.t.Context(), `ALTER TABLE checkpoint RENAME TO hidden`); err != nil {
		w.t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		w.t.Error(err)
	}
}

// AwaitStop waits until a read model has stopped.
func (w *World) AwaitStop(m *projections.Runner) {
	w.t.Helper()
	m.Hurry(w.At) // do not wait for more events
	for {
		_, moved := m.Moved()
		if m.Err() != nil {
			return
		}
		select {
		case <-moved:
		case <-w.t.Context().Done():
			w.t.Fatalf("the read model %s does not stop: %v", m.Name(), w.t.Context().Err())
		}
	}
}

// AddFolder creates a folder.
func (w *World) AddFolder(parent uuid.UUID, name string, owner events.Principal) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	w.Append(events.Folders, events.FolderCreated{Folder: id, Parent: parent, Name: name, Owner: owner})
	return id
}

// Share replaces all permissions of a folder by one permission.
func (w *World) Share(folder uuid.UUID, with events.Principal, access string) {
	w.t.Helper()
	w.Append(events.Folders, events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: with, Access: access}}})
}

// SHA256 is the digest of every document that AddDocument imports.
var SHA256 = strings.Repeat("0a", 32)

// AddDocument imports a document with one section for each text.
func (w *World) AddDocument(folder uuid.UUID, name string, tags []string, texts ...string) uuid.UUID {
	w.t.Helper()
	sections := make([]events.SectionExtracted, len(texts))
	for i, text := range texts {
		title := fmt.Sprintf("Section %d", i+1)
		sections[i] = events.SectionExtracted{Level: 1, Title: title, Path: []string{title}, Text: text}
	}
	return w.Import(events.DocumentImported{Folder: folder, Name: name, Tags: tags, Content: events.Content{
		SHA256: SHA256, Size: 10, MediaType: "text/markdown", Title: "Title of " + name, Description: "About " + name + ".",
	}}, sections...)
}

// Import imports a document with the given sections. It sets the version, the text
// stream and the indexes of the sections.
func (w *World) Import(d events.DocumentImported, sections ...events.SectionExtracted) uuid.UUID {
	w.t.Helper()
	id := uuid.New()
	d.Version, d.TextStream, d.Sections = 1, events.TextStream(id, 0), len(sections)
	for i, s := range sections {
		s.Index = i
		w.Append(d.TextStream, s)
	}
	w.Append(events.DocumentStream(id), d)
	return id
}

// Revise replaces the content of a document by one section without a heading.
func (w *World) Revise(id uuid.UUID, version int, text string) {
	w.t.Helper()
	stream := events.TextStream(id, version)
	w.Append(stream, events.SectionExtracted{Text: text})
	w.Append(events.DocumentStream(id), events.DocumentRevised{Version: version, Content: events.Content{
		MediaType: "text/markdown", Title: "New", TextStream: stream, Sections: 1,
	}})
}
