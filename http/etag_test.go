package http_test

import (
	"regexp"
	"strings"
	"testing"
)

// Every read has an ETag, answers 304 to a client that has it, and has another after a
// change.
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
	version, number := regexp.MustCompile(`^"1"$`), regexp.MustCompile(`^"\d+"$`)
	tags := map[string]string{}
	for path, form := range map[string]*regexp.Regexp{
		"/folders": weak, "/folders?limit=1": weak, "/folders/" + folder: ofFolder, "/folders/" + folder + "?include=true": weak,
		"/folders/" + folder + "/permissions": number,
		"/documents?folderId=" + folder:       weak, "/documents/" + id: version, "/documents/" + id + "/tags": version,
		"/documents/" + id + "/markdown": version, "/documents/" + id + "/versions": weak, "/documents/" + id + "/versions/1": weak,
		"/documents/" + summary: weak, "/documents/" + summary + "/markdown": weak, "/documents/" + summary + "/tags": weak,
		"/tags": weak,
	} {
		path = "/vault" + path
		resp, body := s.do("GET", path, "")
		etag := resp.Header.Get("ETag")
		if resp.StatusCode != 200 || !form.MatchString(etag) || resp.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s = %d %s with ETag %q, want one like %s", path, resp.StatusCode, body, etag, form)
		}
		tags[path] = etag
		for _, given := range []string{etag, "*", `"other", ` + etag, "W/" + strings.TrimPrefix(etag, "W/")} {
			for _, method := range []string{"GET", "HEAD"} {
				resp, body = s.do(method, path, "", "If-None-Match", given)
				if resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != etag {
					t.Errorf("%s %s unless %s = %d %s, ETag %s", method, path, given, resp.StatusCode, body, resp.Header.Get("ETag"))
				}
			}
		}
		if resp, body = s.do("GET", path, "", "If-None-Match", `"other"`); resp.StatusCode != 200 || body == "" {
			t.Errorf("%s unless other = %d %s", path, resp.StatusCode, body)
		}
		if resp, body = s.do("HEAD", path, ""); resp.StatusCode != 200 || body != "" || resp.Header.Get("ETag") != etag {
			t.Errorf("HEAD %s = %d %s, ETag %s", path, resp.StatusCode, body, resp.Header.Get("ETag"))
		}
		if resp, body = s.do("GET", path, "", "If-None-Match", etag, "Authorization", "Bearer bob"); resp.StatusCode == 304 && strings.Contains(path, id) {
			t.Errorf("%s is 304 for bob: %s", path, body)
		}
	}
	if resp, body := s.do("PATCH", "/vault/documents/"+id, `{"name":"b.md","version":1}`); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	s.share(folder, "user:bob", "read")
	for path, before := range tags {
		same := path == "/vault/tags" || strings.HasSuffix(path, "/versions/1") || path == "/vault/documents/"+summary+"/tags"
		resp, body := s.do("GET", path, "", "If-None-Match", before)
		if want := map[bool]int{true: 304, false: 200}[same]; resp.StatusCode != want {
			t.Errorf("%s after a change = %d %s, want %d", path, resp.StatusCode, body, want)
		}
	}
}

// A listing's page carries the link to the next one whether it is sent or not.
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
