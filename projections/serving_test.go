package projections

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/searchindex/searchindextest"
)

// slowEngine lets its searches wait, and knows whether it was closed.
type slowEngine struct {
	searchindex.Engine
	asked, answer chan struct{}
	closed        atomic.Bool
}

func (e *slowEngine) Search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	if e.asked == nil {
		return e.Engine.Search(ctx, q)
	}
	e.asked <- struct{}{}
	<-e.answer
	if e.closed.Load() {
		return nil, errors.New("the index was closed during a search")
	}
	return e.Engine.Search(ctx, q)
}

func (e *slowEngine) Close() error {
	e.closed.Store(true)
	return e.Engine.Close()
}

func TestReadsFinishOnTheirGeneration(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 50)
	o := optionsIn(t, log, dir)
	search, first := o.Search, (*slowEngine)(nil)
	o.Search = searchindextest.Store{Store: search, OnOpen: func(ctx context.Context, name string) (searchindex.Engine, error) {
		e, err := search.Open(ctx, name)
		slow := &slowEngine{Engine: e}
		if first == nil {
			slow.asked, slow.answer, first = make(chan struct{}), make(chan struct{}), slow
		}
		return slow, err
	}}
	s, _ := serve(t, o)
	wait(t, s.Runner("vault"), last)
	wait(t, s.Runner("passages"), last)

	rows, err := s.Runner("vault").DB().QueryContext(t.Context(), `SELECT id FROM documents`)
	if err != nil || !rows.Next() {
		t.Fatalf("documents: %v", err)
	}
	query := searchindex.Query{Text: "lighthouse", All: true, Limit: 100}
	found := make(chan int, 1)
	go func() {
		hits, err := s.Search.Search(t.Context(), query)
		if err != nil {
			t.Error(err)
		}
		found <- len(hits)
	}()
	<-first.asked
	other := optionsIn(t, log, dir)
	for _, r := range []*Runner{s.Runner("vault"), s.Runner("passages")} {
		if _, err := other.Rebuild(t.Context(), r.Name(), nil); err != nil {
			t.Fatal(err)
		}
		untilServes(t, r, 2)
	}
	if hits, err := s.Search.Search(t.Context(), query); len(hits) != 50 || err != nil {
		t.Errorf("after the switch a search finds %d passages (%v), want 50", len(hits), err)
	}
	if first.closed.Load() {
		t.Error("the old index was closed while it was searched")
	}
	close(first.answer)
	if n := <-found; n != 50 {
		t.Errorf("the search that was under way finds %d passages, want 50", n)
	}
	n := 1
	for rows.Next() {
		n++
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || n != 50 {
		t.Errorf("the listing that was under way has %d documents (%v), want 50", n, err)
	}
}

// Permissions hang on the vault: one that has stopped is not trusted just since
// another generation of it serves.
func TestStoppedModelStaysStoppedUntilNextGenerationAdvances(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	folder, _ := manyDocuments(t, log, 3)
	last := add(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "torn"})
	generation := func(number int, p readmodel.Projection) *generation.Generation {
		g, err := optionsIn(t, log, dir).OpenIndexed(t.Context(), p, number)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	r := newRunner(generation(1, poisoned{name: "torn"}))
	if _, err := r.step(t.Context()); err == nil {
		t.Fatal("an event of the folder tree that cannot be applied was passed")
	}
	stopped := fault.Errorf(fault.Unavailable, "it has stopped")
	r.update(func() { r.failure = stopped })
	lasting := func() error { return nil }
	if err := r.replace(t.Context(), generation(2, poisoned{name: "torn"}), lasting); err != nil || r.Generation() != 2 {
		t.Fatalf("generation %d serves (%v), want 2", r.Generation(), err)
	}
	if err := r.Err(); err != stopped {
		t.Errorf("at %d of %d, behind an event that cannot be applied, the read model is trusted: %v", r.Position(), last, err)
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	if err := r.replace(t.Context(), generation(3, readmodel.Vault{}), lasting); err != nil {
		t.Fatal(err)
	}
	for {
		_, moved := r.Moved()
		if r.Err() == nil {
			break
		}
		<-moved
	}
	wait(t, r, last)
	stop()
	if err := errors.Join(<-ended, r.close()); err != nil {
		t.Error(err)
	}
}
