package http_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	httpd "annals/http"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// undescribed are routes for people, which no generated client calls: the text
// of the documents says where they are.
var undescribed = []string{"GET /core/openapi.yaml", "GET /vault/openapi.yaml", "GET /vault/documents/{id}.{ext}"}

// Every other route is described and every description has a route.
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

// Beside the services are what operators ask and the deep links, and nothing
// else; metrics only where there are some.
func TestRoutesBesideTheServices(t *testing.T) {
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

// Every endpoint wants a token, before anything else of the request is judged.
func TestEveryEndpointWantsAToken(t *testing.T) {
	s := start(t, nil)
	for _, name := range []string{"core", "vault"} {
		for path, item := range loadDocument(t, name).Paths.Map() {
			path = "/" + name + strings.NewReplacer("{ext}", "pdf", "{id}", "x", "{job_id}", "x", "{version}", "1").Replace(path)
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
					t.Errorf("%s %s without its issuer = %d %s, want 503", method, path, resp.StatusCode, body)
				}
			}
		}
	}
}

// testdata/fastapi.json is what a FastAPI 0.165 server with pydantic 2.14
// answered for the same models, but for what is said of unknown fields.
func TestCoreSpeaksLikeFastAPI(t *testing.T) {
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

func TestSearchPassesTheQuestionOn(t *testing.T) {
	s := start(t, nil)
	id := uuid.New()
	s.library.sources = []search.Source{
		{Document: id, Title: "T", LeafTitle: "L", StartPage: 2, EndPage: 3, Text: "<b> & x", Score: 1.5, DeepLink: "/documents/" + id.String() + ".pdf#page=2"},
		{Document: id, DeepLink: "/documents/" + id.String() + ".md"},
	}
	resp, body := s.do("POST", "/core/search", `{"query":"who?","folder_name":"A/B","tags":["x"],"tag_mode":"any","limit":50,"document_id":"`+id.String()+`"}`)
	s.want(resp, body, 200, `{"sources":[
		{"doc_id":"`+id.String()+`","document_title":"T","leaf_title":"L","start_page":2,"end_page":3,"text":"<b> & x","score":1.5,"deep_link":"/documents/`+id.String()+`.pdf#page=2"},
		{"doc_id":"`+id.String()+`","document_title":"","leaf_title":"","start_page":null,"end_page":null,"text":"","score":0,"deep_link":"/documents/`+id.String()+`.md"}],"next_cursor":null}`)
	if got := s.library.asked; got.Query != "who?" || got.Folder != "A/B" || len(got.Tags) != 1 || !got.AnyTag || got.Limit != 50 || got.Document != id {
		t.Errorf("asked %+v", got)
	}
	resp, body = s.do("POST", "/core/search", `{"query":" \n"}`)
	s.want(resp, body, 200, `{"sources":[],"next_cursor":null}`)
	resp, body = s.do("POST", "/core/search", `{"query":"`+strings.Repeat("é", 100_001)+`"}`)
	s.want(resp, body, 422, `{"detail":[{"type":"string_too_long","loc":["body","query"],"msg":"String should have at most 100000 characters","input":null,"ctx":{"max_length":100000}}]}`)
	resp, body = s.do("POST", "/core/search", `{"query":"`+strings.Repeat("a", 1<<20)+`"}`)
	s.want(resp, body, 413, `{"detail":"the body is longer than 1048576 bytes"}`)
	resp, body = s.do("POST", "/core/search", "{\"query\":\"\xff\"}")
	s.want(resp, body, 400, `{"detail":"There was an error parsing the body"}`)
	if _, body = s.do("POST", "/core/search", `{"query":"a","tags":[`+strings.Repeat("1,", 60)+`{}]}`); strings.Count(body, "string_type") != 61 {
		t.Errorf("61 faults are reported as %s", body)
	}
	if resp, body = s.do("POST", "/core/search", strings.Repeat("[", 1<<20)); resp.StatusCode != 422 {
		t.Errorf("deep JSON = %d %.100s", resp.StatusCode, body)
	}
}

func TestAsk(t *testing.T) {
	s := start(t, nil)
	id := uuid.New()
	s.library.answer = search.Answer{Text: "Yes.", Reasoning: "From A.", Confidence: 0.75}
	resp, body := s.do("POST", "/core/ask", `{"query":"who?","tags":null,"folder_name":null,"document_id":null}`)
	s.want(resp, body, 200, `{"answer":"Yes.","reasoning":"From A.","confidence":0.75,"sources":[]}`)
	s.library.answer.Sources = []search.Source{{Document: id, Title: "T", LeafTitle: "L", StartPage: 2, EndPage: 3, Text: "x", Score: 1.5, DeepLink: "/documents/" + id.String() + ".pdf#page=2"}}
	resp, body = s.do("POST", "/core/ask", `{"query":"who?","document_id":"`+id.String()+`"}`)
	s.want(resp, body, 200, `{"answer":"Yes.","reasoning":"From A.","confidence":0.75,"sources":[
		{"doc_id":"`+id.String()+`","document_title":"T","leaf_title":"L","start_page":2,"end_page":3,"text":"x","score":1.5,"deep_link":"/documents/`+id.String()+`.pdf#page=2"}]}`)
	if s.library.asked.Document != id {
		t.Errorf("asked %+v", s.library.asked)
	}
}

func TestSearchRejectsLimitAndDocument(t *testing.T) {
	s := start(t, nil)
	for field, fault := range map[string]string{
		`"limit":0`: "greater_than_equal", `"limit":-1e999`: "greater_than_equal", `"limit":101`: "less_than_equal", `"limit":1e999`: "less_than_equal",
		`"limit":2.5`: "int_from_float", `"limit":"5"`: "int_type", `"limit":true`: "int_type", `"document_id":5`: "uuid_type", `"document_id":"x"`: "uuid_parsing",
		`"document_id":""`: "uuid_parsing", `"document_id":"00000000-0000-0000-0000-000000000000"`: "uuid_parsing",
	} {
		if resp, body := s.do("POST", "/core/search", `{"query":"a",`+field+`}`); resp.StatusCode != 422 || strings.Count(body, `"type"`) != 1 || !strings.Contains(body, `"`+fault+`"`) {
			t.Errorf("%s = %d %s, want %s", field, resp.StatusCode, body, fault)
		}
	}
	for field, want := range map[string]int{`"limit":null`: 0, `"limit":100`: 100, `"limit":1.0`: 1} {
		if resp, body := s.do("POST", "/core/search", `{"query":"a",`+field+`}`); resp.StatusCode != 200 || s.library.asked.Limit != want {
			t.Errorf("%s = %d %s, asked %+v", field, resp.StatusCode, body, s.library.asked)
		}
	}
}

func TestFolderSummary(t *testing.T) {
	s := start(t, nil)
	s.library.summary = vault.FolderSummary{Status: "none"}
	resp, body := s.do("GET", "/core/folders/summary?folder_name=A%2FB", "")
	s.want(resp, body, 200, `{"status":"none","folder_summary":null}`)
	if s.library.asked.Folder != "A/B" {
		t.Errorf("asked for folder %q", s.library.asked.Folder)
	}
	id := uuid.New()
	s.library.summary = vault.FolderSummary{Status: "ok", Folder: "A", Document: id, Title: "t", Description: "d", Content: "- c", Truncated: true}
	resp, body = s.do("GET", "/core/folders/summary?folder_name=A", "")
	s.want(resp, body, 200, `{"status":"ok","folder_summary":{"folder":"A","document_id":"`+id.String()+`","title":"t","description":"d","content":"- c","truncated":true}}`)
	resp, body = s.do("GET", "/core/folders/summary", "")
	s.want(resp, body, 422, `{"detail":[{"type":"missing","loc":["query","folder_name"],"msg":"Field required","input":null}]}`)
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
