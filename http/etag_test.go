package http_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every GET below /vault returns an ETag, replies 304 if If-None-Match contains that ETag, and
// returns a different ETag after a change.
func TestReadsAreConditional(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "a.md", handbook, "x")
	folder := s.folderOf(id)
	_, body := s.do("GET", "/core/folders/summary?folder_name=A", "")
	summary := decode[struct {
		Summary struct {
			ID string `json:"document_id"`
		} `json:"folder_summary"`
	}](t, body).Summary.ID
	weak, ofFolder := regexp.MustCompile(`^W/"[0-9a-f]{16}"$`), regexp.MustCompile(`^"\d+\.[0-9a-f]{16}"$`)
	version, number, digest := regexp.MustCompile(`^"1"$`), regexp.MustCompile(`^"\d+"$`), regexp.MustCompile(`^"[0-9a-f]{64}"$`)
	forms := map[string]*regexp.Regexp{
		"/folders": weak, "/folders?limit=1": weak, "/folders/" + folder: ofFolder, "/folders/" + folder + "?include=true": weak,
		"/folders/" + folder + "/permissions": number, "/invitations": weak, "/invitations/blocked": weak,
		"/documents?folderId=" + folder: weak, "/documents/" + id: version, "/documents/" + id + "/tags": version,
		"/documents/" + id + "/markdown": version, "/documents/" + id + "/content": digest, "/documents/" + id + ".md": digest,
		"/documents/" + id + "/versions": weak, "/documents/" + id + "/versions/1": weak, "/documents/" + id + "/versions/1/content": digest, "/documents/" + id + "/versions/1/markdown": weak,
		"/documents/" + summary: weak, "/documents/" + summary + "/markdown": weak, "/documents/" + summary + "/tags": weak,
		"/tags": weak, "/me": weak, "/usage": weak, "/audit?document=" + id: weak,
	}
	unchanged := []string{ // paths whose replies are not affected by the change below
		"/invitations", "/invitations/blocked", "/tags", "/me", "/documents/" + summary + "/tags",
		"/documents/" + id + "/content", "/documents/" + id + ".md", "/documents/" + id + "/versions/1", "/documents/" + id + "/versions/1/content", "/documents/" + id + "/versions/1/markdown",
	}
	tested := map[string]bool{"GET /vault/openapi.yaml": true}                                                          // changes only with the program
	for _, pages := range []string{"/documents/{id}/pages/{page}", "/documents/{id}/versions/{version}/pages/{page}"} { // TestPages
		tested["GET /vault"+pages+".png"], tested["GET /vault"+pages+"/words"] = true, true
	}
	for path := range forms {
		tested[routeOf("GET /vault"+path)] = true
	}
	for _, route := range routesOf(t, s.server) {
		if strings.HasPrefix(route, "GET /vault/") && !tested[route] {
			t.Errorf("%s reads: add a path and the form of its ETag to TestReadsAreConditional in http/etag_test.go", route)
		}
	}
	etags := map[string]string{}
	for path, form := range forms {
		resp, body := s.do("GET", "/vault"+path, "")
		etag := resp.Header.Get("ETag")
		if resp.StatusCode != 200 || !form.MatchString(etag) || resp.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("GET %s = %d %s with ETag %q, want one like %s", path, resp.StatusCode, body, etag, form)
		}
		etags[path] = etag
		for _, given := range []string{etag, "*", `"other", ` + etag, "W/" + strings.TrimPrefix(etag, "W/")} {
			for _, method := range []string{"GET", "HEAD"} {
				resp, body = s.do(method, "/vault"+path, "", "If-None-Match", given)
				if resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != etag {
					t.Errorf("%s %s with If-None-Match %s = %d %s, ETag %s; want 304", method, path, given, resp.StatusCode, body, resp.Header.Get("ETag"))
				}
			}
		}
		if resp, body = s.do("GET", "/vault"+path, "", "If-None-Match", `"other"`); resp.StatusCode != 200 || body == "" {
			t.Errorf("GET %s with another ETag = %d %s, want 200", path, resp.StatusCode, body)
		}
		if resp, body = s.do("HEAD", "/vault"+path, ""); resp.StatusCode != 200 || body != "" || resp.Header.Get("ETag") != etag {
			t.Errorf("HEAD %s = %d %s, ETag %s; want 200 with %s", path, resp.StatusCode, body, resp.Header.Get("ETag"), etag)
		}
		if resp, body = s.do("GET", "/vault"+path, "", "If-None-Match", etag, "Authorization", "Bearer bob"); resp.StatusCode == 304 && strings.Contains(path, id) {
			t.Errorf("GET %s by bob = 304 %s, want 404", path, body)
		}
	}
	if resp, body := s.do("PATCH", "/vault/documents/"+id, `{"name":"b.md","version":1}`); resp.StatusCode != 200 {
		t.Fatalf("rename the document: %d %s", resp.StatusCode, body)
	}
	s.share(folder, "user:bob", "read")
	for path, etag := range etags {
		resp, body := s.do("GET", "/vault"+path, "", "If-None-Match", etag)
		if want := map[bool]int{true: 304, false: 200}[slices.Contains(unchanged, path)]; resp.StatusCode != want {
			t.Errorf("GET %s after a change = %d %s, want %d; if the change above does not affect its reply, add the path to unchanged", path, resp.StatusCode, body, want)
		}
	}
}

// routeOf returns the route of a request's method and path.
func routeOf(request string) string {
	route, _, _ := strings.Cut(request, "?")
	route = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).ReplaceAllString(route, "{id}")
	return strings.NewReplacer("versions/1", "versions/{version}", "pages/1", "pages/{page}", "{id}.md", "{id}.{ext}").Replace(route)
}

// A page of a listing has a Link header for the next page even if the reply is 304.
func TestPagesAreConditional(t *testing.T) {
	s := startStack(t)
	s.makeFolder("", "A")
	s.makeFolder("", "B")
	resp, _ := s.do("GET", "/vault/folders?limit=1", "")
	link := resp.Header.Get("Link")
	resp, body := s.do("GET", "/vault/folders?limit=1", "", "If-None-Match", resp.Header.Get("ETag"))
	if resp.StatusCode != 304 || link == "" || resp.Header.Get("Link") != link {
		t.Errorf("again = %d %s, Link %q, was %q", resp.StatusCode, body, resp.Header.Get("Link"), link)
	}
}
