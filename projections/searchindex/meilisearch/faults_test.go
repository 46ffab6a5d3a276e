package meilisearch_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections/searchindex"
	"annals/projections/searchindex/meilisearch"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// requestTimeout is long enough for all retries of a request that fails immediately.
const requestTimeout = 1500 * time.Millisecond

func stub(t *testing.T) (*meilisearchtest.Server, *meilisearch.Server) {
	t.Helper()
	server := meilisearchtest.New(t)
	s := open(t, server.URL("test-"))
	s.SetTimeouts(requestTimeout)
	return server, s
}

func batch(p events.Position, texts ...string) searchindex.Batch {
	b := searchindex.Batch{Position: p}
	for _, text := range texts {
		b.Put = append(b.Put, searchindex.Passage{ID: "d/" + text, Document: "d", Text: text})
	}
	return b
}

func apply(t *testing.T, x *meilisearch.Index, b searchindex.Batch) {
	t.Helper()
	if err := x.Apply(t.Context(), b); err != nil {
		t.Fatalf("Apply: %v", fault.Detail(err))
	}
}

// wantIndexed checks that an index is at a position and has exactly the passages with
// these texts.
func wantIndexed(t *testing.T, x *meilisearch.Index, p events.Position, texts ...string) {
	t.Helper()
	if got, err := x.Position(t.Context()); err != nil || got != p {
		t.Errorf("Position = %d, %v, want %d", got, err, p)
	}
	if got, err := x.Count(t.Context()); err != nil || got != uint64(len(texts)) {
		t.Errorf("Count = %d, %v, want %d", got, err, len(texts))
	}
	for _, text := range texts {
		hits, err := x.Search(t.Context(), searchindex.Query{Text: text, All: true})
		if err != nil || len(hits) != 1 || hits[0].ID != "d/"+text {
			t.Errorf("Search(%s) = %v, %v", text, hits, err)
		}
	}
}

func wantUnreachable(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("%s = %v, want an error of kind unavailable", what, err)
		return
	}
	if strings.Contains(fault.Detail(err), meilisearchtest.Key) {
		t.Errorf("the error of %s contains the key: %s", what, fault.Detail(err))
	}
}

// A change must fail while the network or the server fails, and succeed when it is
// repeated.
func TestFaultsLoseNothing(t *testing.T) {
	status := func(code int, body string) meilisearchtest.Fault {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, broken := range map[string]meilisearchtest.Fault{
		"a bad gateway":       status(http.StatusBadGateway, "<html>502</html>"),
		"an overloaded proxy": status(http.StatusServiceUnavailable, ""),
		"an HTML page":        status(http.StatusOK, "<html>welcome</html>"),
		"an empty object":     status(http.StatusOK, "{}"),
		"null":                status(http.StatusOK, "null"),
		"an endless reply": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, "/login", http.StatusFound)
		},
		"a dropped request":   func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { meilisearchtest.Drop(w) },
		"a dropped reply":     func(w http.ResponseWriter, r *http.Request, server http.Handler) { dropReply(w, r, server) },
		"a server that hangs": hang,
		"a full queue": func(w http.ResponseWriter, r *http.Request, server http.Handler) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/documents") {
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, `{"message":"the task queue is full","code":"no_space_left_on_device","type":"system"}`)
				return
			}
			server.ServeHTTP(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := stub(t)
			x := s.Index("passages-1")
			apply(t, x, batch(1, "lighthouse"))
			server.Break(broken)
			wantUnreachable(t, "Apply", x.Apply(t.Context(), batch(2, "meadow")))
			if name != "a full queue" {
				_, err := x.Search(t.Context(), searchindex.Query{Text: "lighthouse", All: true})
				wantUnreachable(t, "Search", err)
				_, err = x.Position(t.Context())
				wantUnreachable(t, "Position", err)
			}
			server.Answer()
			s.AwaitReachable()
			if name != "a dropped reply" { // after a dropped reply the change may have been made
				wantIndexed(t, x, 1, "lighthouse")
			}
			apply(t, x, batch(2, "meadow"))
			wantIndexed(t, x, 2, "lighthouse", "meadow")
		})
	}
}

// dropReply processes a request and drops the reply.
func dropReply(w http.ResponseWriter, r *http.Request, server http.Handler) {
	server.ServeHTTP(httptest.NewRecorder(), r)
	meilisearchtest.Drop(w)
}

func TestLostReplyIsRetried(t *testing.T) {
	server, s := stub(t)
	x := s.Index("passages-1")
	apply(t, x, batch(1, "lighthouse"))
	var lost atomic.Bool
	server.Break(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/documents") && lost.CompareAndSwap(false, true) {
			dropReply(w, r, server)
			return
		}
		server.ServeHTTP(w, r)
	})
	apply(t, x, batch(2, "meadow"))
	wantIndexed(t, x, 2, "lighthouse", "meadow")
	if !lost.Load() {
		t.Error("no reply was lost")
	}
}

