package s3_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"annals/events/fault"
	"annals/events/s3"
	"annals/events/s3/s3test"
)

func TestErrorKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		code   string
		want   fault.Kind
		text   string
	}{
		"denied":          {403, "AccessDenied", fault.Unavailable, "AWS_SECRET_ACCESS_KEY"},
		"a wrong key":     {403, "InvalidAccessKeyId", fault.Unavailable, "InvalidAccessKeyId"},
		"a key not found": {404, "InvalidAccessKeyId", fault.Unavailable, "AWS_ACCESS_KEY_ID"},
		"no bucket":       {404, "NoSuchBucket", fault.Unavailable, "does not exist: create it"},
		"overloaded":      {503, "SlowDown", fault.Unavailable, "does not respond"},
		"broken":          {500, "InternalError", fault.Unavailable, "does not respond"},
		"bad request":     {400, "InvalidArgument", fault.Internal, ""},
		"not implemented": {501, "NotImplemented", fault.Internal, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := s3test.New(t)
			b := s3test.Open(t, server.URL)
			put(t, b, "lamp", []byte("lamp"))
			server.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.WriteHeader(c.status)
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>injected</Message></Error>", c.code)
			})
			for call, err := range map[string]error{
				"Put":    b.Put(t.Context(), "lamp", strings.NewReader("x"), 1),
				"Load":   func() error { _, _, _, err := b.Load(t.Context(), "lamp", 100); return err }(),
				"Remove": b.Remove(t.Context(), "lamp"),
				"List": func() (err error) {
					for _, err = range b.List(t.Context(), "", true) {
					}
					return err
				}(),
			} {
				if !fault.Is(err, c.want) || !strings.Contains(fault.Detail(err), c.text) {
					t.Errorf("%s: got error %v, want kind %v and %q", call, fault.Detail(err), c.want, c.text)
				}
			}
		})
	}
}

func TestUnreachableServerIsUnavailable(t *testing.T) {
	t.Parallel()
	b := s3test.Open(t, s3test.New(t).URL)
	if _, err := b.Stat(t.Context(), "lamp"); !fault.Is(err, fault.NotFound) {
		t.Errorf("Stat of a missing object: got error %v, want kind NotFound", err)
	}
	missing := strings.Replace(s3test.New(t).URL, "annals-test", "another-bucket", 1)
	if _, err := s3.Open(t.Context(), missing); !fault.Is(err, fault.Unavailable) || !strings.Contains(fault.Detail(err), "another-bucket") {
		t.Errorf("Open of a missing bucket: got error %v, want kind Unavailable", err)
	}
	if _, err := s3.Open(t.Context(), "s3://bucket/p?region=x&endpoint="+url.QueryEscape("http://127.0.0.1:1")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Open without a server: got error %v, want kind Unavailable", err)
	}
}

// faults returns a handler for Server.Intercept that makes one request in three fail.
func faults(kind string) func(http.ResponseWriter, *http.Request, http.Handler) {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n.Add(1)%3 != 1 {
			next.ServeHTTP(w, r)
			return
		}
		switch kind {
		case "an early error":
			w.WriteHeader(http.StatusServiceUnavailable) // without reading the body
		case "a broken connection":
			panic(http.ErrAbortHandler)
		case "an incomplete reply":
			next.ServeHTTP(&truncating{w, 1 << 20}, r)
		}
	}
}

// truncating is a ResponseWriter that aborts the reply after a number of bytes.
type truncating struct {
	http.ResponseWriter
	left int
}

func (c *truncating) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

func TestTransientFaultsAreRetried(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"an early error", "a broken connection", "an incomplete reply"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := s3test.New(t)
			b := s3test.Open(t, server.URL)
			server.Intercept(faults(kind))
			content := bytes.Repeat([]byte("lamp and oil "), 1<<20)
			put(t, b, "large", content)
			if got, err := get(t, b, "large"); err != nil || !bytes.Equal(got, content) {
				t.Errorf("Open: got %d bytes (%v), want %d", len(got), err, len(content))
			}
		})
	}
}

