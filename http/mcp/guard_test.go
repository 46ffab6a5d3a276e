package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
	"annals/http/mcp"
	"annals/queries/search"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	health     = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"service_health"}}`
	alice      = "Bearer alice"
)

// A request without a valid token receives only the URL of the resource metadata, with which
// clients find the sign-in.
func TestUnauthorizedNamesMetadata(t *testing.T) {
	s := start(t)
	metadata := `resource_metadata="` + strings.Replace(s.url, "/mcp", "/.well-known/oauth-protected-resource/mcp", 1) + `"`
	for header, want := range map[string]string{
		"":               "Bearer " + metadata,
		"Bearer mallory": `Bearer error="invalid_token", error_description="the token is not valid here, or has expired", ` + metadata,
		"Bearer":         "Bearer " + metadata,
		"Basic YTpi":     "Bearer " + metadata,
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			resp, body := s.send(method, initialize, "Authorization", header)
			if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 || got != want || !json.Valid([]byte(body)) || resp.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%s with %q = %d, WWW-Authenticate %q, %s; want %q", method, header, resp.StatusCode, got, body, want)
			}
		}
	}
	resp, body := s.send("POST", initialize, "Authorization", "Bearer outage")
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || strings.Contains(body, "issuer") {
		t.Errorf("while the issuer is down = %d %s", resp.StatusCode, body)
	}
}

// A session id can only be used with a token of the same user. It remains usable on other
// nodes and after a restart.
func TestSessionsAreBoundToTheirUser(t *testing.T) {
	s, other := start(t), start(t)
	resp, body := s.send("POST", initialize, "Authorization", alice)
	session := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != 200 || session == "" {
		t.Fatalf("initialize = %d %s, session %q", resp.StatusCode, body, session)
	}
	for _, node := range []*service{s, other} {
		resp, body = node.send("POST", health, "Authorization", alice, "Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-11-25")
		if resp.StatusCode != 200 || !strings.Contains(body, "service answers") {
			t.Errorf("alice's own session = %d %s", resp.StatusCode, body)
		}
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		for _, id := range []string{session, "x", "x.y", session + "x", "." + strings.SplitN(session, ".", 2)[1]} {
			if resp, body = s.send(method, health, "Authorization", "Bearer bob", "Mcp-Session-Id", id); resp.StatusCode != 404 || strings.Contains(body, "alice") {
				t.Errorf("%s by bob with session %q = %d %s", method, id, resp.StatusCode, body)
			}
		}
	}
	if resp, body = s.send("POST", health, "Authorization", "Bearer mallory", "Mcp-Session-Id", session); resp.StatusCode != 401 {
		t.Errorf("without a valid token = %d %s", resp.StatusCode, body)
	}
}

// After the token has expired, requests with the session id are refused too.
func TestSessionsEndWithTheirToken(t *testing.T) {
	expired := false
	s := start(t, func(o *mcp.Options) {
		o.Verify = func(ctx context.Context, token string) (events.User, time.Time, error) {
			if expired {
				return verify(ctx, "expired")
			}
			return verify(ctx, token)
		}
	})
	resp, _ := s.send("POST", initialize, "Authorization", alice)
	session := resp.Header.Get("Mcp-Session-Id")
	expired = true
	if resp, body := s.send("POST", health, "Authorization", alice, "Mcp-Session-Id", session); resp.StatusCode != 401 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// Requests from web pages of other origins and by DNS rebinding are refused.
func TestForeignPagesAreRefused(t *testing.T) {
	s := start(t, func(o *mcp.Options) { o.Origins = []string{"https://app.example"} })
	own := strings.TrimSuffix(s.url, "/mcp")
	for _, c := range []struct {
		header, value string
		want          int
	}{
		{"Origin", own, 200}, {"Origin", "https://app.example", 200}, {"Host", "localhost:8080", 200}, {"Host", "[::1]", 200},
		{"Origin", "https://evil.example", 403}, {"Origin", "null", 403}, {"Origin", strings.Replace(own, "http", "https", 1), 403}, {"Origin", "%", 403},
		{"Host", "evil.example", 403}, {"Host", "localhost.evil.example", 403}, {"Host", "127.0.0.1.evil.example:80", 403},
	} {
		resp, body := s.send("POST", health, "Authorization", alice, c.header, c.value)
		if resp.StatusCode != c.want {
			t.Errorf("%s %s = %d %s, want %d", c.header, c.value, resp.StatusCode, body, c.want)
		}
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	s := start(t, func(o *mcp.Options) { o.Limits = httpd.Limits{JSONBytes: 2000} })
	for body, want := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`: 400, `{"jsonrpc":"2.0","id":1,"method":"resources/read"}`: 400,
		"": 400, "{": 400, "null": 400, `"x"`: 400, `{"jsonrpc":"2.0","id":1,"method":"nope"}`: 400, "[]": 400,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_search","arguments":{"query":"` + strings.Repeat("x", 2000) + `"}}}`: 413,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`: 202,
	} {
		if resp, reply := s.send("POST", body, "Authorization", alice); resp.StatusCode != want {
			t.Errorf("%.50s = %d %s, want %d", body, resp.StatusCode, reply, want)
		}
	}
	for method, want := range map[string]int{"GET": 405, "DELETE": 405, "PUT": 405, "PATCH": 405} {
		if resp, body := s.send(method, "", "Authorization", alice); resp.StatusCode != want || resp.Header.Get("Allow") != "POST" {
			t.Errorf("%s = %d %s, want %d", method, resp.StatusCode, body, want)
		}
	}
}

