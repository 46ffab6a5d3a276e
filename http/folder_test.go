package http_test

import (
	"net/url"
	"strings"
	"testing"
)

// A user who may read a folder can look it up by its path from the top level, even if the user
// may not read the folders above it.
func TestFolderByPath(t *testing.T) {
	s := startStack(t)
	a := s.makeFolder("", "A")
	s.makeFolder(a, "2024")
	b := s.makeFolder(a, "Ä B")
	s.share(b, "user:bob", "own")
	for _, test := range []struct{ user, path, want string }{
		{"alice", "A/2024", "2024"},
		{"alice", "A", "A"},
		{"bob", "A/Ä B", "Ä B"},
		{"bob", "/A/A\u0308 B/", "Ä B"},
		{"bob", "Ä B", "Ä B"}, // its path in his listings
		{"bob", "A", ""},
		{"bob", "A/2024", ""},
		{"bob", "A/Ä B/C", ""},
		{"carol", "A/Ä B", ""},
		{"admin", "A/Ä B", "Ä B"},
		{"alice", "/", ""},
	} {
		resp, body := s.do("GET", "/vault/folders?path="+url.QueryEscape(test.path), "", "Authorization", "Bearer "+test.user)
		var names []string
		for _, f := range decode[[]struct{ Name string }](t, body) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, ", "); resp.StatusCode != 200 || got != test.want {
			t.Errorf("%s for %s = %d %s, want %q", test.path, test.user, resp.StatusCode, body, test.want)
		}
	}
	resp, body := s.do("GET", "/vault/folders?path=A&parentFolderId="+a, "")
	s.want(resp, body, 422, invalid("path and parentFolderId must not be given together"))
	resp, body = s.do("GET", "/vault/folders?path=", "")
	s.want(resp, body, 422, invalid("path should not be empty"))
}
