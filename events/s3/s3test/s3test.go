// Package s3test provides S3 buckets for tests, on a server in the test process or on
// the server that ANNALS_TEST_S3 names.
package s3test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"annals/events/s3"

	"github.com/google/uuid"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Variable is the environment variable with the bucket of a real server, as
// s3://bucket/prefix?endpoint=…. URL creates prefixes below it. The credentials are in
// the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
const Variable = "ANNALS_TEST_S3"

// credentials sets credentials for the whole process if there are none, because parallel
// tests cannot set environment variables. The server in the test process accepts any
// credentials.
var credentials = sync.OnceFunc(func() {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, "test")
		}
	}
})

// URL returns the URL of an empty prefix in a bucket. All objects with this prefix are
// deleted when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	text := os.Getenv(Variable)
	if text == "" {
		return New(t).URL
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + uuid.NewString()
	t.Cleanup(func() { clear(t, u.String()) })
	return u.String()
}

func clear(t testing.TB, url string) {
	ctx := context.WithoutCancel(t.Context()) // the test context has ended
	b, err := s3.Open(ctx, url)
	if err != nil {
		return // the test has reported why
	}
	for o, err := range b.List(ctx, "", true) {
		if err == nil {
			err = b.Remove(ctx, o.Name)
		}
		if err != nil {
			t.Errorf("clear %s: %v", b, err)
			return
		}
	}
}

// Open opens the bucket that a URL names.
func Open(t testing.TB, url string) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(t.Context(), url)
	if err != nil {
		t.Fatalf("s3.Open: %v", err)
	}
	return b
}

// Server is an S3 server in this process. It checks the MD5 of uploads and the
// conditions of requests, but not signatures.
type Server struct {
	URL string // URL of an empty prefix in a bucket

	mu      sync.RWMutex
	handler func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

// New starts a server, which is stopped when the test ends.
func New(t testing.TB) *Server {
	t.Helper()
	credentials()
	backend := s3mem.New()
	if err := backend.CreateBucket("annals-test"); err != nil {
		t.Fatal(err)
	}
	next := gofakes3.New(backend).Server()
	s := new(Server)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.RLock()
		handler := s.handler
		s.mu.RUnlock()
		if handler == nil {
			next.ServeHTTP(w, r)
			return
		}
		handler(w, r, next)
	}))
	t.Cleanup(web.Close)
	s.URL = "s3://annals-test/some/prefix?region=us-east-1&endpoint=" + url.QueryEscape(web.URL)
	return s
}

// Intercept sets a handler for all requests, which may call next; nil removes it.
func (s *Server) Intercept(handler func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}
