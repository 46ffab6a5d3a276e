package projections_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/sqldb/postgrestest"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
	"annals/projections/searchindex/searchindextest"
)

// Running out of file descriptors is a transient fault: the rebuilt generation must be
// kept and activated later.
func TestRebuiltGenerationKeptOnTransientFault(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	_, last := projectionstest.ImportDocuments(t, log, 5)
	o, other := projectionstest.Options(t, log, dir), projectionstest.Options(t, log, dir)
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
	s, _ := projectionstest.Serve(t, o)
	projectionstest.Wait(t, s.Runner("passages"), last)
	if _, err := other.Rebuild(t.Context(), "passages", nil); !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("Rebuild with too many open files = %v, want %v", err, syscall.EMFILE)
	}
	if begun, ok, err := o.Control.Find(t.Context(), "passages", control.Filling); !ok || err != nil || begun.Number != 2 {
		t.Errorf("after the failed rebuild Find = %+v, %v, want generation 2", begun, err)
	}
	if _, err := other.Rebuild(t.Context(), "passages", nil); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		_, moved := s.Runner("passages").Moved()
		serves, pending, err := o.Control.Pending(t.Context(), "passages", 2)
		if err != nil || !serves && !pending {
			t.Fatalf("the server has given up the rebuilt generation (%v)", err)
		}
		if serves {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server has not activated the rebuilt generation after a minute")
		}
		select {
		case <-moved:
		case <-time.After(10 * time.Millisecond): // nothing notifies the test if the generation is given up
		}
	}
}

// A rebuilt generation that is ahead of a truncated log must be kept: it is valid again
// after the log is restored from a newer backup.
func TestRebuiltGenerationKeptOnTruncatedLog(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	projectionstest.ImportDocuments(t, log, 5)
	whole := projectionstest.Options(t, log, dir)
	made, err := whole.Rebuild(t.Context(), "vault", nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := whole.Control.AllReady(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("the ready generations are %+v (%v), want one", found, err)
	}
	shorter := projectionstest.NewLog(t)
	projectionstest.ImportDocuments(t, shorter, 1)
	truncated := projectionstest.Options(t, shorter, dir)
	r, _, err := openRunner(t, truncated, readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	if retry := projections.Activate(t.Context(), truncated, r, found[0]); !retry || r.Generation() == made {
		t.Errorf("with a truncated log generation %d is active, and activating %d is retried: %t, want true", r.Generation(), made, retry)
	}
	begun := found[0]
	begun.State = control.Filling
	if err := truncated.Control.Save(t.Context(), begun); err != nil {
		t.Fatal(err)
	}
	if _, err := truncated.Rebuild(t.Context(), "vault", nil); !errors.Is(err, generation.ErrLogTruncated) {
		t.Errorf("Rebuild with a truncated log = %v, want %v", err, generation.ErrLogTruncated)
	}
	if again, err := whole.Rebuild(t.Context(), "vault", nil); again != made || err != nil {
		t.Errorf("Rebuild with the whole log = %d, %v, want %d", again, err, made)
	}
	closeRunner(t, r)
}

// The generation was ready, but then a rebuild by a program of another version gave it
// up. Activating it must fail.
func TestGivenUpGenerationIsNotActivated(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	_, last := projectionstest.ImportDocuments(t, log, 5)
	o, other := projectionstest.Options(t, log, dir), projectionstest.Options(t, log, dir)
	r, _, err := openRunner(t, o, readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	found, err := o.Control.AllReady(t.Context())
	if err != nil || len(found) != 1 {
		t.Fatalf("the ready generations are %+v (%v), want one", found, err)
	}
	g, err := o.OpenExisting(t.Context(), readmodel.Vault{}, found[0].Number)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Begin(t.Context(), projectionstest.NewerVault{}); err != nil {
		t.Fatal(err)
	}
	// The error depends on where the tables are: in a tables.Folder, Activate returns a
	// conflict; in a tables.Database, the tables are gone.
	err = r.Replace(t.Context(), g, func() error { return o.Control.Activate(t.Context(), found[0]) })
	if !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Unavailable) || r.Generation() != 1 {
		t.Errorf("generation %d is active after %v, want 1 after an error of kind conflict or unavailable", r.Generation(), err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if s, err := stateOf(t, o, "vault"); err != nil || s.Generation != 1 || s.Position != last || len(s.Inactive) != 1 || s.Inactive[0].State != control.Filling {
		t.Errorf("State = %+v, %v; want generation 1 active and another one filling", s, err)
	}
	closeRunner(t, r)
	if err := o.Discard(t.Context(), "vault"); err != nil {
		t.Errorf("Discard = %v", err)
	}
}

// stateOf returns the state of a read model.
func stateOf(t *testing.T, o generation.Options, name string) (projections.State, error) {
	t.Helper()
	head, err := o.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return projections.StateOf(t.Context(), o, name, head)
}

// If the active search index is lost while a node writes to it, no node can lead that
// generation. All nodes must still switch to a rebuilt one.
func TestLostIndexIsRebuiltOnAllNodes(t *testing.T) {
	t.Parallel()
	log := projectionstest.NewLog(t)
	_, last := projectionstest.ImportDocuments(t, log, 20)
	url, engine := postgrestest.URL(t), meilisearchtest.New(t)
	var nodes [2]*projections.Set
	var servers [2]searchindex.Store
	for i := range nodes {
		server, err := meilisearch.Kind.Open(engine.URL("test-"), "")
		if err != nil {
			t.Fatal(err)
		}
		o := projectionstest.NodeOptions(t, log, url)
		o.Own, o.Search, servers[i] = nil, server, server
		if nodes[i], err = projections.Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		projectionstest.Run(t, nodes[i])
	}
	for _, s := range nodes {
		projectionstest.Wait(t, s.Runner("passages"), last)
	}
	if err := servers[0].Remove(t.Context(), "passages-1"); err != nil {
		t.Fatal(err)
	}
	_, last = projectionstest.ImportDocuments(t, log, 20) // the leader notices that the index is lost
	for _, s := range nodes {
		projectionstest.UntilServes(t, s.Runner("passages"), 2)
		projectionstest.Until(t, s.Runner("passages"), func() bool { return s.Runner("passages").Position() >= last })
	}
}
