package http_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	httpd "annals/http"

	"github.com/google/uuid"
)

// undescribed are routes for people. They are not operations in the OpenAPI documents, because
// generated clients do not call them.
var undescribed = []string{"GET /core/openapi.yaml", "GET /vault/openapi.yaml", "GET /vault/documents/{id}.{ext}"}

// Every route below /core and /vault, except those in undescribed, is in an OpenAPI document,
// and every operation there has a route.
func TestRoutesAndDocumentsAgree(t *testing.T) {
	server := &httpd.Server{}
	server.Handler()
	routes := slices.DeleteFunc(routesOf(t, server), func(route string) bool {
		return !strings.Contains(route, " /core/") && !strings.Contains(route, " /vault/")
	})
	described := slices.Clone(undescribed)
	for _, name := range []string{"core", "vault"} {
		for path, item := range loadDocument(t, name).Paths.Map() {
			for method := range item.Operations() {
				described = append(described, method+" /"+name+path)
			}
		}
	}
	if len(routes) < 29 {
		t.Errorf("%d routes", len(routes))
	}
	for _, route := range without(routes, described) {
		t.Errorf("%s is not described: add it to schema/core.openapi.yaml or schema/vault.openapi.yaml", route)
	}
	for _, route := range without(described, routes) {
		t.Errorf("%s is described in schema/*.openapi.yaml and has no route", route)
	}
}

// Besides the routes below /core and /vault there are only routes for operators and deep
// links. GET /metrics exists only if Metrics is set.
func TestOtherRoutes(t *testing.T) {
	want := []string{"GET /documents/{id}.{ext}", "GET /healthz", "GET /readyz", "GET /version"}
	for _, server := range []*httpd.Server{{}, {Metrics: http.NotFoundHandler()}} {
		server.Handler()
		if server.Metrics != nil {
			want = slices.Insert(want, 2, "GET /metrics")
		}
		routes := slices.DeleteFunc(routesOf(t, server), func(route string) bool {
			return strings.Contains(route, " /core/") || strings.Contains(route, " /vault/")
		})
		if !slices.Equal(routes, want) {
			t.Errorf("routes %q, want %q", routes, want)
		}
	}
}

// Every endpoint checks the token before the rest of the request.
func TestEveryEndpointRequiresToken(t *testing.T) {
	s := start(t, nil)
	for _, name := range []string{"core", "vault"} {
		for path, item := range loadDocument(t, name).Paths.Map() {
			path = "/" + name + strings.NewReplacer("{ext}", "pdf", "{id}", "x", "{job_id}", "x", "{version}", "1", "{page}", "1").Replace(path)
			want := `{"detail":"Not authenticated"}`
			if name == "vault" {
				want = `{"error":"unauthenticated"}`
			}
			for method := range item.Operations() {
				for _, header := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic alice", "alice", "Bearer\talice", "Bearer alice bob"} {
					resp, body := s.do(method, path, "{not json", "Authorization", header)
					s.want(resp, body, 401, want)
					if got := resp.Header.Get("WWW-Authenticate"); got != "Bearer" {
						t.Errorf("%s %s: WWW-Authenticate %q", method, path, got)
					}
				}
				if resp, body := s.do(method, path, "", "Authorization", "Bearer outage"); resp.StatusCode != 503 {
					t.Errorf("%s %s while the issuer is unreachable = %d %s, want 503", method, path, resp.StatusCode, body)
				}
			}
		}
	}
}

// testdata/fastapi.json contains the replies of a FastAPI 0.165 server with pydantic 2.14 to
// the same requests. Only the errors for unknown fields differ.
func TestCoreRepliesLikeFastAPI(t *testing.T) {
	s := start(t, nil)
	var cases []struct {
		Path, Type, Body string
		Status           int
		Reply            json.RawMessage
	}
	if err := json.Unmarshal(readFile(t, "testdata/fastapi.json"), &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		resp, body := s.do("POST", "/core"+c.Path, c.Body, "Content-Type", c.Type)
		if resp.StatusCode != c.Status || !sameJSON(body, string(c.Reply)) {
			t.Errorf("%s %q %q = %d %s\nwant %d %s", c.Path, c.Type, c.Body, resp.StatusCode, body, c.Status, c.Reply)
		}
		if got := resp.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("content type %q", got)
		}
	}
}

func TestUnknownJob(t *testing.T) {
	s := start(t, nil)
	for _, id := range []string{"x", uuid.NewString(), "%2e%2e"} {
		resp, _ := s.do("GET", "/core/jobs/"+id, "")
		if resp.StatusCode != 404 {
			t.Errorf("job %s = %d, want 404", id, resp.StatusCode)
		}
	}
}
