// Package s3test gives tests a bucket of S3: on a server in their own process,
// or on the one that ANNALS_TEST_S3 names.
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

// Variable is the environment variable that names a real server's bucket, as
// s3://bucket/prefix?endpoint=…, for URL to put tests below. The usual
// variables hold the credentials.
const Variable = "ANNALS_TEST_S3"

// credentials are set once, since parallel tests may not set them: the server
// in the process takes any.
var credentials = sync.OnceFunc(func() {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, "of-a-test")
		}
	}
})

// URL names a prefix of a bucket that is empty, and of which nothing is left
// when the test ends.
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
	ctx := context.WithoutCancel(t.Context()) // which has ended
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

// Server is a server in this process. It checks what MD5 an upload has, and
// conditions; signatures it does not.
type Server struct {
	URL string // of an empty prefix

	mu    sync.RWMutex
	first func(w http.ResponseWriter, r *http.Request, next http.Handler)
}

// New starts a server, which ends with the test.
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
		first := s.first
		s.mu.RUnlock()
		if first == nil {
			next.ServeHTTP(w, r)
			return
		}
		first(w, r, next)
	}))
	t.Cleanup(web.Close)
	s.URL = "s3://annals-test/some/prefix?region=us-east-1&endpoint=" + url.QueryEscape(web.URL)
	return s
}

// Intercept has first answer requests, by next if it likes to; nil ends it.
func (s *Server) Intercept(first func(w http.ResponseWriter, r *http.Request, next http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.first = first
}
