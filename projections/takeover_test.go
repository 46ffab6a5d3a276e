package projections

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/events/postgres/postgrestest"
	"annals/projections/searchindex"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// What a rebuild made is not made twice because files cannot be opened for a
// while.
func TestARebuiltReadModelIsKeptWhereAFaultPasses(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 5)
	o, other := optionsIn(t, log, dir), optionsIn(t, log, dir)
	failOnce := func(o *Options) {
		open, failed := o.OpenSearch, false
		o.OpenSearch = func(ctx context.Context, name string) (searchindex.Engine, error) {
			if name == "passages-2" && !failed {
				failed = true
				return nil, syscall.EMFILE
			}
			return open(ctx, name)
		}
	}
	failOnce(&o)
	failOnce(&other)
	s, _ := serve(t, o)
	wait(t, s.Passages, last)
	if _, err := other.Rebuild(t.Context(), "passages", unheard); !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("Rebuild without a file to open = %v", err)
	}
	if begun, ok, err := o.Control.find(t.Context(), "passages", filling); !ok || err != nil || begun.generation != 2 {
		t.Errorf("of the rebuild that failed %+v (%v) is left, want generation 2", begun, err)
	}
	if _, err := other.Rebuild(t.Context(), "passages", unheard); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, moved := s.Passages.Moved()
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
func TestARebuiltReadModelIsKeptWhereItsLogLacksEvents(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	manyDocuments(t, log, 5)
	whole := optionsIn(t, log, dir)
	generation, err := whole.Rebuild(t.Context(), "vault", unheard)
	if err != nil {
		t.Fatal(err)
	}
	found, err := whole.Control.readySpares(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("ready to serve are %+v (%v), want one", found, err)
	}
	shorter := newLog(t)
	manyDocuments(t, shorter, 1)
	cut := optionsIn(t, shorter, dir)
	r, _, err := cut.open(t.Context(), Vault{})
	if err != nil {
		t.Fatal(err)
	}
	if waits := cut.takeUp(t.Context(), r, found[0]); !waits || r.Generation() == generation {
		t.Errorf("generation %d serves, the rebuilt one waits: %t", r.Generation(), waits)
	}
	begun := found[0]
	begun.state = filling
	if err := cut.Control.setSpare(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Rebuild(t.Context(), "vault", unheard); !errors.Is(err, errAhead) {
		t.Errorf("Rebuild that goes on with it = %v, want %v", err, errAhead)
	}
	if again, err := whole.Rebuild(t.Context(), "vault", unheard); again != generation || err != nil {
		t.Errorf("with the whole log Rebuild makes generation %d (%v), want %d", again, err, generation)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestALogThatEndsTooEarlyIsNoFaultOfAReadModel(t *testing.T) {
	log := newLog(t)
	_, last := manyDocuments(t, log, 1)
	g, err := optionsIn(t, log, t.TempDir()).openTables(t.Context(), Vault{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.reach(t.Context(), last+1, func(events.Position) {}); err == nil || !passing(err) {
		t.Errorf("reach beyond the log = %v, want an error that passes", err)
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
}

// A process that slept may have lost its lease and not know of it yet.
func TestARebuildIsNotGivenUpWhileAnotherProcessStillHoldsItsFiles(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	manyDocuments(t, log, 5)
	o := optionsIn(t, log, dir)
	begun, err := o.begun(t.Context(), new(Passages))
	if err != nil {
		t.Fatal(err)
	}
	g, err := o.openTables(t.Context(), new(Passages), begun.generation)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Rebuild(t.Context(), "passages", unheard); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Rebuild of what another process fills = %v, want an error of kind unavailable", err)
	}
	if err := g.close(); err != nil {
		t.Fatal(err)
	}
	if generation, err := o.Rebuild(t.Context(), "passages", unheard); err != nil || generation != begun.generation {
		t.Errorf("the next rebuild made generation %d (%v), want to go on with %d", generation, err, begun.generation)
	}
}

// A program of another version deletes what is ready for this one.
func TestAGenerationThatIsGivenUpMeanwhileDoesNotTakeOver(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	_, last := manyDocuments(t, log, 5)
	o, other := optionsIn(t, log, dir), optionsIn(t, log, dir)
	r, _, err := o.open(t.Context(), Vault{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Rebuild(t.Context(), "vault", unheard); err != nil {
		t.Fatal(err)
	}
	found, err := o.Control.readySpares(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("ready to serve are %+v (%v), want one", found, err)
	}
	g, err := o.openMade(t.Context(), Vault{}, found[0].generation)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.begun(t.Context(), newer{}); err != nil {
		t.Fatal(err)
	}
	// Who still has the file goes on to the pointer; tables of a database are gone.
	err = r.replace(t.Context(), g, func() error { return o.Control.serve(t.Context(), found[0]) })
	if !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Unavailable) || r.Generation() != 1 {
		t.Errorf("generation %d serves (%v), want 1 and a conflict, or that it is not there", r.Generation(), err)
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
	if s, err := stateOf(t, o, "vault"); err != nil || s.Generation != 1 || s.Position != last || len(s.Spares) != 1 || s.Spares[0].State != filling {
		t.Errorf("State = %+v, %v; want generation 1 to serve beside the one that the other program fills", s, err)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if err := o.Discard(t.Context(), "vault"); err != nil {
		t.Errorf("afterwards Discard = %v", err)
	}
}

// stateOf reads how far a read model is beside the log of today.
func stateOf(t *testing.T, o Options, name string) (State, error) {
	t.Helper()
	head, err := o.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o.State(t.Context(), name, head)
}

// Nodes that share a search index go over to what was made anew where the one
// that serves is lost while they write, though none can lead that any more.
func TestNodesGoOverToWhatWasMadeAnewOfALostIndex(t *testing.T) {
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
		o.Own, servers[i] = nil, server
		o.OpenSearch = func(_ context.Context, name string) (searchindex.Engine, error) { return server.Index(name), nil }
		o.RemoveSearch = server.Remove
		if nodes[i], err = Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		run(t, nodes[i])
	}
	for _, s := range nodes {
		wait(t, s.Passages, last)
	}
	if err := servers[0].Remove(t.Context(), "passages-1"); err != nil {
		t.Fatal(err)
	}
	_, last = manyDocuments(t, log, 20) // whoever leads finds that the index is lost
	for _, s := range nodes {
		untilServes(t, s.Passages, 2)
		for moved := movedOf(s.Passages); s.Passages.Position() < last; moved = movedOf(s.Passages) {
			<-moved
		}
	}
}
