package http_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/events"
	httpd "annals/http"
	"annals/queries/search"
)

// When a server stops, it finishes requests in flight, ends progress streams with an event,
// and accepts no new requests.
func TestServeStopsGracefully(t *testing.T) {
	s := start(t, nil)
	s.library.follow = quiet
	slow := make(chan struct{})
	asked := make(chan struct{})
	s.server.Queries = &slowAsk{s.library, asked, slow}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, l) }()

	_, lines := s.stream(t.Context())
	s.wantEvent(lines, first)
	reply := make(chan string, 1)
	go func() {
		r, _ := http.NewRequest("POST", s.url+"/core/ask", strings.NewReader(`{"query":"a"}`))
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			reply <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		reply <- fmt.Sprint(resp.StatusCode, " ", string(b))
	}()
	<-asked
	stop()
	s.wantEvent(lines, `{"event_type":"error","error":"stream_stalled","message":"the server is stopping; the import goes on when it is back"}`)
	if line, more := <-lines; more {
		t.Errorf("the stream goes on with %q", line)
	}
	select {
	case err := <-served:
		t.Fatalf("Serve returned %v while a request was in flight", err)
	default:
	}
	close(slow)
	if got := <-reply; !strings.HasPrefix(got, `200 {"answer":"late"`) {
		t.Errorf("request in flight: %s", got)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}

// During Linger a stopping server still handles requests, but reports not ready.
func TestServeLingers(t *testing.T) {
	s := start(t, func(h *httpd.Server) { h.Linger = 2 * time.Second })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *http.Response {
		t.Helper()
		resp, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, l) }()
	if resp := get("/readyz"); resp.StatusCode != http.StatusOK || resp.Close {
		t.Errorf("readyz of a running server = %d, closes %v", resp.StatusCode, resp.Close)
	}
	stop()
	for get("/readyz").StatusCode == http.StatusOK { // until Serve lingers
	}
	if resp := get("/healthz"); resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("another request while the server lingers = %d, closes %v", resp.StatusCode, resp.Close)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

type slowAsk struct {
	*library
	asked chan struct{}
	slow  chan struct{}
}

func (s *slowAsk) Ask(context.Context, events.User, search.Question) (search.Answer, error) {
	close(s.asked)
	<-s.slow
	return search.Answer{Text: "late"}, nil
}

// When a server stops, a request that takes longer than Drain is cut off.
func TestServeEndsSlowRequests(t *testing.T) {
	s := start(t, func(h *httpd.Server) { h.Drain = 10 * time.Millisecond })
	asked, slow := make(chan struct{}), make(chan struct{})
	defer close(slow)
	s.server.Queries = &slowAsk{s.library, asked, slow}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, l) }()
	failed := make(chan error, 1)
	go func() {
		r, _ := http.NewRequest("POST", "http://"+l.Addr().String()+"/core/ask", strings.NewReader(`{"query":"a"}`))
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		_, err := http.DefaultClient.Do(r)
		failed <- err
	}()
	<-asked
	stop()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the request got a reply")
	}
}