func TestUploadSurvivesLostReply(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	b := s3test.Open(t, server.URL)
	lost := false
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && !lost {
			lost = true
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	content := bytes.Repeat([]byte("lamp and oil "), 1<<19)
	put(t, b, "large", content)
	if got, err := get(t, b, "large"); !lost || err != nil || !bytes.Equal(got, content) {
		t.Errorf("Open: got %d bytes (%v), want %d", len(got), err, len(content))
	}
}

func TestListRetriesFailedPages(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	b := s3test.Open(t, server.URL)
	var want []string
	for n := range 1100 { // two pages
		want = append(want, fmt.Sprintf("%04d", n))
		put(t, b, want[n], nil)
	}
	put(t, b, "0500x/in a folder", nil)
	pages := 0
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if pages++; pages == 2 {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
	var got []string
	for o, err := range b.List(t.Context(), "", false) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		got = append(got, o.Name)
	}
	if !slices.Equal(got, want) || pages < 3 {
		t.Errorf("List: got %d names in %d requests, want %d in more than two", len(got), pages, len(want))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range b.List(ctx, "", false) {
		if !fault.Is(err, fault.Canceled) {
			t.Errorf("List with a cancelled context: got error %v, want kind Canceled", err)
		}
	}
}

func TestIncompleteRepliesAreUnavailable(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	b := s3test.Open(t, server.URL)
	put(t, b, "lamp", []byte("lamp"))
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(&truncating{w, 0}, r) })
	if _, err := get(t, b, "lamp"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Read of incomplete replies: got error %v, want kind Unavailable", err)
	}
}

func TestCorruptUploadFails(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	b := s3test.Open(t, server.URL)
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("L"), io.LimitReader(skip(r.Body), r.ContentLength-1)))
		}
		next.ServeHTTP(w, r)
	})
	for _, size := range []int{4, 12 << 20} {
		content := bytes.Repeat([]byte("lamp"), size/4)
		if err := b.Put(t.Context(), "lamp", bytes.NewReader(content), int64(size)); err == nil {
			t.Errorf("Put of %d bytes that are changed on the way: got no error", size)
		}
	}
	server.Intercept(nil)
	if _, err := b.Stat(t.Context(), "lamp"); !fault.Is(err, fault.NotFound) {
		t.Errorf("Stat after failed uploads: got error %v, want kind NotFound", err)
	}
}

func skip(r io.Reader) io.Reader {
	_, _ = io.CopyN(io.Discard, r, 1)
	return r
}

func TestAbortUploads(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	b := s3test.Open(t, server.URL)
	aborted := false
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		switch {
		case r.URL.Query().Has("uploadId") && r.Method == http.MethodPut:
			w.WriteHeader(http.StatusForbidden)
		case r.Method == http.MethodDelete && !aborted:
			aborted = true // leave the upload incomplete, as a crash of the client would
			w.WriteHeader(http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
	if err := b.Put(t.Context(), "large", strings.NewReader(strings.Repeat("x", 8<<20)), 8<<20); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("Put with forbidden parts: got error %v, want kind Unavailable", err)
	}
	tries := 0
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodDelete {
			next.ServeHTTP(w, r)
			return
		}
		if tries++; tries == 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusForbidden)
	})
	if err := b.AbortUploads(t.Context(), time.Now().Add(time.Hour)); err != nil || tries != 2 {
		t.Errorf("AbortUploads without permission: got %v after %d requests, want no error after 2", err, tries)
	}
	deleted := 0
	server.Intercept(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodDelete {
			deleted++
		}
		next.ServeHTTP(w, r)
	})
	for _, c := range []struct {
		before time.Time
		want   int
	}{{time.Now().Add(-time.Hour), 0}, {time.Now().Add(time.Hour), 1}, {time.Now().Add(time.Hour), 1}} {
		if err := b.AbortUploads(t.Context(), c.before); err != nil || deleted != c.want {
			t.Errorf("AbortUploads before %v: got %v, %d aborted uploads, want %d", c.before, err, deleted, c.want)
		}
	}
}
