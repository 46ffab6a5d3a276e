package http_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	httpd "annals/http"

	"github.com/google/uuid"
)

func failure(status int, message string) string {
	return fmt.Sprintf(`{"statusCode":%d,"message":%q,"error":%q}`, status, message, http.StatusText(status))
}

func invalid(messages ...string) string {
	return fmt.Sprintf(`{"statusCode":422,"message":["%s"],"error":"Unprocessable Entity"}`, strings.Join(messages, `","`))
}

// After the reply, a change to a folder can be read. The reply has the ETag that the next
// change needs.
func TestChangeFolders(t *testing.T) {
	s := startStack(t)
	resp, body := s.do("POST", "/vault/folders", `{"name":" A "}`)
	made := decode[struct{ ID, Name string }](t, body)
	if resp.StatusCode != 201 || made.Name != "A" || resp.Header.Get("Location") != "/vault/folders/"+made.ID {
		t.Fatalf("made %d %s at %q", resp.StatusCode, body, resp.Header.Get("Location"))
	}
	resp, got := s.do("GET", "/vault/folders/"+made.ID, "")
	s.want(resp, got, 200, body)
	first := resp.Header.Get("ETag")
	b := s.makeFolder(made.ID, "B")
	resp, body = s.do("PATCH", "/vault/folders/"+made.ID, `{"name":"Ä"}`, "If-Match", first)
	renamed := resp.Header.Get("ETag")
	if resp.StatusCode != 200 || renamed == first || decode[struct{ Name string }](t, body).Name != "Ä" {
		t.Errorf("renamed %d %s %q", resp.StatusCode, body, renamed)
	}
	version := versionIn(renamed)
	for _, stale := range []string{first, strings.Split(first, ".")[0] + `"`} {
		resp, body = s.do("PATCH", "/vault/folders/"+made.ID, `{"name":"C"}`, "If-Match", stale)
		s.want(resp, body, 409, failure(409, "folder \"Ä\" is at version "+version+", not "+versionIn(first)))
	}
	resp, body = s.do("POST", "/vault/folders", `{"name":"B","parentFolderId":"`+made.ID+`"}`)
	if resp.StatusCode != 409 || !strings.Contains(body, "taken") {
		t.Errorf("the same name again = %d %s", resp.StatusCode, body)
	}
	if resp, body = s.do("PATCH", "/vault/folders/"+b, `{"parentFolderId":null}`); resp.StatusCode != 200 || !strings.Contains(body, `"parentFolderId":null`) {
		t.Errorf("moved to the top = %d %s", resp.StatusCode, body)
	}
	if resp, body = s.do("PATCH", "/vault/folders/"+made.ID, `{"parentFolderId":"`+b+`"}`, "If-Match", `"`+version+`"`); resp.StatusCode != 200 || !strings.Contains(body, b) {
		t.Errorf("moved = %d %s", resp.StatusCode, body)
	}
	resp, body = s.do("DELETE", "/vault/folders/"+b+"?recursive=false", "")
	s.want(resp, body, 409, failure(409, `folder "B" is not empty: empty it first, or delete it with everything in it (recursive=true)`))
	for path, status := range map[string]int{b + "?recursive=true": 204, b: 404, made.ID: 404} {
		if strings.HasSuffix(path, "true") {
			resp, body = s.do("DELETE", "/vault/folders/"+path, "")
			if resp.StatusCode != status || body != "" {
				t.Errorf("delete %s = %d %s", path, resp.StatusCode, body)
			}
		}
	}
	for _, id := range []string{b, made.ID} {
		resp, body = s.do("GET", "/vault/folders/"+id, "")
		s.want(resp, body, 404, notFound)
	}
}

