package main

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/service"
	"annals/events/originals"
	"annals/events/s3/s3test"
)

// keepers are two nodes that share originals. The first one sweeps. The second one gets
// an upload of an original that exists already, which nothing refers to yet.
type keepers struct {
	*testing.T
	gates  [2]originals.Gate
	stores [2]originals.Store
	again  originals.Staged
}

// newKeepers stores an upload through the first node, and stages it again at the second
// node.
func newKeepers(t *testing.T, url string) *keepers {
	t.Helper()
	k := &keepers{T: t}
	for i, control := range controls(t, 2) {
		k.gates[i] = control.Gate("originals", service.OriginalsGateOpen)
		store, err := engine.URLs{Originals: url, Data: t.TempDir()}.OpenOriginals(t.Context(), k.gates[i])
		if err != nil {
			t.Fatal(err)
		}
		k.stores[i] = store
		if k.again, err = store.Stage(t.Context(), strings.NewReader("again"), 100); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			k.commit()
		}
	}
	return k
}

func (k *keepers) commit() {
	if err := k.again.Commit(k.Context()); err != nil {
		k.Errorf("Commit: %v", err)
	}
}

// commitBeside lets the second node commit its upload, and returns after the commit, or
// while it waits for the gate. wait waits for the end of the commit.
func (k *keepers) commitBeside() (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.commit()
	}()
	select {
	case <-done:
	case <-time.After(200 * time.Millisecond):
	}
	return func() { <-done }
}

// sweep deletes all originals, because nothing refers to them.
func (k *keepers) sweep(s originals.Store) {
	k.Helper()
	n, err := originals.Sweep(k.Context(), s, k.gates[0], time.Now().Add(time.Hour),
		func(context.Context, string) (bool, error) { return false, nil })
	if n != 1 || err != nil {
		k.Errorf("Sweep = %d, %v; want 1 deleted", n, err)
	}
}

func (k *keepers) wantKept() {
	k.Helper()
	if err := originals.Verify(k.Context(), k.stores[1], k.again.SHA256(), 5, true); err != nil {
		k.Errorf("what was committed: %v", err)
	}
}

// judged is a store that calls the function first when a sweep is about to check the
// date of an original.
type judged struct {
	originals.Store
	first func()
}

func (j judged) Delete(ctx context.Context, sha256 string, before time.Time) (bool, error) {
	j.first()
	return j.Store.Delete(ctx, sha256, before)
}

func TestFolderSweepKeepsOtherNodesCommits(t *testing.T) {
	t.Parallel()
	k := newKeepers(t, "file://"+t.TempDir())
	var wait func()
	k.sweep(judged{k.stores[0], func() { wait = k.commitBeside() }})
	wait()
	k.wantKept()
}

func TestBucketSweepKeepsOtherNodesCommits(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	k := newKeepers(t, server.URL)
	var wait func()
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodDelete { // the sweep has checked its date
			wait = k.commitBeside()
		}
		next.ServeHTTP(w, r)
	})
	k.sweep(k.stores[0])
	wait()
	k.wantKept()
}

// If writing an object takes so long that a sweep checks the old object and deletes the
// new one, the object is written again.
func TestSlowUploadSurvivesSweep(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	k := newKeepers(t, server.URL)
	begun, judged, put := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var first sync.Once
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		slow := false
		switch r.Method {
		case http.MethodPut:
			first.Do(func() { slow = true; close(begun); <-judged })
		case http.MethodDelete:
			close(judged)
			<-put
		}
		next.ServeHTTP(w, r)
		if slow {
			close(put)
		}
	})
	var committing sync.WaitGroup
	committing.Go(k.commit)
	<-begun
	k.sweep(k.stores[0])
	committing.Wait()
	k.wantKept()
}
