package queries_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// moody is a real engine that fails, that stands still, or that does something else
// after a search, on request.
type moody struct {
	searchindex.Engine
	writes, reads atomic.Pointer[error]
	unreachable   atomic.Pointer[error]
	gate          atomic.Pointer[gate]
	searched      atomic.Pointer[func()]
}

type gate struct{ entered, open chan struct{} }

var errBroken = errors.New("open /srv/index/store: input/output error")

func (m *moody) Apply(ctx context.Context, b searchindex.Batch) error {
	if err := m.writes.Load(); err != nil {
		return *err
	}
	if g := m.gate.Swap(nil); g != nil {
		close(g.entered)
		select {
		case <-g.open:
		case <-ctx.Done():
		}
	}
	return m.Engine.Apply(ctx, b)
}

func (m *moody) Search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	if err := m.reads.Load(); err != nil {
		return nil, *err
	}
	hits, err := m.Engine.Search(ctx, q)
	if f := m.searched.Load(); f != nil {
		(*f)()
	}
	return hits, err
}

var _ searchindex.Remote = (*moody)(nil)

func (m *moody) Unreachable() error {
	if err := m.unreachable.Load(); err != nil {
		return *err
	}
	return nil
}

func newMoodyFixture(t *testing.T) (*fixture, *moody) {
	m := new(moody)
	f := newFixtureOver(t, func(e searchindex.Engine) searchindex.Engine { m.Engine = e; return m })
	return f, m
}

// readEverywhere reads a document's text in each of the three ways.
func (f *fixture) readEverywhere(id uuid.UUID) map[string]func() (string, error) {
	ctx := f.t.Context()
	return map[string]func() (string, error){
		"single": func() (string, error) {
			d, err := f.Document(ctx, alice, id)
			return content(d), err
		},
		"batch": func() (string, error) {
			docs, err := f.DocumentBatch(ctx, alice, []uuid.UUID{id})
			if err != nil || len(docs) != 1 {
				return "", errors.Join(err, errors.New("not one document"))
			}
			return content(docs[0]), nil
		},
		"markdown": func() (string, error) {
			write, err := f.Markdown(ctx, alice, id)
			if err != nil {
				return "", err
			}
			var b strings.Builder
			err = write(io.Writer(&b))
			return b.String(), err
		},
	}
}

func content(d vault.Document) string {
	if d.Content == nil {
		return ""
	}
	return *d.Content
}

func (f *fixture) revise(id uuid.UUID, version int, text string) {
	stream := events.TextStream(id, version)
	f.add(stream, events.SectionExtracted{Text: text})
	f.add(events.DocumentStream(id), events.DocumentRevised{Version: version, Content: events.Content{
		MediaType: "text/markdown", Title: "New", TextStream: stream, Sections: 1,
	}})
}

func TestTextIsAwaited(t *testing.T) {
	f, engine := newMoodyFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	old := f.document(top, "old.md", nil, "The text before.")
	f.settle()
	g := &gate{make(chan struct{}), make(chan struct{})}
	engine.gate.Store(g)
	f.document(top, "first.md", nil, "It holds the read model of texts up.")
	<-g.entered
	id := f.document(top, "late.md", nil, "The late text.")
	f.revise(old, 2, "The text after.")
	if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
		t.Fatal(err)
	}
	wants := map[uuid.UUID]string{id: "The late text.", old: "The text after."}
	f.Models.MaxLag = time.Nanosecond // waiting readers give up at once
	for doc := range wants {
		for how, read := range f.readEverywhere(doc) {
			text, err := read()
			if how == "batch" && (err != nil || text != "") || how != "batch" && !fault.Is(err, fault.Unavailable) {
				t.Errorf("%s does not wait: %q (%v)", how, text, err)
			}
		}
	}
	f.Models.MaxLag = time.Hour
	type result struct {
		how, text, want string
		err             error
	}
	results := make(chan result)
	readers := 0
	for doc, want := range wants {
		for how, read := range f.readEverywhere(doc) {
			readers++
			go func() {
				text, err := read()
				results <- result{how, text, want, err}
			}()
		}
	}
	close(g.open)
	for range readers {
		if r := <-results; r.err != nil || !strings.HasSuffix(r.text, r.want) {
			t.Errorf("%s reads %q (%v), want %q at its end", r.how, r.text, r.err, r.want)
		}
	}
}