// All errors in a request are reported together, even if the folder or document does not
// exist.
func TestChangesAreValidated(t *testing.T) {
	s := startStack(t)
	id := uuid.NewString()
	const noVersion = "the version that was read must be given, as If-Match or as version"
	const badIfMatch = `If-Match must be the ETag of the version that was read, with its quotes`
	folder, document := "/vault/folders/"+id, "/vault/documents/"+id
	for _, test := range []struct{ method, path, body, match, want string }{
		{"POST", "/vault/folders", `[]`, "", invalid("body must be a JSON object")},
		{"POST", "/vault/folders", `{"parentFolderId":"x"}`, "", invalid("name must be a string", "parentFolderId must be a UUID")},
		{"POST", "/vault/folders", `{"name":" ","parentFolderId":"` + uuid.Nil.String() + `"}`, "", invalid("name should not be empty", "parentFolderId must be a UUID")},
		{"POST", "/vault/folders", `{"name":"a/b"}`, "", invalid("a name cannot contain a slash")},
		{"PATCH", folder, `{}`, "", invalid("name or parentFolderId should be given")},
		{"PATCH", folder, `{"name":null,"parentFolderId":7}`, `W/"1"`, invalid("name must be a string", "parentFolderId must be a UUID", badIfMatch)},
		{"PATCH", folder, `{"name":"a"}`, `*`, invalid(badIfMatch)},
		{"DELETE", folder + "?recursive=yes", ``, `1`, invalid("recursive must be a boolean string", badIfMatch)},
		{"PUT", folder + "/permissions", `{}`, "", invalid("permissions must be an array")},
		{"PUT", folder + "/permissions", `{"permissions":[1]}`, "", invalid("each value in nested property permissions must be either object or array")},
		{"PUT", folder + "/permissions", `{"permissions":[{"access":"none"},{"principal":"user:a","access":"read"},{"principal":""}]}`, "",
			invalid("permissions.0.principal must be a string", "permissions.0.access must be one of the following values: read, write, own",
				"permissions.2.principal should not be empty", "permissions.2.access must be one of the following values: read, write, own")},
		{"PUT", folder + "/permissions", `{"permissions":[` + strings.TrimSuffix(strings.Repeat(`{},`, 1001), ",") + `]}`, "", invalid("permissions must contain no more than 1000 elements")},
		{"PATCH", document, `{"name":"a"}`, "", invalid(noVersion)},
		{"PATCH", document, `{"folderId":null,"version":"1"}`, "", invalid("folderId must be a UUID", "version must be an integer number")},
		{"PATCH", document, `{"version":1.5}`, "", invalid("name or folderId should be given", "version must be an integer number")},
		{"PATCH", document, `{"name":"a","version":0}`, `"1"`, invalid("version must not be less than 1")},
		{"PATCH", document, `{"name":"a","version":1e400}`, "", invalid("version must be an integer number")},
		{"PATCH", document, `{"name":"a","version":3000000000}`, "", invalid("version must not be greater than 2147483647")},
		{"PATCH", document, `{"name":"a","version":2}`, `"1"`, invalid("If-Match and version must name the same version")},
		{"PATCH", document, `{"name":"a","version":1}`, `W/"1"`, invalid(badIfMatch)},
		{"PATCH", document, `{"name":"a"}`, `"1", "2"`, invalid(badIfMatch)},
		{"PATCH", document, `{"name":"a"}`, `*`, invalid(badIfMatch)},
		{"PATCH", document, `{"name":"a"}`, `"1.0123456789abcdef"`, invalid(badIfMatch)},
		{"PUT", document + "/tags", `{"tags":{}}`, "", invalid("tags must be an array", noVersion)},
		{"PUT", document + "/tags", `{"tags":["a",1,2],"version":1}`, "", invalid("each value in tags must be a string")},
		{"PUT", document + "/tags", `{"tags":["a\nb"],"version":1}`, "", invalid("a tag cannot contain control characters")},
		{"PATCH", document, `{"name":"..","version":1}`, "", invalid(`a name cannot be \"..\"`)},
		{"DELETE", document, ``, "", invalid(noVersion)},
		{"DELETE", document + "?version=x", ``, "", invalid("version must be an integer number")},
		{"DELETE", document + "?version=1&version=2", ``, "", invalid("version must be an integer number")},
		{"DELETE", document + "?version=2", ``, `"1"`, invalid("If-Match and version must name the same version")},
		{"PUT", document + "/content", `x`, "", invalid("the version that was read must be given as If-Match")},
		{"PUT", document + "/content", ``, `*`, invalid(badIfMatch, "body should not be empty")},
	} {
		resp, body := s.do(test.method, test.path, test.body, "If-Match", test.match)
		s.want(resp, body, 422, test.want)
		malformed := strings.Replace(test.path, id, "x", 1)
		if malformed == test.path {
			continue
		}
		resp, body = s.do(test.method, malformed, test.body, "If-Match", test.match)
		s.want(resp, body, 404, notFound)
	}
}

