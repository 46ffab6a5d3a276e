package http_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	httpd "annals/http"
	"annals/queries"
	"annals/queries/accesslog"

	"github.com/google/uuid"
)

// recorded returns an option that makes a server record accesses in an access log.
func recorded(t *testing.T, reads accesslog.Reads) func(*httpd.Server) {
	return func(h *httpd.Server) {
		q := h.Queries.(*queries.Queries)
		log, err := accesslog.Open(t.Context(), filepath.Join(t.TempDir(), accesslog.File), accesslog.Options{Reads: reads, Find: q.Find, Granted: q.Granted})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
		q.Accesses, h.Accessed = log, log.Record
	}
}

// accesses returns the accesses in a user's audit trail, oldest first.
func (s *service) accesses(who, query string) (what []string) {
	s.Helper()
	_, what, next := s.trail("?kind=access"+query, "Authorization", "Bearer "+who)
	for next != "" {
		var more []string
		_, more, next = s.trail(next, "Authorization", "Bearer "+who)
		what = append(what, more...)
	}
	slices.Reverse(what)
	return what
}

func (s *service) wantAccesses(who, query string, want ...string) {
	s.Helper()
	if got := s.accesses(who, query); !slices.Equal(got, want) {
		s.Errorf("audit trail of %s with %q:\n%s\nwant:\n%s", who, query, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The access log records denied requests, downloads, and reads by administrators. The owner of
// a document sees these entries in the audit trail; the user who was denied does not.
func TestAccessesAreRecorded(t *testing.T) {
	s := startStack(t, recorded(t, accesslog.Reads{}))
	hers, shared := s.file("Hers", "hers.md", handbook), s.file("Shared", "shared.md", "# Shared\n\nThe notice period is ninety days.\n")
	s.share(s.folderOf(shared), "user:bob", "read")
	s.token = "carol"
	others := s.file("Carol", "carol.md", "# Carol\n\nCarol's own words.\n")
	folder := s.folderOf(hers) // carol may not read the document, so the reply names no folder
	if folder != "" {
		t.Fatal("carol reads alice's document")
	}
	s.token = "alice"
	folder = s.folderOf(hers)
	for _, call := range []struct{ who, method, path, body string }{
		{"bob", "GET", "/vault/documents/" + hers, ""},
		{"bob", "GET", "/vault/documents/" + uuid.NewString(), ""}, // does not exist
		{"bob", "GET", "/vault/folders/" + folder, ""},
		{"bob", "POST", "/vault/documents/batch", fmt.Sprintf(`{"ids":[%q,%q,%q]}`, hers, shared, uuid.NewString())},
		{"bob", "POST", "/vault/folders", fmt.Sprintf(`{"name":"x","parentFolderId":%q}`, folder)},
		{"bob", "DELETE", "/vault/documents/" + shared + "?version=1", ""},
		{"bob", "GET", "/vault/documents/" + shared, ""}, // an ordinary read
		{"bob", "GET", "/vault/documents/" + shared + ".md", ""},
		{"bob", "GET", "/vault/documents/" + shared + "/markdown", ""},
		{"admin", "GET", "/vault/documents/" + shared, ""},
		{"admin", "POST", "/core/search", `{"query":"notice period","folder_name":"Shared"}`},
		{"admin", "POST", "/core/ask", `{"query":"What is the notice period?","folder_name":"Shared"}`},
		{"admin", "GET", "/vault/documents/" + shared + "/content", ""},
		{"admin", "GET", "/vault/documents/" + others + "/versions/1/content", ""},
		{"bob", "GET", "/vault/audit?document=" + hers, ""},
		{"wrong", "GET", "/vault/folders", ""},
	} {
		s.do(call.method, call.path, call.body, "Authorization", "Bearer "+call.who)
	}
	bobOnHers := []string{
		`user:bob was denied access to document "hers.md" (GET /vault/documents/{id})`,
		`user:bob was denied access to folder "Hers" (GET /vault/folders/{id})`,
		`user:bob was denied access to document "hers.md" (POST /vault/documents/batch)`,
		`user:bob was denied access to folder "Hers" (POST /vault/folders)`,
	}
	onShared := []string{
		`user:bob was denied access to document "shared.md" (DELETE /vault/documents/{id})`,
		`user:bob downloaded document "shared.md"`,
		`user:admin read document "shared.md" as an administrator`,
		`user:admin read document "shared.md" as an administrator (by a search)`,
		`user:admin read document "shared.md" as an administrator (by a question)`,
		`user:admin downloaded document "shared.md" (as an administrator)`,
	}
	carolDenied := `user:carol was denied access to document "hers.md" (GET /vault/documents/{id})`
	last := `user:bob was denied access to document "hers.md" (GET /vault/audit)`
	onHers := append(append([]string{carolDenied}, bobOnHers...), last)
	onShared[1] = `user:bob downloaded document "shared.md", 2 times within a minute`
	alices := append(append(append([]string{carolDenied}, bobOnHers...), onShared...), last)
	byCarol := `user:admin downloaded document "carol.md" (as an administrator)`
	s.wantAccesses("alice", "", alices...)
	s.wantAccesses("alice", "&document="+hers, onHers[0], onHers[1], onHers[3], onHers[5])
	s.wantAccesses("alice", "&folder="+folder, onHers...)
	s.wantAccesses("alice", "&actor=user:admin", onShared[2:]...)
	s.wantAccesses("alice", "&limit=1", alices...)
	s.wantAccesses("carol", "", byCarol)
	s.wantAccesses("bob", "")
	everything := append(slices.Insert(slices.Clone(alices), len(alices)-1, byCarol), ` called without a valid token (GET /vault/folders)`)
	s.wantAccesses("admin", "", everything...)
	for _, path := range []string{"/vault/audit?kind=access&document=" + hers, "/vault/audit?kind=all&folder=" + folder} {
		if resp, body := s.do("GET", path, "", "Authorization", "Bearer bob"); resp.StatusCode != 404 {
			t.Errorf("bob's %s = %d %s", path, resp.StatusCode, body)
		}
	}
	if resp, body := s.do("GET", "/vault/audit?kind=access&document="+shared, "", "Authorization", "Bearer bob"); resp.StatusCode != 403 {
		t.Errorf("a reader's trail of accesses = %d %s", resp.StatusCode, body)
	}
	if resp, _ := s.do("GET", "/vault/audit?kind=reads", ""); resp.StatusCode != 422 {
		t.Errorf("an unknown kind = %d", resp.StatusCode)
	}
	// kind=changes is the default, and returns no accesses. With kind=all, changes and
	// accesses are sorted together by time.
	_, changes, _ := s.trail("")
	_, same, _ := s.trail("?kind=changes")
	if !slices.Equal(changes, same) || strings.Contains(strings.Join(changes, "\n"), "denied") {
		t.Errorf("changes %q, by their kind %q", changes, same)
	}
	var both []string
	entries, what, next := s.trail("?kind=all&limit=3")
	for at := entries[0].Time; ; entries, what, next = s.trail(next) {
		for i, e := range entries {
			if e.Time.After(at) {
				t.Errorf("%s comes after an older entry", what[i])
			}
			at = e.Time
		}
		both = append(both, what...)
		if next == "" {
			break
		}
	}
	const since = 2 // since alices was read, bob was denied the audit trails of a folder and a document
	if len(both) != len(changes)+len(alices)+since {
		t.Errorf("%d entries of both kinds, want %d and %d:\n%s", len(both), len(changes), len(alices)+since, strings.Join(both, "\n"))
	}
}

// The owner of a document sees all accesses to it, including accesses from before the document
// was moved.
func TestAccessesFollowTheDocument(t *testing.T) {
	s := startStack(t, recorded(t, accesslog.Reads{Every: 1}))
	id := s.file("A", "a.md", handbook)
	other := s.makeFolder("", "B")
	s.do("GET", "/vault/documents/"+id, "")
	read := `user:alice read document "a.md"`
	s.wantAccesses("alice", "", read)
	s.share(other, "user:carol", "own")
	s.do("PATCH", "/vault/documents/"+id, fmt.Sprintf(`{"folderId":%q}`, other), "If-Match", `"1"`)
	s.wantAccesses("carol", "&document="+id, read)
	s.wantAccesses("carol", "") // she did not own it at that time
}
