package projections_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/searchindex/searchindextest"
)

// slowEngine is a search index whose searches wait until the test lets them proceed. It
// records whether it was closed.
type slowEngine struct {
	searchindex.Engine
	began, proceed chan struct{} // nil if searches do not wait
	closed         atomic.Bool
}

func (e *slowEngine) Search(ctx context.Context, q searchindex.Query) ([]searchindex.Hit, error) {
	if e.began == nil {
		return e.Engine.Search(ctx, q)
	}
	e.began <- struct{}{}
	<-e.proceed
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
	log, dir := projectionstest.NewLog(t), t.TempDir()
	_, last := projectionstest.ImportDocuments(t, log, 50)
	o := projectionstest.Options(t, log, dir)
	search, first := o.Search, (*slowEngine)(nil)
	o.Search = searchindextest.Store{Store: search, OnOpen: func(ctx context.Context, name string) (searchindex.Engine, error) {
		e, err := search.Open(ctx, name)
		slow := &slowEngine{Engine: e}
		if first == nil {
			slow.began, slow.proceed, first = make(chan struct{}), make(chan struct{}), slow
		}
		return slow, err
	}}
	s, _ := projectionstest.Serve(t, o)
	projectionstest.Wait(t, s.Runner("vault"), last)
	projectionstest.Wait(t, s.Runner("passages"), last)

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
	<-first.began
	other := projectionstest.Options(t, log, dir)
	for _, r := range []*projections.Runner{s.Runner("vault"), s.Runner("passages")} {
		if _, err := other.Rebuild(t.Context(), r.Name(), nil); err != nil {
			t.Fatal(err)
		}
		projectionstest.UntilServes(t, r, 2)
	}
	if hits, err := s.Search.Search(t.Context(), query); len(hits) != 50 || err != nil {
		t.Errorf("after the activation a search finds %d passages (%v), want 50", len(hits), err)
	}
	if first.closed.Load() {
		t.Error("the old index was closed while it was searched")
	}
	close(first.proceed)
	if n := <-found; n != 50 {
		t.Errorf("the search in progress found %d passages, want 50", n)
	}
	n := 1
	for rows.Next() {
		n++
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || n != 50 {
		t.Errorf("the query in progress returned %d documents (%v), want 50", n, err)
	}
}

// Permissions depend on the vault. If the vault has stopped, activating another
// generation must not allow reads until that generation has applied events.
func TestStoppedModelStaysStoppedUntilNextGenerationAdvances(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	folder, _ := projectionstest.ImportDocuments(t, log, 3)
	last := projectionstest.Append(t, log, events.Folders, events.FolderRenamed{Folder: folder, Name: "bad"})
	open := func(number int, p readmodel.Projection) *generation.Generation {
		g, err := projectionstest.Options(t, log, dir).OpenIndexed(t.Context(), p, number)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	r := projections.NewRunner(open(1, projectionstest.FailingVault{Fails: "bad"}))
	if _, err := r.Step(t.Context()); err == nil {
		t.Fatal("Step passed an event of the folder tree that cannot be applied")
	}
	stopped := fault.Errorf(fault.Unavailable, "it has stopped")
	r.Stop(stopped)
	commit := func() error { return nil }
	if err := r.Replace(t.Context(), open(2, projectionstest.FailingVault{Fails: "bad"}), commit); err != nil || r.Generation() != 2 {
		t.Fatalf("generation %d is active (%v), want 2", r.Generation(), err)
	}
	if err := r.Err(); err != stopped {
		t.Errorf("at position %d of %d, before an event that cannot be applied, Err = %v, want the error from before", r.Position(), last, err)
	}

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := r.Replace(t.Context(), open(3, readmodel.Vault{}), commit); err != nil {
		t.Fatal(err)
	}
	projectionstest.Until(t, r, func() bool { return r.Err() == nil })
	projectionstest.Wait(t, r, last)
	stop()
	if err := errors.Join(<-ended, r.Close()); err != nil {
		t.Error(err)
	}
}
