package http_test

import (
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/commands"
	httpd "annals/http"
)

// Observe is called with the route and status of every request, even after a panic.
func TestEveryRequestIsObserved(t *testing.T) {
	var got []httpd.Answered
	begin := func(http.ResponseWriter) {}
	s := start(t, func(h *httpd.Server) {
		h.Origins = []string{"*"}
		h.Observe = func(a httpd.Answered) { got = append(got, a) }
		h.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { begin(w) })
	})
	s.server.Queries = struct{ httpd.Queries }{} // its methods are nil
	search := func(h http.Header) { h.Set("Authorization", "Bearer alice"); h.Set("Content-Type", "application/json") }
	for _, test := range []struct {
		method, path string
		begin        func(http.ResponseWriter)
		header       func(http.Header)
		want         httpd.Answered
	}{
		{method: "GET", path: "/healthz", want: httpd.Answered{Route: "/healthz", Method: "GET", Status: 200}},
		{method: "HEAD", path: "/vault/documents/x", want: httpd.Answered{Route: "/vault/documents/{id}", Method: "HEAD", Status: 401}},
		{method: "GET", path: "/vault/documents/0b8d5a3e-3ad5-4f57-9d0e-3f1b8c0a6c11.pdf", want: httpd.Answered{Route: "/vault/documents/{id}.{ext}", Method: "GET", Status: 401}},
		{method: "GET", path: "/vault/documents/a/b/c/d", want: httpd.Answered{Route: "none", Method: "GET", Status: 404}},
		{method: "PUT", path: "/vault/documents/a", want: httpd.Answered{Route: "none", Method: "PUT", Status: 405}},
		{method: "BREW", path: "/core/search", want: httpd.Answered{Route: "none", Method: "other", Status: 405}},
		{"OPTIONS", "/core/search", nil, func(h http.Header) {
			h.Set("Origin", "http://a.example")
			h.Set("Access-Control-Request-Method", "POST")
		}, httpd.Answered{Route: "none", Method: "OPTIONS", Status: 204}},
		{"POST", "/core/search", nil, search, httpd.Answered{Route: "/core/search", Method: "POST", Status: 500}},
		{"GET", "/metrics", func(http.ResponseWriter) {}, nil, httpd.Answered{Route: "/metrics", Method: "GET", Status: 200}},
		{"GET", "/metrics", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, nil, httpd.Answered{Route: "/metrics", Method: "GET"}},
	} {
		begin, got = test.begin, nil
		r := httptest.NewRequest(test.method, test.path, strings.NewReader(`{"query":"a"}`))
		if test.header != nil {
			test.header(r.Header)
		}
		func() {
			defer func() { _ = recover() }() // as net/http does
			s.server.Handler().ServeHTTP(httptest.NewRecorder(), r)
		}()
		if len(got) != 1 || got[0].Took <= 0 {
			t.Fatalf("%s %s: Observe received %+v, want one request", test.method, test.path, got)
		}
		if got[0].Took = 0; got[0] != test.want {
			t.Errorf("%s %s: Observe received %+v, want %+v", test.method, test.path, got[0], test.want)
		}
	}
}

// The request id is in every event and in every log line of a command that the request causes.
func TestRequestIDIsPropagated(t *testing.T) {
	log := new(safeBuffer)
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := startStack(t, func(h *httpd.Server) {
		h.Logger = logger
		h.Commands.(*commands.Handler).Logger = logger
	})
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"Staff"}]`)
		addFile(w, "handbook.md", handbook)
	}, "X-Request-Id", "trace-8")
	if resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") != "trace-8" {
		t.Fatalf("import = %d %s, request %q", resp.StatusCode, body, resp.Header.Get("X-Request-Id"))
	}
	s.finish(decode[jobReply](t, body).JobID)
	types := map[string]bool{}
	for _, e := range s.events() {
		types[e.Type] = true
		if e.Metadata.Correlation != "trace-8" {
			t.Errorf("%s has the correlation id %q", e.Type, e.Metadata.Correlation)
		}
	}
	for _, want := range []string{"ImportRequested", "FolderCreated", "SectionExtracted", "DocumentImported", "FileImported", "JobFinished"} {
		if !types[want] {
			t.Errorf("no %s among %v", want, slices.Sorted(maps.Keys(types)))
		}
	}
	commands := 0
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "msg=command") {
			commands++
			if !strings.Contains(line, "correlation_id=trace-8") {
				t.Errorf("log line without the request id: %s", line)
			}
		}
	}
	if commands < 3 {
		t.Errorf("%d commands in the log:\n%s", commands, log)
	}
}

// safeBuffer is a buffer that several goroutines may use.
type safeBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