// The server disconnects a client that stops sending its request for longer than Silence, but
// not a client that waits for the events of a progress stream.
func TestSilence(t *testing.T) {
	s := start(t, func(h *httpd.Server) {
		h.Silence, h.Stall, h.KeepAlive = 50*time.Millisecond, 300*time.Millisecond, 20*time.Millisecond
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /core/ingest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000\r\n\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.md\"\r\n\r\n# A")
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no reply to half an upload: %v", err)
	}
	if resp.StatusCode != 400 {
		t.Errorf("half an upload = %d, want 400", resp.StatusCode)
	}
	if staged, committed := s.stored(); staged+committed != 0 {
		t.Errorf("%d staged and %d committed files are left", staged, committed)
	}
	s.library.follow = quiet
	_, lines := s.stream(t.Context())
	last := ""
	for line := range lines {
		last = line
	}
	if !strings.Contains(last, "stream_stalled") {
		t.Errorf("the stream ended early, with %s", last)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	s := start(t, nil)
	for _, test := range []struct {
		method, path string
		status       int
		allow, body  string
	}{
		{"GET", "/core/nothing", 404, "", `{"detail":"Not Found"}`},
		{"GET", "/core", 404, "", `{"detail":"Not Found"}`},
		{"GET", "/", 404, "", `{"detail":"Not Found"}`},
		{"POST", "//core//search", 404, "", `{"detail":"Not Found"}`},
		{"GET", "/core/search", 405, "POST", `{"detail":"Method Not Allowed"}`},
		{"DELETE", "/core/folders/summary", 405, "GET", `{"detail":"Method Not Allowed"}`},
		{"PUT", "/vault/folders", 405, "GET, HEAD, POST", `{"statusCode":405,"message":"Method Not Allowed","error":"Method Not Allowed"}`},
		{"PUT", "/vault/documents/batch", 405, "POST", `{"statusCode":405,"message":"Method Not Allowed","error":"Method Not Allowed"}`},
		{"GET", "/vault/documents/a/b/c", 404, "", notFound},
		{"POST", "/healthz", 405, "GET, HEAD", `{"detail":"Method Not Allowed"}`},
	} {
		resp, body := s.do(test.method, test.path, "{}")
		s.want(resp, body, test.status, test.body)
		if got := resp.Header.Get("Allow"); got != test.allow {
			t.Errorf("%s %s: Allow %q, want %q", test.method, test.path, got, test.allow)
		}
	}
}

func TestSystem(t *testing.T) {
	s := start(t, func(h *httpd.Server) {
		h.SignIn = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "issuer "+r.URL.Path) })
		h.SignInDocuments = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "document "+r.URL.Path) })
	})
	for path, want := range map[string]string{
		"/healthz":        `{"status":"ok"}`,
		"/readyz":         `{"status":"ready","scans_unread":""}`,
		"/signin/jwks":    "issuer /signin/jwks",
		"/signin/a/../b?": "issuer /signin/a/../b",
		"/signin":         "issuer /signin",
		"/signin/":        "issuer /signin/",

		"/.well-known/oauth-protected-resource/mcp": "document /.well-known/oauth-protected-resource/mcp",
	} {
		resp, body := s.do("GET", path, "", "Authorization", "")
		s.want(resp, body, 200, want)
	}
	s.server.Unrecognised = "install Tesseract"
	resp, body := s.do("GET", "/readyz", "", "Authorization", "")
	s.want(resp, body, 200, `{"status":"ready","scans_unread":"install Tesseract"}`)
	if _, body := s.do("GET", "/version", "", "Authorization", ""); !strings.Contains(body, `"version":"test"`) {
		t.Errorf("version %s", body)
	}
	for _, name := range []string{"core", "vault"} {
		if resp, body := s.do("GET", "/"+name+"/openapi.yaml", "", "Authorization", ""); resp.StatusCode != 200 || !strings.Contains(body, "title: Annals "+name) {
			t.Errorf("document of the %s = %d %.80s", name, resp.StatusCode, body)
		}
	}
}

// If the URL of the core, the vault, the agent tools or the sign-in has a host that no other
// URL has, its routes are served only at that host. Other URLs may then have the same paths.
func TestHosts(t *testing.T) {
	s := start(t, func(h *httpd.Server) {
		h.CoreURL, h.VaultURL = mustURL(t, "https://core.example"), mustURL(t, "http://vault.example:9000/")
		h.IssuerURL, h.MCPURL = mustURL(t, "https://id.example/"), mustURL(t, "https://mcp.example/")
		h.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "tools") })
		h.SignIn = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "issuer") })
	})
	for _, test := range []struct {
		host, path string
		status     int
		body       string
	}{
		{"core.example", "/tags", 404, `{"detail":"Not Found"}`},
		{"core.example:443", "/folders/summary", 422, `{"detail":[{"type":"missing","loc":["query","folder_name"],"msg":"Field required","input":null}]}`},
		{"VAULT.example:9000", "/tags", 200, `{"tags":[]}`},
		{"vault.example:9000", "/folders/summary", 404, notFound},
		{"vault.example", "/tags", 404, `{"detail":"Not Found"}`},
		{"id.example", "/jwks", 200, "issuer"},
		{"id.example", "/healthz", 200, `{"status":"ok"}`},
		{"mcp.example", "/", 200, "tools"},
		{"mcp.example", "/tags", 404, `{"detail":"Not Found"}`},
		{"127.0.0.1", "/", 404, `{"detail":"Not Found"}`},
		{"127.0.0.1", "/healthz", 200, `{"status":"ok"}`},
		{"127.0.0.1", "/tags", 404, `{"detail":"Not Found"}`},
	} {
		r, _ := http.NewRequest("GET", s.url+test.path, nil)
		r.Host = test.host
		r.Header.Set("Authorization", "Bearer alice")
		resp, body := s.send(r)
		if resp.StatusCode != test.status || !sameJSON(body, test.body) {
			t.Errorf("%s%s = %d %s, want %d %s", test.host, test.path, resp.StatusCode, body, test.status, test.body)
		}
	}
}

func TestOrigins(t *testing.T) {
	s := start(t, func(h *httpd.Server) { h.Origins = []string{"https://app.example"} })
	resp, body := s.do("OPTIONS", "/core/ingest", "", "Authorization", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || resp.Header.Get("Access-Control-Allow-Methods") != "GET, HEAD, POST, PUT, PATCH, DELETE" ||
		resp.Header.Get("Access-Control-Allow-Headers") != "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-Id, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id, Range, X-Request-Id" {
		t.Errorf("preflight = %d %s %v", resp.StatusCode, body, resp.Header)
	}
	resp, _ = s.do("GET", "/vault/tags", "", "Origin", "https://app.example")
	exposed := resp.Header.Get("Access-Control-Expose-Headers")
	if resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(exposed, "ETag, Link, Location") {
		t.Errorf("call = %d %v", resp.StatusCode, resp.Header)
	}
	resp, _ = s.do("GET", "/vault/tags", "", "Origin", "https://other.example")
	if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("Access-Control-Allow-Origin for another origin = %q, want none", got)
	}
}

