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

// keepers are two nodes that share originals. An original exists that no event refers
// to. Node 0 sweeps originals, while node 1 receives an upload of the same bytes.
type keepers struct {
	*testing.T
	gates  [2]originals.Gate
	stores [2]originals.Store
	again  originals.Staged
}

// newKeepers stores an original through node 0, and stages an upload of the same bytes
// at node 1.
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

// commitBeside lets node 1 commit its upload. It returns when the upload is committed,
// or after 200 ms, while node 1 waits for the commit gate. wait waits until the upload
// is committed.
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

// sweep lets node 0 sweep originals in s. It must delete the only original, to which no
// event refers.
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

// judged is a store that calls first before a sweep checks the age of an original.
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
		if r.Method == http.MethodDelete { // the sweep has already checked the age of the original
			wait = k.commitBeside()
		}
		next.ServeHTTP(w, r)
	})
	k.sweep(k.stores[0])
	wait()
	k.wantKept()
}

// If node 1 writes its upload so slowly that a sweep checks the age of the old original
// but deletes the new one, node 1 must write the original again.
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