func TestFailedTaskChangesNothing(t *testing.T) {
	for _, code := range []string{"internal", "no_space_left_on_device", ""} {
		server, s := stub(t)
		x := s.Index("passages-1")
		apply(t, x, batch(1, "lighthouse"))
		server.FailNext(code)
		err := x.Apply(t.Context(), batch(2, "meadow"))
		if err == nil || (code == "internal") != fault.Is(err, fault.Internal) {
			t.Errorf("Apply with a task that fails with the code %q = %v, want an error of kind internal only for the code internal", code, err)
		}
		wantIndexed(t, x, 1, "lighthouse")
		apply(t, x, batch(2, "meadow"))
		wantIndexed(t, x, 2, "lighthouse", "meadow")
	}
}

// While the server accepts tasks and does not run them, retries must not make the
// server's queue grow.
func TestPendingTaskIsAwaited(t *testing.T) {
	server, s := stub(t)
	x := s.Index("passages-1")
	apply(t, x, batch(1, "lighthouse"))
	s.SetTimeouts(100 * time.Millisecond)
	server.Hold()
	for range 3 {
		wantUnreachable(t, "Apply", x.Apply(t.Context(), batch(2, "meadow")))
	}
	if n := server.Queued(); n != 1 {
		t.Errorf("%d tasks are queued, want 1", n)
	}
	s.SetTimeouts(requestTimeout)
	server.Release()
	apply(t, x, batch(2, "meadow"))
	wantIndexed(t, x, 2, "lighthouse", "meadow")
}

func TestForgottenTaskIsSentAgain(t *testing.T) {
	server, s := stub(t)
	x := s.Index("passages-1")
	apply(t, x, batch(1, "lighthouse"))
	server.Break(func(w http.ResponseWriter, r *http.Request, h http.Handler) {
		server.Forget()
		h.ServeHTTP(w, r)
	})
	wantUnreachable(t, "Apply", x.Apply(t.Context(), batch(2, "meadow")))
	server.Answer()
	apply(t, x, batch(2, "meadow"))
	wantIndexed(t, x, 2, "lighthouse", "meadow")
}

// If one of several large tasks fails, Settle must fail and the position must not move.
func TestSettleFailsWithAnyTask(t *testing.T) {
	server, s := stub(t)
	x := s.Index("passages-1")
	s.SetTask(1000)
	filler := strings.Repeat("w ", 1000)
	fill := func() error {
		for _, text := range []string{"lighthouse", "meadow", "mill"} {
			b := batch(0, text)
			b.Put[0].Section = filler
			if err := errors.Join(x.Fill(t.Context(), b), x.Fill(t.Context(), batch(0, text+"2"))); err != nil {
				return err
			}
		}
		return x.Settle(t.Context(), 7)
	}
	server.FailNext("internal")
	if err := fill(); err == nil {
		t.Error("Settle succeeded although a task failed")
	}
	if p, err := x.Position(t.Context()); err != nil || p != 0 {
		t.Errorf("Position = %d, %v, want 0", p, err)
	}
	if err := fill(); err != nil {
		t.Fatal(err)
	}
	wantIndexed(t, x, 7, "lighthouse", "lighthouse2", "meadow", "meadow2", "mill", "mill2")
}

func TestMissingIndexIsCorrupt(t *testing.T) {
	for name, remove := range map[string]func(*meilisearchtest.Server, *meilisearch.Server) error{
		"removed": func(_ *meilisearchtest.Server, s *meilisearch.Server) error {
			return s.Remove(t.Context(), "passages-1")
		},
		"replaced": func(server *meilisearchtest.Server, _ *meilisearch.Server) error {
			server.Exchange("test-passages-1")
			return nil
		},
	} {
		server, s := stub(t)
		x := s.Index("passages-1")
		apply(t, x, batch(1, "lighthouse"))
		if err := remove(server, s); err != nil {
			t.Fatal(err)
		}
		_, errPosition := x.Position(t.Context())
		_, errSearch := x.Search(t.Context(), searchindex.Query{Text: "lighthouse", All: true})
		for what, err := range map[string]error{"Position": errPosition, "Search": errSearch, "Apply": x.Apply(t.Context(), batch(2, "meadow"))} {
			if !errors.Is(err, searchindex.ErrDamaged) {
				t.Errorf("%s of an index that was %s = %v, want %v", what, name, err, searchindex.ErrDamaged)
			}
		}
		if p, err := s.Index("passages-1").Position(t.Context()); err != nil || p != 0 {
			t.Errorf("Position of the index opened again = %d, %v, want 0", p, err)
		}
	}
}