// All versions of the protocol are supported. From the version without sessions on, no session
// id is sent.
func TestProtocolVersions(t *testing.T) {
	s := start(t)
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		resp, body := s.send("POST", strings.Replace(initialize, "2025-11-25", version, 1), "Authorization", alice)
		if resp.StatusCode != 200 || !strings.Contains(body, `"protocolVersion":"`+version+`"`) {
			t.Errorf("%s = %d %s", version, resp.StatusCode, body)
		}
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	newest := func(method, params string) (*http.Response, string) {
		return s.send("POST", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+meta+`}}`,
			"Authorization", alice, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", "service_health")
	}
	if resp, body := newest("tools/call", `"name":"service_health",`); resp.StatusCode != 200 || !strings.Contains(body, "service answers") || resp.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("tools/call = %d %s", resp.StatusCode, body)
	}
	if resp, body := newest("prompts/list", ""); resp.StatusCode != 404 || !strings.Contains(body, "-32601") {
		t.Errorf("prompts/list = %d %s", resp.StatusCode, body)
	}
	resp, body := s.send("POST", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"service://folders",`+meta+`}}`,
		"Authorization", alice, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "resources/read", "Mcp-Name", "service://folders")
	if resp.StatusCode != 200 || !strings.Contains(body, `"resultType":"complete"`) || !strings.Contains(body, `"cacheScope":"private"`) {
		t.Errorf("resources/read = %d %s", resp.StatusCode, body)
	}
	if resp, body := newest("server/discover", ""); resp.StatusCode != 200 || !strings.Contains(body, "2026-07-28") {
		t.Errorf("server/discover = %d %s", resp.StatusCode, body)
	}
	if resp, body := newest("subscriptions/listen", `"notifications":{"toolsListChanged":true,"resourcesListChanged":true},`); resp.StatusCode != 200 {
		t.Errorf("subscriptions/listen = %d %s", resp.StatusCode, body)
	}
}

// Events that a tool call causes contain the request id, and "tools" in the field via.
func TestEventsHaveRequestID(t *testing.T) {
	root, set := everything(t)
	s := start(t, set)
	id := s.file("alice", paper{"A", "a.md", "# A", nil})[0]
	path := write(t, root+"/b.md", "# B")
	before, err := s.log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for tool, in := range map[string]args{"ingest": {"file_paths": []string{path}}, "delete_documents": {"doc_ids": []string{id}}} {
		body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "service_" + tool, "arguments": in}})
		if resp, reply := s.send("POST", string(body), "Authorization", alice, "X-Request-Id", "trace-"+tool); resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") != "trace-"+tool {
			t.Errorf("%s = %d %s", tool, resp.StatusCode, reply)
		}
	}
	var got []string
	written, _, err := s.log.Read(t.Context(), before, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range written {
		if e.Metadata.Via == "tools" && e.Metadata.Actor == "user:alice" {
			got = append(got, e.Type+" "+e.Metadata.Correlation)
		}
	}
	slices.Sort(got)
	if want := []string{"DocumentDeleted trace-delete_documents", "FileAccepted trace-ingest", "ImportRequested trace-ingest"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

// broken replaces the queries by ones that panic or fail.
type broken struct{ mcp.Queries }

func (broken) SearchPage(context.Context, events.User, search.Query) ([]search.Source, string, error) {
	panic("out of luck")
}

func (broken) VisibleTags(context.Context, events.User) ([]string, error) {
	return nil, context.DeadlineExceeded
}

func (broken) Ready(context.Context) error {
	return fault.Errorf(fault.Unavailable, "the vault is behind")
}

func (broken) FolderPage(context.Context, events.User, string, int) ([]string, error) {
	return nil, &json.SyntaxError{}
}

// The reply to an internal error does not contain its cause. Later calls work.
func TestInternalErrorsAreHidden(t *testing.T) {
	s := start(t, func(o *mcp.Options) { o.Queries = broken{o.Queries} })
	a := s.connect("alice")
	if r, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: "service_search", Arguments: args{"query": "x"}}); err == nil || strings.Contains(err.Error(), "luck") {
		t.Errorf("search that panics = %+v, %v", r, err)
	}
	a.refused("list_folders", nil, "the service failed", "request id")
	a.refused("list_tags", nil, "call again")
	if text, err := a.read("service://folders"); err == nil || strings.Contains(err.Error(), "Syntax") {
		t.Errorf("a resource = %q, %v", text, err)
	}
	var health struct{ Status, Message string }
	if a.ok("health", nil, &health); health.Status != "unavailable" || !strings.Contains(health.Message, "the vault is behind") {
		t.Errorf("health %+v", health)
	}
}
