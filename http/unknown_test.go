package http_test

import (
	"fmt"
	"mime/multipart"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// An unknown field is refused, and the error suggests the most similar field. Otherwise a
// misspelled field would be ignored without notice.
func TestUnknownFieldsAreRefused(t *testing.T) {
	s := start(t, nil)
	const core = `{"detail":[{"type":"extra_forbidden","loc":["body","%s"],"msg":"Extra inputs are not permitted: %s","input":%s}]}`
	const vault = `{"statusCode":422,"message":["property %s should not exist: %s"],"error":"Unprocessable Entity"}`
	id := uuid.NewString()
	for _, c := range []struct{ call, body, want string }{
		{"POST /core/search", `{"query":"a","folder":"A"}`, fmt.Sprintf(core, "folder", "did you mean folder_name?", `"A"`)},
		{"POST /core/ask", `{"query":"a","qqq":null}`, fmt.Sprintf(core, "qqq", "known: query, folder_name, tags, document_id, generation, history", "null")},
		{"POST /vault/folders", `{"name":"A","parent":null}`, fmt.Sprintf(vault, "parent", "did you mean parentFolderId?")},
		{"PATCH /vault/folders/" + id, `{"name":"A","version":1}`, fmt.Sprintf(vault, "version", "known: name, parentFolderId")},
		{"PUT /vault/folders/" + id + "/permissions", `{"permissions":[{"principal":"user:bob","access":"read","pendng":true}]}`, fmt.Sprintf(vault, "permissions.0.pendng", "did you mean pending?")},
		{"PATCH /vault/documents/" + id, `{"name":"A","version":1,"folder_id":"x"}`, fmt.Sprintf(vault, "folder_id", "did you mean folderId?")},
		{"PUT /vault/documents/" + id + "/tags", `{"tags":[],"version":1,"tag":"x"}`, fmt.Sprintf(vault, "tag", "did you mean tags?")},
		{"POST /vault/documents/batch", `{"ids":["` + id + `"],"id":"x"}`, fmt.Sprintf(vault, "id", "did you mean ids?")},
	} {
		method, path, _ := strings.Cut(c.call, " ")
		resp, body := s.do(method, path, c.body)
		s.want(resp, body, 422, c.want)
	}
	var many strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&many, `,"%0100d":1`, i)
	}
	for _, path := range []string{"/core/search", "/vault/folders"} {
		if resp, body := s.do("POST", path, `{"query":"a","name":"a"`+many.String()+`}`); resp.StatusCode != 422 || len(body) > 64<<10 {
			t.Errorf("5,000 unknown fields at %s = %d with %d bytes, want 422 with few", path, resp.StatusCode, len(body))
		}
	}
}

func TestUnknownFieldsOfUploadsAreRefused(t *testing.T) {
	s := start(t, nil)
	const want = `{"detail":[{"type":"extra_forbidden","loc":["body",%s],"msg":"Extra inputs are not permitted: did you mean %s?","input":%s}]}`
	resp, body := s.upload("", func(w *multipart.Writer) {
		addFile(w, "a.md", "# A")
		addFile(w, "b.md", "# B")
		_ = w.WriteField("file_metadata", `[{"folder_name":"A"},{"folder":"B"}]`)
	})
	s.want(resp, body, 422, fmt.Sprintf(want, `"file_metadata",1,"folder"`, "folder_name", `"B"`))
	resp, body = s.upload("", func(w *multipart.Writer) {
		addFile(w, "a.md", "# A")
		_ = w.WriteField("metadata", `[{"folder_name":"A"}]`)
	})
	s.want(resp, body, 422, fmt.Sprintf(want, `"metadata"`, "file_metadata", "null"))
	resp, body = s.upload("", func(w *multipart.Writer) {
		addFile(w, "a.md", "# A")
		_ = w.WriteField("file_meta", "[]")
	})
	s.want(resp, body, 422, fmt.Sprintf(want, `"file_meta"`, "file_metadata", "null"))
	if batch, _, err := s.log.Read(t.Context(), 0, 1, "ImportRequested"); err != nil || len(batch) > 0 {
		t.Errorf("%d uploads were accepted (%v)", len(batch), err)
	}
}

// Every route refuses unknown query parameters, except deep links.
func TestUnknownParametersAreRefused(t *testing.T) {
	s := start(t, nil)
	const vault = `{"statusCode":422,"message":["property %s should not exist: %s"],"error":"Unprocessable Entity"}`
	for path, want := range map[string]string{
		"/vault/documents?folder=x":          fmt.Sprintf(vault, "folder", "did you mean folderId?"),
		"/vault/folders?qqq=x":               fmt.Sprintf(vault, "qqq", "known: parentFolderId, path, limit, cursor"),
		"/vault/tags?limit=5":                fmt.Sprintf(vault, "limit", "nothing is known here"),
		"/core/folders/summary?folder=Inbox": `{"detail":[{"type":"extra_forbidden","loc":["query","folder"],"msg":"Extra inputs are not permitted: did you mean folder_name?","input":"Inbox"}]}`,
	} {
		resp, body := s.do("GET", path, "")
		s.want(resp, body, 422, want)
	}
	for route := range matrix {
		method, path, _ := strings.Cut(route, " ")
		service := strings.HasPrefix(path, "/core/") || strings.HasPrefix(path, "/vault/")
		if !service || strings.Contains(path, "openapi") || strings.Contains(path, "?") || strings.Contains(path, ".{ext}") {
			continue
		}
		path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, uuid.NewString())
		if resp, body := s.do(method, path+"?nonsense=1", ""); resp.StatusCode != 422 || !strings.Contains(body, "nonsense") {
			t.Errorf("%s?nonsense=1 = %d %s", route, resp.StatusCode, body)
		}
		if resp, _ := s.do(method, path+"?nonsense=1", "", "Authorization", ""); resp.StatusCode != 401 {
			t.Errorf("%s?nonsense=1 without a token = %d, want 401", route, resp.StatusCode)
		}
	}
	if resp, body := s.do("GET", "/documents/"+uuid.NewString()+".md?utm_source=mail", ""); resp.StatusCode != 404 {
		t.Errorf("a deep link with a parameter = %d %s, want 404", resp.StatusCode, body)
	}
}
