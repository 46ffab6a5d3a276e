package console

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const folderID = "9d3d2b5e-1c55-4d1e-9b37-6b8a2f0c4e21"

// library replies to reads of one folder, and notes the queries of listings of documents.
func library(listed *[]url.Values) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var reply any
		switch r.URL.Path {
		case "/vault/folders":
			reply = []map[string]any{{"id": folderID, "name": "Paper"}}
		case "/vault/folders/" + folderID:
			reply = map[string]any{"id": folderID, "name": "Paper", "parentFolderId": nil}
		case "/vault/documents":
			*listed = append(*listed, r.URL.Query())
			w.Header().Set("Link", `<http://annals.test/vault/documents?cursor=next+page>; rel="next"`)
			if strings.Contains(r.URL.Query().Get("include"), "count") {
				w.Header().Set("X-Total-Count", "100000")
			}
			reply = []map[string]any{{"id": "0f5c28a2-54d5-5f4e-8a0e-0f4cf4b5a1c7", "name": "mill.pdf", "version": 3, "size": 2_500_000, "tags": []string{"a&b"}}}
		case "/core/folders/summary":
			reply = map[string]any{"status": "ok", "folder_summary": map[string]any{"description": "Holds much.", "content": "- **Mill** <script>"}}
		default:
			w.WriteHeader(http.StatusForbidden)
			reply = map[string]any{"message": "only owners may"}
		}
		_ = json.NewEncoder(w).Encode(reply)
	}
}

func TestDocumentsAreSortedFilteredAndPaged(t *testing.T) {
	for _, c := range []struct {
		query, want string   // parameters of the page and of the listing
		links       []string // addresses on the page
	}{
		{"", "include=size,tags,count&limit=50", []string{"?order=desc&sort=name", "?order=desc&sort=size", "?order=desc&sort=updatedAt", "?cursor=next+page", "?tag=a%26b"}},
		{"?sort=size&order=desc", "include=size,tags,count&limit=50&order=desc&sort=size", []string{"?sort=size", "?sort=name", "?cursor=next+page&order=desc&sort=size"}},
		{"?sort=size", "include=size,tags,count&limit=50&sort=size", []string{"?order=desc&sort=size", "?cursor=next+page&sort=size"}},
		{"?name=mi+ll&tag=old&sort=updatedAt", "include=size,tags&limit=50&name=mi ll&sort=updatedAt&tag=old", []string{"?cursor=next+page&name=mi+ll&sort=updatedAt&tag=old", "?name=mi+ll&order=desc&sort=size&tag=old"}},
		{"?cursor=x&sort=size", "cursor=x&include=size,tags,count&limit=50&sort=size", []string{"?sort=size"}},
		{"?sort=nonsense", "include=size,tags,count&limit=50", nil},
	} {
		var listed []url.Values
		page := body(t, startSite(t, library(&listed)).as("alice", "GET", "/folders/"+folderID+c.query, nil))
		if len(listed) != 1 || listed[0].Get("folderId") != folderID {
			t.Fatalf("%s: listings %v, page %s", c.query, listed, page)
		}
		listed[0].Del("folderId")
		if got, _ := url.QueryUnescape(listed[0].Encode()); got != c.want {
			t.Errorf("%s lists by %s, want %s", c.query, got, c.want)
		}
		for _, link := range c.links {
			if !strings.Contains(html.UnescapeString(page), `href="/folders/`+folderID+link+`"`) {
				t.Errorf("%s has no link to %s: %s", c.query, link, page)
			}
		}
		if strings.Contains(page, "Holds much.") || !strings.Contains(page, "?summary=show") {
			t.Errorf("%s of a long folder summarises it without being asked: %s", c.query, page)
		}
		if !strings.Contains(page, "2.5 MB") || strings.Contains(page, "<script>\n") {
			t.Errorf("%s shows %s", c.query, page)
		}
		if whole := strings.Contains(listed[0].Get("include"), "count"); whole != strings.Contains(page, `class="page">100000<`) {
			t.Errorf("%s tells the number of documents: %t", c.query, !whole)
		}
	}
}

func TestLongFoldersAreSummarisedWhenAsked(t *testing.T) {
	var listed []url.Values
	page := body(t, startSite(t, library(&listed)).as("alice", "GET", "/folders/"+folderID+"?summary=show", nil))
	if !strings.Contains(page, "Holds much.") || !strings.Contains(page, "<strong>Mill</strong> &lt;script&gt;") {
		t.Errorf("the page is %s", page)
	}
}

// The REST interface decides what a visitor may do. Its sentences stand beside what was typed.
func TestRefusalsKeepWhatWasTyped(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		var listed []url.Values
		read := library(&listed)
		s := startSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "GET" {
				read(w, r)
				return
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"message":["names with <b> are bad"]}`)
		})
		for path, form := range map[string]url.Values{
			"/folders/new": {"name": {`a "long" name`}}, "/folders/" + folderID + "/change": {"do": {"name"}, "name": {`a "long" name`}, "version": {""}},
		} {
			form.Set("csrf", "the-csrf-token")
			r := s.as("alice", "POST", path, form)
			if page := body(t, r); r.StatusCode != status || !strings.Contains(page, "Names with &lt;b&gt; are bad") || !strings.Contains(page, `value="a &#34;long&#34; name"`) {
				t.Errorf("POST %s refused with %d = %d %s", path, status, r.StatusCode, page)
			}
		}
	}
}

// Addresses of pages can be written by anybody, so they decide neither what a page says nor
// where its forms lead.
func TestAddressesOfPagesSayNothing(t *testing.T) {
	var listed []url.Values
	s := startSite(t, library(&listed))
	if page := body(t, s.as("alice", "GET", "/folders?done=You+have+won", nil)); strings.Contains(page, "won") {
		t.Errorf("the page is %s", page)
	}
	for _, address := range []string{"https://evil.test/", "//evil.test/", "/folders/../signin", "/\\evil.test", "javascript:alert(1)", "/folders?done=x"} {
		if got := pageOf(address); got != "" {
			t.Errorf("pageOf(%s) = %s", address, got)
		}
	}
	for _, address := range []string{"/folders", "/folders/" + folderID, "/documents/" + folderID} {
		if got := pageOf(address); got != address {
			t.Errorf("pageOf(%s) = %s", address, got)
		}
	}
}

func TestSizesAsPeopleSayThem(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 9949: "9.9 kB", 9950: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 2_500_000: "2.5 MB", 21_474_836_480: "21 GB", 5e15: "5000 TB"} {
		if got := sizeOf(n); got != want {
			t.Errorf("sizeOf(%d) = %s, want %s", n, got, want)
		}
	}
}