// Every change to a document creates a version. The next change must name that version.
func TestChangeDocuments(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "a.md", handbook, "x")
	from, to := s.folderOf(id), s.makeFolder("", "B")
	path := "/vault/documents/" + id
	stale := func(current, given int) string {
		return failure(409, fmt.Sprintf("document %q is at version %d, not %d", "b.md", current, given))
	}
	resp, body := s.do("PATCH", path, `{"name":"b.md","folderId":"`+to+`","version":1}`)
	item := decode[struct {
		Name, FolderID string
		Version, Size  int
	}](t, body)
	if resp.StatusCode != 200 || item.Name != "b.md" || item.FolderID != to || item.Version != 2 || item.Size != 0 || resp.Header.Get("ETag") != `"2"` {
		t.Fatalf("renamed and moved = %d %s", resp.StatusCode, body)
	}
	resp, body = s.do("PUT", path+"/tags", `{"tags":["b"," a ","b"]}`, "If-Match", `"1"`)
	s.want(resp, body, 409, stale(2, 1))
	resp, body = s.do("PUT", path+"/tags", `{"tags":["b"," a ","b"],"version":2}`, "If-Match", `"2"`)
	s.want(resp, body, 200, `{"tags":["b","a"]}`)
	if got := resp.Header.Get("ETag"); got != `"3"` {
		t.Errorf("tags at %s, want 3", got)
	}
	resp, body = s.do("PUT", path+"/tags", `{"tags":["b","a"],"version":3}`)
	if s.want(resp, body, 200, `{"tags":["b","a"]}`); resp.Header.Get("ETag") != `"3"` {
		t.Errorf("setting the same tags again creates version %s", resp.Header.Get("ETag"))
	}
	resp, body = s.do("GET", path+"/versions", "")
	list := decode[[]struct {
		Version                           int
		CreatedBy, Change, Name, FolderID string
		Size                              int
		Tags                              []string
	}](t, body)
	want := fmt.Sprintf("[{1 user:alice imported a.md %s %[3]d [x]} {2 user:alice renamed, moved b.md %[2]s %[3]d [x]} {3 user:alice tagged b.md %[2]s %[3]d [b a]}]", from, to, len(handbook))
	if got := fmt.Sprint(list); resp.StatusCode != 200 || got != want {
		t.Errorf("versions = %d %s", resp.StatusCode, body)
	}
	resp, body = s.do("GET", path+"/versions/1", "")
	if resp.StatusCode != 200 || !strings.Contains(body, `"a.md"`) || !strings.Contains(body, from) || !strings.Contains(body, "ninety days") {
		t.Errorf("version 1 = %d %s", resp.StatusCode, body)
	}
	resp, body = s.do("GET", path+"/versions/1/content", "")
	if resp.StatusCode != 200 || body != handbook || !strings.Contains(resp.Header.Get("Content-Disposition"), "a.md") {
		t.Errorf("content of version 1 = %d %s %v", resp.StatusCode, body, resp.Header)
	}
	if resp, body = s.do("GET", path+"/versions/1/markdown", ""); resp.StatusCode != 200 || !strings.Contains(body, "ninety days") || !strings.HasPrefix(body, "---\n") {
		t.Errorf("text of version 1 = %d %s", resp.StatusCode, body)
	}
	for _, none := range []string{"0", "4", "01", "+1", "x", "1.0", "99999999999999999999"} {
		for _, end := range []string{"", "/content", "/markdown"} {
			resp, body = s.do("GET", path+"/versions/"+none+end, "")
			s.want(resp, body, 404, notFound)
		}
	}
	resp, body = s.do("DELETE", path+"?version=2", "")
	s.want(resp, body, 409, stale(3, 2))
	if resp, body = s.do("DELETE", path+"?version=3", "", "If-Match", `"3"`); resp.StatusCode != 204 || body != "" {
		t.Errorf("delete = %d %s", resp.StatusCode, body)
	}
	for _, end := range []string{"", "/content", "/markdown", "/tags", "/versions", "/versions/1", "/versions/1/content", "/versions/1/markdown"} {
		resp, body = s.do("GET", path+end, "")
		s.want(resp, body, 404, notFound)
	}
	resp, body = s.do("DELETE", path+"?version=3", "")
	s.want(resp, body, 404, notFound)
}

