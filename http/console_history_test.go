package http_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// changed sends a change to the vault as the user of s.token.
func (s *service) changed(method, path, body string) {
	s.Helper()
	if resp, text := s.do(method, "/vault"+path, body); resp.StatusCode != 200 {
		s.Fatalf("%s %s = %d %s", method, path, resp.StatusCode, text)
	}
}

func TestDocumentHistoryShowsVersionsAndTheirDifference(t *testing.T) {
	s := startConsole(t)
	id := s.file("Secret", "a<b>.md", handbook, "draft")
	shared := s.makeFolder("", "Shared")
	s.share(shared, "user:bob", "read")
	path := "/documents/" + id
	s.changed("PATCH", path, `{"name":"\u003csvg onload=x()>.md","version":1}`)
	s.changed("PATCH", path, `{"folderId":"`+shared+`","version":2}`)
	s.changed("PUT", path+"/tags", `{"tags":["final","\"onclick=x"],"version":3}`)
	s.revise(id, `"4"`, leaflet+"\n\n```\n<script>evil()</script>\n```\n")
	page := s.page("alice", path+"/history")
	s.contains(page, "Imported as <bdi>a&lt;b&gt;.md</bdi>", "Renamed from <bdi>a&lt;b&gt;.md</bdi> to <bdi>&lt;svg onload=x()&gt;.md</bdi>",
		"Moved from <bdi>Secret</bdi> to <bdi>Shared</bdi>", "Tag added <bdi>final</bdi>", "Tag removed <bdi>draft</bdi>", "New content from <bdi>",
		`href="/console/api/vault`+path+`/versions/1/content"`, `?from=4&amp;to=5#difference`, `value="5" selected>`, `value="4" selected>`)
	s.lacks(page, "<svg onload", "evil()", `"onclick`, "/pages/1.png")
	// Two who may read the document see its versions, but not the folder that only one may read.
	bobs := s.page("bob", path+"/history?from=1&to=5")
	s.contains(bobs, "Moved to <bdi>Shared</bdi>", "From version 1 to version 5", "<del>ninety", "<ins>forty", "&lt;script&gt;evil()")
	s.lacks(bobs, "Secret", "<script>evil()")
	// Each version is shown as it was, and cannot be changed.
	s.contains(page, `href="`+path+`?version=1"`)
	first := s.page("bob", path+"?version=1")
	s.contains(first, "ninety", "This is version 1.", `aria-current="page"><bdi>Version 1</bdi>`, `href="`+path+`">`, `href="/console/api/vault`+path+`/versions/1/content"`, "Shared")
	s.lacks(first, "forty", "Secret", path+"/change")
	s.contains(s.page("bob", path), "forty", path+"/change")
	s.contains(s.page("alice", path+"/history?from=3&to=2"), "From version 2 to version 3", "The text is the same.")
	if resp, body := s.do("GET", "/vault"+path+"/versions/1/content", ""); resp.StatusCode != 200 || body != handbook {
		t.Errorf("the original of version 1 = %d %s", resp.StatusCode, body)
	}
	hidden := "/documents/" + s.file("Secret", "hidden.md", handbook)
	for user, paths := range map[string][]string{"alice": {path + "/history?from=1&to=6", path + "/history?from=0&to=1", path + "/history?from=x&to=1", path + "?version=6"}, "bob": {hidden + "/history", hidden + "?version=1", hidden + "/history?from=1&to=1"}} {
		for _, address := range paths {
			resp, body := s.visit(user, "GET", address, nil)
			if resp.StatusCode != http.StatusNotFound || strings.Contains(body, "hidden.md") || strings.Contains(body, "ninety") {
				t.Errorf("GET %s of %s = %d %s", address, user, resp.StatusCode, body)
			}
		}
	}
}

func TestDocumentHistoryIsListedInPages(t *testing.T) {
	s := startConsole(t)
	id := s.file("F", "a.md", handbook)
	path := "/documents/" + id
	s.lacks(s.page("alice", path+"/history"), "<select", "before=")
	for n := 1; n <= 60; n++ {
		s.changed("PATCH", path, fmt.Sprintf(`{"name":"name %d.md","version":%d}`, n, n))
	}
	page := s.page("alice", path+"/history")
	s.contains(page, "name 60.md", `id="v61"`, `id="v12"`, "?before=12")
	s.lacks(page, `id="v11"`)
	older := s.page("alice", path+"/history?before=12")
	s.contains(older, `id="v11"`, `id="v1"`, "Newest versions")
	s.lacks(older, `id="v12"`, "Older versions")
	s.lacks(s.page("alice", path+"/history?before=-3"), `id="v`)
}

func TestHistoryOfOneFolderOrDocument(t *testing.T) {
	s := startConsole(t)
	first, second := s.file("A/B", "one <b>.md", handbook), s.file("A", "two.md", leaflet)
	s.file("A", "two.txt", "Two")
	for about, want := range map[string]string{"A/B": "folder=", " A/two.md ": "document=" + second, "A/B/ONE": "document=" + first} {
		resp, body := s.visit("alice", "GET", "/history?document=x&who=alice&from=2026-01-01&about="+url.QueryEscape(about), nil)
		to := resp.Header.Get("Location")
		if resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/history?") || !strings.Contains(to, want) || !strings.Contains(to, "who=alice") || !strings.Contains(to, "from=2026-01-01") || strings.Contains(to, "about") || strings.Contains(to, "=x") {
			t.Errorf("about %q: %d to %q %s", about, resp.StatusCode, to, body)
		}
	}
	page := s.page("alice", "/history?document="+first)
	s.contains(page, "Only what concerns <bdi>one &lt;b&gt;.md</bdi>", "imported document")
	s.lacks(page, "two.md")
	s.contains(s.page("alice", "/history?about=A/two&kind=all"), "Which of these?", "/history?document="+second+"&amp;kind=all", "<bdi>two.txt</bdi>", `value="A/two"`)
	for _, user := range []string{"alice", "bob"} {
		name := map[string]string{"alice": "nothing", "bob": "A/two.md"}[user]
		nothing := s.page(user, "/history?about="+name)
		s.contains(nothing, "There is no folder or document at this path", `value="`+name+`"`)
		s.lacks(nothing, second)
	}
}