func TestWrongKeyError(t *testing.T) {
	server, _ := stub(t)
	s := open(t, strings.Replace(server.URL("test-"), meilisearchtest.Key, "another-key", 1))
	x := s.Index("passages-1")
	_, errSearch := x.Search(t.Context(), searchindex.Query{Text: "lighthouse", All: true})
	for what, err := range map[string]error{"Search": errSearch, "Apply": x.Apply(t.Context(), batch(1, "meadow"))} {
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "key") || strings.Contains(fault.Detail(err), "another-key") {
			t.Errorf("%s with a wrong key = %v, want an error of kind unavailable about the key", what, err)
		}
	}
}

func TestOldServerError(t *testing.T) {
	server, s := stub(t)
	server.Break(func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, `{"pkgVersion":"1.3.2"}`)
			return
		}
		server.ServeHTTP(w, r)
	})
	if err := s.Index("passages-1").Apply(t.Context(), batch(1, "meadow")); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "1.3.2") {
		t.Errorf("Apply on an old server = %v, want an error of kind unavailable with its version", err)
	}
}

func TestDeletedPassagesAreSwept(t *testing.T) {
	server, s := stub(t)
	x := s.Index("passages-1")
	var all []string
	b := searchindex.Batch{Position: 1}
	for _, a := range "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz" {
		for i := range 50 {
			id := string(a) + strings.Repeat("x", i)
			all = append(all, id)
			b.Put = append(b.Put, searchindex.Passage{ID: id, Text: "lighthouse"})
		}
	}
	apply(t, x, b)
	apply(t, x, searchindex.Batch{Position: 2, Delete: all})
	if n, err := x.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("Count = %d, %v, want 0", n, err)
	}
	if n := server.Documents("test-passages-1"); n != 1 { // only the document with the position
		t.Errorf("the index holds %d documents, want 1", n)
	}
}

// A search must also work for a caller with grants on thousands of folders.
func TestSearchWithThousandsOfGrants(t *testing.T) {
	_, s := stub(t)
	s.SetTimeouts(time.Minute)
	x := s.Index("passages-1")
	b := batch(1, "lighthouse keeper", "keeper")
	b.Put[0].Folders = []string{"folder-4999"}
	apply(t, x, b)
	q := searchindex.Query{Text: "lighthouse keeper counts ships in fog", Granted: []string{}}
	for i := range 5000 {
		q.Granted = append(q.Granted, fmt.Sprintf("folder-%d", i))
	}
	if hits, err := x.Search(t.Context(), q); err != nil || len(hits) != 1 || hits[0].ID != "d/lighthouse keeper" {
		t.Errorf("Search = %v, %v", hits, err)
	}
}

// Apply must fail if the index is removed while Apply creates it.
func TestIndexRemovedDuringCreation(t *testing.T) {
	server, s := stub(t)
	x := s.Index("g")
	server.Break(func(w http.ResponseWriter, r *http.Request, stub http.Handler) {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/indexes/") && !strings.Contains(r.URL.Path, "/documents") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"message":"Index not found.","code":"index_not_found","type":"invalid_request"}`)
			return
		}
		stub.ServeHTTP(w, r)
	})
	if err := x.Apply(t.Context(), batch(1, "one")); err == nil {
		t.Error("Apply to a removed index returned no error")
	}
	server.Answer()
	apply(t, x, batch(1, "one"))
	wantIndexed(t, x, 1, "one")
}

// The reply that an index is missing may have been sent before the index was created. The
// index must then not be reported as lost.
func TestIndexBeingCreatedIsNotLost(t *testing.T) {
	server, s := stub(t)
	x := s.Index("a")
	var first atomic.Bool
	asked, made := make(chan struct{}), make(chan struct{})
	server.Break(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.HasSuffix(r.URL.Path, "/documents/fetch") || first.Swap(true) {
			next.ServeHTTP(w, r)
			return
		}
		before := httptest.NewRecorder()
		next.ServeHTTP(before, r)
		close(asked)
		<-made
		w.WriteHeader(before.Code)
		_, _ = w.Write(before.Body.Bytes())
	})
	counted := make(chan error, 1)
	go func() {
		n, err := x.Count(t.Context())
		if err == nil && n != 1 {
			err = fmt.Errorf("counted %d passages, want 1", n)
		}
		counted <- err
	}()
	<-asked
	apply(t, x, batch(1, "one"))
	close(made)
	if err := <-counted; err != nil {
		t.Errorf("Count: %v", fault.Detail(err))
	}
}