// A permission list is returned as it was set. Grants and withdrawals take effect before the
// reply.
func TestChangePermissions(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "a.md", handbook)
	folder := s.folderOf(id)
	path := "/vault/folders/" + folder + "/permissions"
	bob := []string{"Authorization", "Bearer bob"}
	resp, body := s.do("GET", path, "")
	s.want(resp, body, 200, `{"owners":["user:alice"],"permissions":[]}`)
	first := resp.Header.Get("ETag")
	list := `"permissions":[{"principal":"group:staff","access":"own"},{"principal":"user:bob","access":"read"}]`
	pending := strings.Replace(list, `"read"`, `"read","pending":true`, 1)
	resp, body = s.do("PUT", path, `{"owners":[],`+list+`}`, "If-Match", first)
	s.want(resp, body, 200, `{"owners":["user:alice"],`+pending+`}`)
	s.share(folder, "group:staff", "own", "user:bob", "read")
	resp, body = s.do("GET", path, "")
	s.want(resp, body, 200, `{"owners":["user:alice"],`+list+`}`)
	if resp.Header.Get("ETag") == first {
		t.Errorf("sharing left the version at %s", first)
	}
	if resp, body = s.do("PUT", path, `{"permissions":[]}`, "If-Match", first); resp.StatusCode != 409 {
		t.Errorf("sharing by a stale version = %d %s", resp.StatusCode, body)
	}
	if resp, body = s.do("GET", "/vault/documents/"+id, "", bob...); resp.StatusCode != 200 {
		t.Errorf("shared with bob, who reads %d %s", resp.StatusCode, body)
	}
	if resp, body = s.do("GET", path, "", bob...); resp.StatusCode != 403 {
		t.Errorf("bob reads the permissions: %d %s", resp.StatusCode, body)
	}
	if resp, body = s.do("PATCH", "/vault/documents/"+id, `{"name":"b","version":9}`, bob...); resp.StatusCode != 403 || strings.Contains(body, "version") {
		t.Errorf("bob renames: %d %s", resp.StatusCode, body)
	}
	s.share(folder)
	resp, body = s.do("GET", "/vault/documents/"+id, "", bob...)
	s.want(resp, body, 404, notFound)
	for list, why := range map[string]string{
		`{"principal":"bob","access":"read"}`:                                            "is not a principal",
		`{"principal":"user:b","access":"read"},{"principal":"user:b","access":"write"}`: "more than one",
	} {
		if resp, body = s.do("PUT", path, `{"permissions":[`+list+`]}`); resp.StatusCode != 422 || !strings.Contains(body, why) {
			t.Errorf("%s = %d %s", list, resp.StatusCode, body)
		}
	}
}

// Owners who withdraw their own access receive 202 without the folder, because they may no
// longer read it.
func TestWithdrawOwnAccess(t *testing.T) {
	var logged bytes.Buffer
	s := startStack(t, func(h *httpd.Server) {
		h.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	folder := s.makeFolder("", "A")
	s.share(folder, "user:bob", "own")
	resp, body := s.do("PUT", "/vault/folders/"+folder+"/permissions", `{"permissions":[]}`, "Authorization", "Bearer bob")
	s.want(resp, body, 202, `{"statusCode":202,"message":"accepted","id":"`+folder+`"}`)
	resp, body = s.do("GET", "/vault/folders/"+folder+"/permissions", "")
	s.want(resp, body, 200, `{"owners":["user:alice"],"permissions":[]}`)
	if got := logged.String(); strings.Contains(got, "after changing it") {
		t.Errorf("an error was logged: %s", got)
	}
}

// If a read model takes longer than Await, the reply to the change is 202.
func TestChangesDespiteLag(t *testing.T) {
	s := start(t, func(h *httpd.Server) { h.Await = time.Millisecond })
	s.library.lag = true
	resp, body := s.do("POST", "/vault/folders", `{"name":"A"}`)
	id := decode[struct{ ID string }](t, body).ID
	s.want(resp, body, 202, `{"statusCode":202,"message":"accepted","id":"`+id+`"}`)
	if got := resp.Header.Get("Location"); got != "/vault/folders/"+id {
		t.Errorf("Location %q", got)
	}
	resp, body = s.do("DELETE", "/vault/folders/"+id+"?recursive=true", "")
	s.want(resp, body, 202, `{"statusCode":202,"message":"accepted","id":"`+id+`"}`)
	resp, body = s.do("DELETE", "/vault/folders/"+id+"?recursive=true", "")
	s.want(resp, body, 404, notFound)
}