// If a handler panics, the panic is logged, and the client receives 500 in the JSON format of
// the service that it called.
func TestPanic(t *testing.T) {
	var logged bytes.Buffer
	s := start(t, func(h *httpd.Server) { h.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	s.server.Queries = struct{ httpd.Queries }{} // its methods are nil
	resp, body := s.do("GET", "/vault/tags", "")
	s.want(resp, body, 500, `{"statusCode":500,"message":"Internal Server Error","error":"Internal Server Error"}`)
	resp, body = s.do("POST", "/core/search", `{"query":"a"}`)
	s.want(resp, body, 500, `{"detail":"Internal Server Error"}`)
	if !strings.Contains(logged.String(), "request panicked") {
		t.Errorf("log %s", logged.String())
	}
}

func TestRequestIDs(t *testing.T) {
	s := start(t, nil)
	for given, kept := range map[string]bool{"": false, "abc-1": true, "a b": false, strings.Repeat("x", 129): false, "é": false} {
		resp, _ := s.do("GET", "/healthz", "", "X-Request-Id", given)
		if got := resp.Header.Get("X-Request-Id"); got == "" || (got == given) != kept {
			t.Errorf("request id %q becomes %q", given, got)
		}
	}
}

// A client that sends its whole upload before it reads receives the refusal of that upload.
func TestRefusedUploadIsDrained(t *testing.T) {
	s := start(t, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 8 << 20
	fmt.Fprintf(conn, "POST /core/ingest HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n", size)
	if _, err := conn.Write(bytes.Repeat([]byte("x"), size)); err != nil {
		t.Fatalf("the server did not take the body: %v", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 401 {
		t.Errorf("%d, want 401", resp.StatusCode)
	}
}

// A connection that was idle for longer than Silence can still be used, even by a client that
// sends its body only after "100 Continue".
func TestIdleConnection(t *testing.T) {
	const silence = 30 * time.Millisecond
	s := start(t, func(h *httpd.Server) { h.Silence = silence })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	io.Copy(io.Discard, resp.Body)
	<-time.After(2 * silence) // idle
	body, contentType := form(func(w *multipart.Writer) { addFile(w, "a.md", "# A") })
	fmt.Fprintf(conn, "POST /core/ingest HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", contentType, len(body))
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("reply %q, %v, want 100 Continue", line, err)
	}
	in.ReadString('\n')
	io.WriteString(conn, body)
	if resp, err = http.ReadResponse(in, nil); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
}

// The URL of the core, the vault or the sign-in may be below the URL of another, but two URLs
// must not be equal.
func TestNestedURLs(t *testing.T) {
	s := start(t, func(h *httpd.Server) {
		h.CoreURL, h.VaultURL, h.IssuerURL = mustURL(t, "http://x.example/"), mustURL(t, "http://x.example/files"), mustURL(t, "http://x.example/files/id")
		h.MCPURL = mustURL(t, "http://x.example/files/mcp")
		h.MCP = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "tools") })
		h.SignIn = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "issuer") })
	})
	for path, want := range map[string]string{
		"/files/tags":    `200 {"tags":[]}`,
		"/files/id/jwks": `200 issuer`,
		"/files/mcp":     `200 tools`,
		"/files/mcp/":    `200 tools`,
		"/files/mcp/x":   `404 {"detail":"Not Found"}`,
		"/tags":          `404 {"detail":"Not Found"}`,
		"/healthz":       `200 {"status":"ok"}`,
		"/jobs/x":        `404 {"detail":"there is no job x"}`,
		"/documents/00000000-0000-0000-0000-000000000000.pdf": `404 ` + notFound,
	} {
		resp, body := s.do("GET", path, "")
		s.want(resp, body, resp.StatusCode, want[4:])
		if fmt.Sprint(resp.StatusCode) != want[:3] {
			t.Errorf("%s = %d, want %s", path, resp.StatusCode, want)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	same := &httpd.Server{CoreURL: mustURL(t, "http://x.example/a"), VaultURL: mustURL(t, "http://X.example/a/")}
	if err := same.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "more than one") {
		t.Errorf("Serve with one URL for two = %v", err)
	}
}

func TestServeReportsErrors(t *testing.T) {
	s := start(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := s.server.Serve(t.Context(), l); err == nil || !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve on a closed listener = %v", err)
	}
}
