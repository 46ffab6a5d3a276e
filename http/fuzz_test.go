package http_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
	"annals/queries"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// Every body of POST /vault/documents/batch either has 1 to 100 ids or is refused.
func FuzzBatch(f *testing.F) {
	for _, s := range []string{`{"ids":["00000000-0000-0000-0000-000000000000"]}`, `{"ids":[]}`, `{"ids":[1,null]}`, `[]`, ``, "\xff"} {
		f.Add([]byte(s))
	}
	var batch batches
	s := &httpd.Server{
		Verify: func(context.Context, string) (events.User, time.Time, error) {
			return events.User{Principal: "user:alice"}, time.Time{}, nil
		},
		Queries: &batch, Logger: slog.New(slog.DiscardHandler),
	}
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, text []byte) {
		batch.requested = nil
		r := httptest.NewRequest("POST", "/vault/documents/batch", bytes.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer x")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if n := len(batch.requested); (w.Code != 200 || n == 0 || n > 100) && (w.Code != 422 || n > 0) {
			t.Fatalf("POST batch %q requests %d documents: %d %s", text, n, w.Code, w.Body)
		}
	})
}

// batches records the ids of the requested documents.
type batches struct {
	httpd.Queries
	requested []uuid.UUID
}

func (b *batches) DocumentBatch(_ context.Context, _ events.User, ids []uuid.UUID) ([]vault.Document, error) {
	b.requested = ids
	return nil, nil
}

// No method, path or host causes an internal error or a redirect. A reply with 405 lists other
// methods in Allow.
func FuzzRoutes(f *testing.F) {
	for _, path := range []string{"/vault/documents/batch", "/vault/documents/0b8d5a3e-3ad5-4f57-9d0e-3f1b8c0a6c11.md", "/core/search/", "//core//search", "/vault/../core/jobs/x", "/vault/documents/%2e%2e/x", "/documents/.a",
		"/vault/documents/x\ny", "/vault/folders/{id}", "/vault/documents/a.b.c", "*", "", "/vault/documents/\x00/content", strings.Repeat("/vault", 2000), "/mcp/", "/signin"} {
		for _, method := range []string{"GET", "PATCH", "OPTIONS", "BREW"} {
			f.Add(method, path, "annals.test")
		}
	}
	s := &httpd.Server{
		Verify: func(context.Context, string) (events.User, time.Time, error) {
			return events.User{}, time.Time{}, fault.Errorf(fault.Unauthenticated, "nobody")
		},
		MCP: http.NotFoundHandler(), SignIn: http.NotFoundHandler(), SignInDocuments: http.NotFoundHandler(), Metrics: http.NotFoundHandler(),
		Queries: unready{}, Logger: slog.New(slog.DiscardHandler), CoreURL: &url.URL{Scheme: "https", Host: "core.test"},
	}
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, method, path, host string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, &http.Request{Method: method, URL: &url.URL{Path: path}, Host: host, Header: http.Header{"Authorization": {"Bearer x"}}, Body: http.NoBody, RemoteAddr: "192.0.2.1:1"})
		allow := w.Header().Values("Allow")
		switch {
		case w.Code >= 500 && w.Code != http.StatusServiceUnavailable:
			t.Fatalf("%q %q at %q = %d %s", method, path, host, w.Code, w.Body)
		case (w.Code == http.StatusMethodNotAllowed) != (len(allow) == 1):
			t.Fatalf("%q %q at %q = %d with Allow %q", method, path, host, w.Code, allow)
		case len(allow) == 1 && slices.Contains(strings.Split(allow[0], ", "), method):
			t.Fatalf("%q %q at %q = 405, but Allow has it: %q", method, path, host, allow)
		case w.Header().Get("Location") != "":
			t.Fatalf("%q %q at %q is redirected to %q", method, path, host, w.Header().Get("Location"))
		}
	})
}

// unready returns an error from Ready, and panics in every other query.
type unready struct{ httpd.Queries }

func (unready) Ready(context.Context) error                     { return fault.Errorf(fault.Unavailable, "not ready") }
func (unready) Status(context.Context) ([]queries.Model, error) { return nil, nil }
