package projections

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/sqldb/postgrestest"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/readmodel/passages"
	"annals/projections/searchindex"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
	"annals/projections/searchindex/searchindextest"
)

// What a rebuild made is not made twice because files cannot be opened for a
// while.
func TestRebuiltGenerationKeptOnPassingFault(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 5)
	o, other := optionsIn(t, log, dir), optionsIn(t, log, dir)
	failOnce := func(o *generation.Options) {
		search, failed := o.Search, false
		o.Search = searchindextest.Store{Store: search, OnOpen: func(ctx context.Context, name string) (searchindex.Engine, error) {
			if name == "passages-2" && !failed {
				failed = true
				return nil, syscall.EMFILE
			}
			return search.Open(ctx, name)
		}}
	}
	failOnce(&o)
	failOnce(&other)
	s, _ := serve(t, o)
	wait(t, s.Runner("passages"), last)
	if _, err := other.Rebuild(t.Context(), "passages", nil); !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("Rebuild without a file to open = %v", err)
	}
	if begun, ok, err := o.Control.Find(t.Context(), "passages", control.Filling); !ok || err != nil || begun.Number != 2 {
		t.Errorf("of the rebuild that failed %+v (%v) is left, want generation 2", begun, err)
	}
	if _, err := other.Rebuild(t.Context(), "passages", nil); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, moved := s.Runner("passages").Moved()
		serves, pending, err := o.Control.Pending(t.Context(), "passages", 2)
		if err != nil || !serves && !pending {
			t.Fatalf("the server has given up what was rebuilt (%v)", err)
		}
		if serves {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server has not taken up what was rebuilt after a minute")
		}
		select {
		case <-moved:
		case <-time.After(10 * time.Millisecond): // nothing tells of one that is given up
		}
	}
}

// It may hold what the log has lost, and the log may be put back.
func TestRebuiltGenerationKeptOnTruncatedLog(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	manyDocuments(t, log, 5)
	whole := optionsIn(t, log, dir)
	made, err := whole.Rebuild(t.Context(), "vault", nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := whole.Control.AllReady(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("ready to serve are %+v (%v), want one", found, err)
	}
	shorter := newLog(t)
	manyDocuments(t, shorter, 1)
	cut := optionsIn(t, shorter, dir)
	r, _, err := openRunner(t, cut, readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	if waits := activate(t.Context(), cut, r, found[0]); !waits || r.Generation() == made {
		t.Errorf("generation %d serves, the rebuilt one waits: %t", r.Generation(), waits)
	}
	begun := found[0]
	begun.State = control.Filling
	if err := cut.Control.Save(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Rebuild(t.Context(), "vault", nil); !errors.Is(err, generation.ErrLogTruncated) {
		t.Errorf("Rebuild that continues with it = %v, want %v", err, generation.ErrLogTruncated)
	}
	if again, err := whole.Rebuild(t.Context(), "vault", nil); again != made || err != nil {
		t.Errorf("with the whole log Rebuild makes generation %d (%v), want %d", again, err, made)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestShortLogIsNoFaultOfReadModel(t *testing.T) {
	log := newLog(t)
	_, last := manyDocuments(t, log, 1)
	g, err := optionsIn(t, log, t.TempDir()).OpenTables(t.Context(), readmodel.Vault{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.CatchUp(t.Context(), last+1, nil); err == nil || !generation.IsTransient(err) {
		t.Errorf("reach beyond the log = %v, want an error that passes", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// A process that slept may have lost its lease and not know of it yet.
func TestRebuildSurvivesTooManyOpenFiles(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	manyDocuments(t, log, 5)
	o := optionsIn(t, log, dir)
	begun, err := o.Begin(t.Context(), new(passages.Projection))
	if err != nil {
		t.Fatal(err)
	}
	g, err := o.OpenTables(t.Context(), new(passages.Projection), begun.Number)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Rebuild(t.Context(), "passages", nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Rebuild while another process fills the generation = %v, want an error of kind unavailable", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if generation, err := o.Rebuild(t.Context(), "passages", nil); err != nil || generation != begun.Number {
		t.Errorf("the next rebuild made generation %d (%v), want to continue %d", generation, err, begun.Number)
	}
}

// A program of another version deletes what is ready for this one.
func TestGivenUpGenerationIsNotActivated(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 5)
	o, other := optionsIn(t, log, dir), optionsIn(t, log, dir)
	r, _, err := openRunner(t, o, readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	found, err := o.Control.AllReady(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("ready to serve are %+v (%v), want one", found, err)
	}
	g, err := o.OpenExisting(t.Context(), readmodel.Vault{}, found[0].Number)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Begin(t.Context(), newer{}); err != nil {
		t.Fatal(err)
	}
	// A process with the file open still reaches the pointer; tables of a database are gone.
	err = r.replace(t.Context(), g, func() error { return o.Control.Activate(t.Context(), found[0]) })
	if !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Unavailable) || r.Generation() != 1 {
		t.Errorf("generation %d serves (%v), want 1 and a conflict, or that it is not there", r.Generation(), err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if s, err := stateOf(t, o, "vault"); err != nil || s.Generation != 1 || s.Position != last || len(s.Inactive) != 1 || s.Inactive[0].State != control.Filling {
		t.Errorf("State = %+v, %v; want generation 1 to serve while the other program fills one", s, err)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if err := o.Discard(t.Context(), "vault"); err != nil {
		t.Errorf("afterwards Discard = %v", err)
	}
}

// stateOf returns the state of a read model against the current log.
func stateOf(t *testing.T, o generation.Options, name string) (State, error) {
	t.Helper()
	head, err := o.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return StateOf(t.Context(), o, name, head)
}

// Nodes that share a search index switch to the rebuilt one if the one
// that serves is lost while they write, though none can lead that any more.
func TestLostIndexIsRebuiltOnAllNodes(t *testing.T) {
	t.Parallel()
	log := newLog(t)
	_, last := manyDocuments(t, log, 20)
	url, engine := postgrestest.URL(t), meilisearchtest.New(t)
	var nodes [2]*Set
	var servers [2]*meilisearch.Server
	for i := range nodes {
		server, err := meilisearch.Open(engine.URL("test-"))
		if err != nil {
			t.Fatal(err)
		}
		o := nodeOf(t, log, url)
		o.Own, o.Search, servers[i] = nil, server, server
		if nodes[i], err = Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		run(t, nodes[i])
	}
	for _, s := range nodes {
		wait(t, s.Runner("passages"), last)
	}
	if err := servers[0].Remove(t.Context(), "passages-1"); err != nil {
		t.Fatal(err)
	}
	_, last = manyDocuments(t, log, 20) // the leader finds that the index is lost
	for _, s := range nodes {
		untilServes(t, s.Runner("passages"), 2)
		for moved := movedOf(s.Runner("passages")); s.Runner("passages").Position() < last; moved = movedOf(s.Runner("passages")) {
			<-moved
		}
	}
}
