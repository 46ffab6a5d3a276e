package meilisearch_test

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"annals/projections/searchindex"
	"annals/projections/searchindex/meilisearch/meilisearchtest"
)

// hang reads requests and never replies.
func hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// If the server hangs or is gone, the first searches must fail long before their own
// timeout. Later searches must not be sent until the server responds to a probe.
func TestBreakerOpensForUnreachableServer(t *testing.T) {
	for name, broken := range map[string]meilisearchtest.Fault{
		"hangs":    hang,
		"vanished": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { meilisearchtest.Drop(w) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, s := stub(t)
			s.SetTimeouts(10 * time.Minute)
			x := s.Index("passages-1")
			apply(t, x, batch(1, "lighthouse"))
			lighthouse := searchindex.Query{Text: "lighthouse", All: true}
			var searches atomic.Int64
			server.Break(func(w http.ResponseWriter, r *http.Request, h http.Handler) {
				if r.URL.Path == "/multi-search" {
					searches.Add(1)
				}
				broken(w, r, h)
			})
			ended := make(chan error)
			for range 3 {
				go func() {
					_, err := x.Search(t.Context(), lighthouse)
					ended <- err
				}()
			}
			for range 3 {
				wantUnreachable(t, "a search in progress", <-ended)
			}
			s.AwaitUnreachable()
			sent := searches.Load()
			for range 10 {
				_, err := x.Search(t.Context(), lighthouse)
				wantUnreachable(t, "a search on an unreachable server", err)
			}
			if n := searches.Load() - sent; n != 0 {
				t.Errorf("%d searches reached a server while the breaker was open", n)
			}
			wantUnreachable(t, "Unreachable", x.Unreachable())
			server.Answer()
			s.AwaitReachable()
			if err := x.Unreachable(); err != nil {
				t.Errorf("Unreachable of a server that responds again = %v, want nil", err)
			}
			wantIndexed(t, x, 1, "lighthouse")
			server.Break(broken) // Close must not wait for it
		})
	}
}

// One slow search does not open the breaker while the server responds to other requests.
func TestBreakerIgnoresSlowSearch(t *testing.T) {
	server, s := stub(t)
	s.SetTimeouts(10 * time.Minute)
	x := s.Index("passages-1")
	apply(t, x, batch(1, "lighthouse", "meadow"))
	proceed, probed := make(chan struct{}), make(chan struct{}, 1)
	server.Break(func(w http.ResponseWriter, r *http.Request, h http.Handler) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte("meadow")):
			<-proceed
		case r.URL.Path == "/version":
			select {
			case probed <- struct{}{}:
			default:
			}
		}
		h.ServeHTTP(w, r)
	})
	ended := make(chan error)
	go func() {
		_, err := x.Search(t.Context(), searchindex.Query{Text: "meadow", All: true})
		ended <- err
	}()
	<-probed
	s.AwaitReachable()
	if err := x.Unreachable(); err != nil {
		t.Errorf("Unreachable during a slow search = %v, want nil", err)
	}
	if hits, err := x.Search(t.Context(), searchindex.Query{Text: "lighthouse", All: true}); err != nil || len(hits) != 1 {
		t.Errorf("a search during a slow one = %v, %v, want one hit", hits, err)
	}
	close(proceed)
	if err := <-ended; err != nil {
		t.Errorf("the slow search = %v, want nil", err)
	}
}
