package http_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestAdministratorsSeeTheService(t *testing.T) {
	s := startConsole(t)
	s.file("F", "a.md", handbook)
	page := s.page("admin", "/admin")
	s.contains(page, `<th scope="row">vault</th>`, `<th scope="row">passages</th>`, "Up to date.", "<dt>Documents</dt><dd>1</dd>", "<dt>Log</dt><dd>7 B</dd>", "<dt>Search index</dt><dd>0 B</dd>", `<th scope="row">Markdown</th><td>1</td>`, `<rect x="291" y="0" width="8" height="80"`, "1 file</title>", `action="/admin/rebuild"`, `/admin.js"`)
	s.lacks(page, "Parked events</h2>", "data-busy", "<dt>Read models")
	only := s.page("admin", "/admin?only=models")
	s.contains(only, `id="models"`)
	s.lacks(only, "<dt>Documents")
	s.contains(s.page("admin", "/admin/users"), "<bdi>alice</bdi>", "Program", "Administrator", "disabled", `<th scope="row"><bdi>a</bdi></th>`, "2 January 2026, 04:04 UTC", "<td>never</td>")
}

func TestServiceIsHiddenFromOthers(t *testing.T) {
	s := startConsole(t)
	s.lacks(s.page("alice", "/"), `href="/admin"`)
	for _, path := range []string{"/admin", "/admin?only=models", "/admin/users", "/admin/events", "/admin/nothing"} {
		resp, body := s.visit("alice", "GET", path, nil)
		if resp.StatusCode != http.StatusNotFound || strings.Contains(body, "passages") || strings.Contains(body, "administrator") {
			t.Errorf("GET %s of alice = %d %s", path, resp.StatusCode, body)
		}
	}
	for _, path := range []string{"/admin/rebuild", "/admin/retry"} {
		if resp, body := s.visit("alice", "POST", path, url.Values{"name": {"vault"}, "csrf": {"token"}}); resp.StatusCode != http.StatusNotFound {
			t.Errorf("POST %s of alice = %d %s", path, resp.StatusCode, body)
		}
		if resp, body := s.visit("admin", "POST", path, url.Values{"name": {"vault"}}); resp.StatusCode != http.StatusForbidden {
			t.Errorf("POST %s without a token = %d %s", path, resp.StatusCode, body)
		}
	}
}

func TestAdministratorsRebuildInTheConsole(t *testing.T) {
	s := startConsole(t)
	s.file("F", "a.md", handbook)
	rebuild := func(name string) (*http.Response, string) {
		return s.visit("admin", "POST", "/admin/rebuild", url.Values{"name": {name}, "csrf": {"token"}})
	}
	if resp, body := rebuild("vault"); resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/admin?done=rebuild" {
		t.Fatalf("rebuild = %d %s", resp.StatusCode, body)
	}
	s.contains(s.page("admin", "/admin?done=rebuild"), "The rebuild has begun.")
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if page := s.page("admin", "/admin?only=models"); strings.Contains(page, "<td>2, version") && strings.Contains(page, "kept, so that one can go back to it") {
			break
		}
	}
	if resp, body := rebuild("nothing/../vault"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("rebuild of nothing = %d %s", resp.StatusCode, body)
	}
}

func TestAdministratorsReadTheLog(t *testing.T) {
	s := startConsole(t)
	id := s.file("F", "<b onclick=x>.md", handbook)
	s.changed("PATCH", "/documents/"+id, `{"name":"\u003cscript>c.md","version":1}`)
	page := s.page("admin", "/admin/events?stream=document-"+id)
	s.contains(page, "<strong>DocumentRenamed</strong>", "<strong>DocumentImported</strong>", "user:alice", `href="/documents/`+id+`/history"`)
	s.lacks(page, "<script>c", "<b onclick")
	if strings.Index(page, "DocumentRenamed</strong>") > strings.Index(page, "DocumentImported</strong>") {
		t.Error("older events come first")
	}
	s.lacks(s.page("admin", "/admin/events?type=DocumentRenamed"), "<strong>DocumentImported", "ninety days")
	s.contains(s.page("admin", "/admin/events?type=Nothing"), "No such event was found")
	s.contains(s.page("admin", "/admin/events?before=3"), "Newest events")
	if resp, body := s.visit("admin", "GET", "/admin/events?before=x", nil); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, `<p role="alert">Input should be a valid integer`) {
		t.Errorf("a wrong position = %d %s", resp.StatusCode, body)
	}
	s.contains(s.page("admin", "/admin/events"), "withheld: path, text, title: words of a document")
}
