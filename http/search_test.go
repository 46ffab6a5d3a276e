package http_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	httpd "annals/http"
	"annals/queries/search"
	"annals/queries/vault"

	"github.com/google/uuid"
)

func TestSearchPassesQuery(t *testing.T) {
	s := start(t, nil)
	id := uuid.New()
	s.library.sources = []search.Source{
		{Document: id, Title: "T", LeafTitle: "L", StartPage: 2, EndPage: 3, Text: "<b> & x", Score: 1.5, DeepLink: "/documents/" + id.String() + ".pdf#page=2", Confidence: 0.874},
		{Document: id, DeepLink: "/documents/" + id.String() + ".md"},
	}
	resp, body := s.do("POST", "/core/search", `{"query":"who?","folder_name":"A/B","tags":["x"],"tag_mode":"any","limit":50,"document_id":"`+id.String()+`","generation":3}`)
	s.want(resp, body, 200, `{"sources":[
		{"doc_id":"`+id.String()+`","document_title":"T","leaf_title":"L","start_page":2,"end_page":3,"text":"<b> & x","score":1.5,"deep_link":"/documents/`+id.String()+`.pdf#page=2","metadata":{"ocr":true,"confidence":0.874}},
		{"doc_id":"`+id.String()+`","document_title":"","leaf_title":"","start_page":null,"end_page":null,"text":"","score":0,"deep_link":"/documents/`+id.String()+`.md","metadata":{"ocr":false,"confidence":null}}],"next_cursor":null}`)
	if got := s.library.lastQuery; got.Query != "who?" || got.Folder != "A/B" || len(got.Tags) != 1 || !got.AnyTag || got.Limit != 50 || got.Document != id || got.Generation != 3 {
		t.Errorf("last query %+v", got)
	}
	resp, body = s.do("POST", "/core/search", `{"query":" \n"}`)
	s.want(resp, body, 200, `{"sources":[],"next_cursor":null}`)
	for _, route := range []string{"/core/search", "/core/ask"} {
		for _, generation := range []string{"0", "-1", "1.5", `"x"`, "2147483648"} {
			if resp, body := s.do("POST", route, `{"query":"who?","generation":`+generation+`}`); resp.StatusCode != 422 {
				t.Errorf("%s with generation %s = %d %s, want 422", route, generation, resp.StatusCode, body)
			}
		}
	}
	resp, body = s.do("POST", "/core/search", `{"query":"`+strings.Repeat("é", 100_001)+`"}`)
	s.want(resp, body, 422, `{"detail":[{"type":"string_too_long","loc":["body","query"],"msg":"String should have at most 100000 characters","input":null,"ctx":{"max_length":100000}}]}`)
	resp, body = s.do("POST", "/core/search", `{"query":"`+strings.Repeat("a", 1<<20)+`"}`)
	s.want(resp, body, 413, `{"detail":"the body is longer than 1048576 bytes"}`)
	resp, body = s.do("POST", "/core/search", "{\"query\":\"\xff\"}")
	s.want(resp, body, 400, `{"detail":"There was an error parsing the body"}`)
	if _, body = s.do("POST", "/core/search", `{"query":"a","tags":[`+strings.Repeat("1,", 60)+`{}]}`); strings.Count(body, "string_type") != 61 {
		t.Errorf("a search with 61 errors = %s, want all of them", body)
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
	s.library.answer.Sources = []search.Source{{Document: id, Title: "T", LeafTitle: "L", StartPage: 2, EndPage: 3, Text: "x", Score: 1.5, DeepLink: "/documents/" + id.String() + ".pdf#page=2", Confidence: 0.5}}
	resp, body = s.do("POST", "/core/ask", `{"query":"who?","document_id":"`+id.String()+`","generation":2}`)
	s.want(resp, body, 200, `{"answer":"Yes.","reasoning":"From A.","confidence":0.75,"sources":[
		{"doc_id":"`+id.String()+`","document_title":"T","leaf_title":"L","start_page":2,"end_page":3,"text":"x","score":1.5,"deep_link":"/documents/`+id.String()+`.pdf#page=2","metadata":{"ocr":true,"confidence":0.5}}]}`)
	if s.library.lastQuery.Document != id || s.library.lastQuery.Generation != 2 {
		t.Errorf("last query %+v", s.library.lastQuery)
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
		if resp, body := s.do("POST", "/core/search", `{"query":"a",`+field+`}`); resp.StatusCode != 200 || s.library.lastQuery.Limit != want {
			t.Errorf("%s = %d %s, last query %+v", field, resp.StatusCode, body, s.library.lastQuery)
		}
	}
}

func TestFolderSummary(t *testing.T) {
	s := start(t, nil)
	s.library.summary = vault.FolderSummary{Status: "none"}
	resp, body := s.do("GET", "/core/folders/summary?folder_name=A%2FB", "")
	s.want(resp, body, 200, `{"status":"none","folder_summary":null}`)
	if s.library.lastQuery.Folder != "A/B" {
		t.Errorf("summary of folder %q, want A/B", s.library.lastQuery.Folder)
	}
	id := uuid.New()
	s.library.summary = vault.FolderSummary{Status: "ok", Folder: "A", Document: id, Title: "t", Description: "d", Content: "- c", Truncated: true}
	resp, body = s.do("GET", "/core/folders/summary?folder_name=A", "")
	s.want(resp, body, 200, `{"status":"ok","folder_summary":{"folder":"A","document_id":"`+id.String()+`","title":"t","description":"d","content":"- c","truncated":true}}`)
	resp, body = s.do("GET", "/core/folders/summary", "")
	s.want(resp, body, 422, `{"detail":[{"type":"missing","loc":["query","folder_name"],"msg":"Field required","input":null}]}`)
}

// A lone surrogate anywhere in a body is refused. A surrogate pair is accepted as one
// character.
func TestLoneSurrogatesAreRefused(t *testing.T) {
	s := start(t, nil)
	for _, test := range []struct {
		body     string
		position int
	}{
		{`{"query":"\ud800"}`, 10},
		{`{"query":"\udc00"}`, 10},
		{`{"query":"\uD83D\u0041"}`, 10},
		{`{"query":"\ude00\ud83d"}`, 10},
		{`{"query":"\ud83d\ude00\ud83dx"}`, 22},
		{`{"query":"é\\\\\ud83d\n"}`, 15},
		{`{"query":"a","folder_name":"\ud800"}`, 28},
		{`{"query":"a","tags":["b","\u0041\ud83d"]}`, 32},
		{`{"\ud800":1,"query":"a"}`, 2},
	} {
		for _, path := range []string{"/core/search", "/core/ask"} {
			resp, reply := s.do("POST", path, test.body)
			s.want(resp, reply, 422, fmt.Sprintf(`{"detail":[{"type":"json_invalid","loc":["body",%d],"msg":"JSON decode error","input":{},"ctx":{"error":"Lone surrogate in hex escape"}}]}`, test.position))
		}
	}
	for text, want := range map[string]string{`\ud83d\ude00\u0041`: "😀A", `\\ud800`: `\ud800`, `\u0041\ud83d\ude00\\`: "A😀\\", "\ufffd": "\ufffd"} {
		if resp, reply := s.do("POST", "/core/search", `{"query":"`+text+`"}`); resp.StatusCode != 200 || s.library.lastQuery.Query != want {
			t.Errorf("%s = %d %s, query %q, want %q", text, resp.StatusCode, reply, s.library.lastQuery.Query, want)
		}
	}
}

// Tags in queries are normalized before the lookup. An invalid tag is not dropped, because
// that would widen the query.
func TestQueriedTagsAreNormalized(t *testing.T) {
	s := start(t, nil)
	given := []string{"e\u0301t", " sp ", "plain", " ", "a\nb"}
	want := []string{"\u00e9t", "sp", "plain", " ", "a\nb"}
	body, err := json.Marshal(map[string]any{"query": "who?", "tags": given})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/core/search", "/core/ask"} {
		s.library.lastQuery.Tags = nil
		if resp, reply := s.do("POST", path, string(body)); resp.StatusCode != 200 || !slices.Equal(s.library.lastQuery.Tags, want) {
			t.Errorf("%s = %d %s, asked for %q, want %q", path, resp.StatusCode, reply, s.library.lastQuery.Tags, want)
		}
	}
	for i, tag := range given {
		resp, reply := s.do("GET", "/vault/documents?tag="+url.QueryEscape(tag), "")
		if resp.StatusCode != 200 || s.library.filter.Tag != want[i] {
			t.Errorf("tag %q = %d %s, asked for %q, want %q", tag, resp.StatusCode, reply, s.library.filter.Tag, want[i])
		}
	}
}

// Each source has a URL for browsers besides the deep link.
func TestSourcesHaveURL(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.LinkURL = &url.URL{Scheme: "https", Host: "annals.example", Path: "/signin"} })
	id := s.file("A", "a.md", handbook)
	type sources struct {
		Sources []struct {
			DeepLink string `json:"deep_link"`
			URL      string
		}
	}
	for _, route := range []string{"/core/search", "/core/ask"} {
		_, body := s.do("POST", route, `{"query":"notice period"}`, "Content-Type", "application/json")
		found := decode[sources](t, body).Sources
		if want := "/documents/" + id + ".md"; len(found) == 0 || found[0].DeepLink != want || found[0].URL != "https://annals.example"+want {
			t.Errorf("%s: %s", route, body)
		}
	}
	if got := httpd.Link(nil, "/documents/x.md"); got != "" {
		t.Errorf("Link without a root = %q, want none", got)
	}
}