func TestStoppedReadModelIsUnavailable(t *testing.T) {
	f, engine := newMoodyFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	old := f.document(top, "old.md", nil, "An old zebra.")
	f.settle()
	engine.writes.Store(&errBroken)
	f.document(top, "first.md", nil, "It stops the read model of texts.")
	for f.Models.Passages.Err() == nil {
		_, moved := f.Models.Passages.Moved()
		if f.Models.Passages.Err() == nil {
			<-moved
		}
	}
	id := uuid.New()
	f.add(events.DocumentStream(id), events.DocumentImported{Version: 7, Folder: top, Name: "late.md", Content: events.Content{
		MediaType: "text/markdown", Title: "Late", TextStream: events.TextStream(id, 0),
	}})
	if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
		t.Fatal(err)
	}
	for how, read := range f.readEverywhere(id) {
		text, err := read()
		if how == "batch" {
			if err != nil || text != "" {
				t.Errorf("batch: %q (%v), want the document without content", text, err)
			}
			continue
		}
		if !fault.Is(err, fault.Unavailable) || text != "" {
			t.Errorf("%s: %q (%v), want fault.Unavailable", how, text, err)
		}
	}
	if d, err := f.Document(t.Context(), alice, old); err != nil || !strings.HasSuffix(content(d), "An old zebra.") {
		t.Errorf("a text that is there: %q (%v)", content(d), err)
	}
	if s, err := f.Search(t.Context(), alice, search.Query{Query: "zebra"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Search: %v (%v), want fault.Unavailable", s, err)
	}
	if a, err := f.Ask(t.Context(), alice, search.Query{Query: "Who is the zebra?"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Ask: %v (%v), want fault.Unavailable", a, err)
	}
}

func TestEngineErrorsAreHidden(t *testing.T) {
	f, engine := newMoodyFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.document(top, "old.md", nil, "An old zebra.")
	f.settle()
	engine.reads.Store(&errBroken)
	_, err := f.Search(t.Context(), alice, search.Query{Query: "zebra"})
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "/srv") || !strings.Contains(fault.Detail(err), "/srv") {
		t.Errorf("Search: %v of kind %v; to operators: %s", err, fault.KindOf(err), fault.Detail(err))
	}
}

func TestReadsAwaitVaultAtStart(t *testing.T) {
	f := newFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.settle()
	f.Models.Start = f.at + 1
	for what, read := range map[string]func() error{
		"folder":  func() error { _, err := f.Folder(t.Context(), alice, top); return err },
		"folders": func() error { _, err := f.Folders(t.Context(), alice, nil); return err },
		"search":  func() error { _, err := f.Search(t.Context(), alice, search.Query{Query: "zebra"}); return err },
	} {
		if err := read(); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v, want unavailable", what, err)
		}
	}
	f.share(top, "user:bob", "read")
	f.settle()
	if _, err := f.Folder(t.Context(), bob, top); err != nil {
		t.Errorf("once the vault is there: %v", err)
	}
}

func TestSearchAwaitsIndexAtStart(t *testing.T) {
	f, engine := newMoodyFixture(t)
	top := f.folder(uuid.Nil, "Top", "user:alice")
	f.settle()
	g := &gate{make(chan struct{}), make(chan struct{})}
	engine.gate.Store(g)
	f.document(top, "zebra.md", nil, "A zebra.")
	<-g.entered
	if err := f.Models.Vault.Wait(t.Context(), f.at); err != nil {
		t.Fatal(err)
	}
	f.Models.Start, f.Models.MaxLag = f.at, time.Nanosecond // waiting readers give up at once
	if hits, err := f.Search(t.Context(), alice, search.Query{Query: "zebra"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Search: %v (%v), want unavailable", hits, err)
	}
	if answer, err := f.Ask(t.Context(), alice, search.Query{Query: "What is a zebra?"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Ask: %v (%v), want unavailable", answer, err)
	}
	close(g.open)
	f.settle()
	if hits, err := f.Search(t.Context(), alice, search.Query{Query: "zebra"}); err != nil || len(hits) != 1 {
		t.Errorf("Search of the index once it is made: %v (%v)", hits, err)
	}
}

func TestUnknownJobAtStartIsUnavailable(t *testing.T) {
	f := newFixture(t)
	f.settle()
	f.Models.Start = f.at + 1
	if _, err := f.Job(t.Context(), alice, uuid.NewString()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Job before the read model is where the log was at the start: %v, want unavailable", err)
	}
	f.folder(uuid.Nil, "Top", "user:alice")
	f.settle()
	if _, err := f.Job(t.Context(), alice, uuid.NewString()); !fault.Is(err, fault.NotFound) {
		t.Errorf("Job: %v, want not found", err)
	}
}
