package http_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	httpd "annals/http"
)

// A read right after a write is never stale: the reply to the write waits for every read model
// that a client may read next.
func TestWriteAwaitsEveryReadModel(t *testing.T) {
	s := startStack(t)
	parent, document := s.makeFolder("", "Parent"), s.file("Folder", "a.md", "Text.")
	n := 0
	unique := func(format string) string {
		n++
		return fmt.Sprintf(format, n)
	}
	folder := func() string { return s.makeFolder("", unique("Folder %d")) }
	request := func(method, path, body string, header ...string) func() {
		return func() {
			if resp, reply := s.do(method, path, body, header...); resp.StatusCode >= 300 || resp.StatusCode == http.StatusAccepted {
				t.Errorf("%s %s = %d %s, want success", method, path, resp.StatusCode, reply)
			}
		}
	}
	change := func(method, path, body string) func() { // with If-Match for the document's current version
		resp, _ := s.do("GET", "/vault/documents/"+document, "")
		return request(method, "/vault/documents/"+document+path, body, "If-Match", resp.Header.Get("ETag"))
	}
	bob := []string{"Authorization", "Bearer bob"}
	unblock := request("DELETE", "/vault/invitations/blocked?principal=user:alice", "", bob...)
	invited := func(answer string) (write func()) {
		unblock()
		id := folder()
		s.offer(id, "user:bob", "read")
		return request("POST", "/vault/invitations/"+id+answer, "", bob...)
	}
	accept, decline := func() func() { return invited("/accept") }, func() func() { return invited("/decline") }

	// The keys are routes. Text after "?" distinguishes several requests to the same route.
	writes := map[string]func() (write func()){
		"POST /core/ingest": func() func() {
			body, kind := form(func(w *multipart.Writer) { addFile(w, "virus.exe", "MZ") })
			return request("POST", "/core/ingest", body, "Content-Type", kind)
		},
		"POST /core/ingest?stream=true": func() func() {
			return func() {
				_, lines := s.stream(t.Context())
				<-lines // the first event contains the id of the job
				go func() {
					for range lines { // until the stream ends
					}
				}()
			}
		},
		"POST /vault/folders":       func() func() { return request("POST", "/vault/folders", unique(`{"name":"New %d"}`)) },
		"PATCH /vault/folders/{id}": func() func() { return request("PATCH", "/vault/folders/"+parent, unique(`{"name":"Renamed %d"}`)) },
		"PATCH /vault/folders/{id}?move": func() func() {
			return request("PATCH", "/vault/folders/"+folder(), `{"parentFolderId":"`+parent+`"}`)
		},
		"DELETE /vault/folders/{id}": func() func() { return request("DELETE", "/vault/folders/"+folder(), "") },
		"PUT /vault/folders/{id}/permissions": func() func() {
			return request("PUT", "/vault/folders/"+folder()+"/permissions", `{"permissions":[{"principal":"user:bob","access":"read"}]}`)
		},
		"POST /vault/invitations/{id}/accept":  accept,
		"POST /vault/invitations/{id}/decline": decline,
		"POST /vault/invitations/{id}/decline?accepted": func() func() {
			unblock()
			id := folder()
			s.share(id, "user:bob", "read")
			return request("POST", "/vault/invitations/"+id+"/decline", "", bob...)
		},
		"DELETE /vault/invitations/blocked": func() func() { decline()(); return unblock },
		"PATCH /vault/documents/{id}":       func() func() { return change("PATCH", "", unique(`{"name":"%d.md"}`)) },
		"PATCH /vault/documents/{id}?move":  func() func() { return change("PATCH", "", `{"folderId":"`+folder()+`"}`) },
		"DELETE /vault/documents/{id}": func() func() {
			return request("DELETE", "/vault/documents/"+s.file("Folder", unique("%d.md"), unique("Text %d."))+"?version=1", "")
		},
		"POST /vault/documents/{id}/restore": func() func() {
			id := s.file("Folder", unique("%d.md"), unique("Text %d."))
			if resp, body := s.do("DELETE", "/vault/documents/"+id+"?version=1", ""); resp.StatusCode != http.StatusNoContent {
				t.Fatalf("DELETE = %d %s", resp.StatusCode, body)
			}
			return func() {
				if resp, body := s.do("POST", "/vault/documents/"+id+"/restore", ""); resp.StatusCode != http.StatusAccepted || !strings.Contains(body, `"results":[{`) { // the job as it is read
					t.Errorf("restore = %d %s, want 202 with the job's file", resp.StatusCode, body)
				}
			}
		},
		"POST /vault/documents/reread":      func() func() { return request("POST", "/vault/documents/reread", `{"ids":["`+document+`"]}`) },
		"PUT /vault/documents/{id}/content": func() func() { return change("PUT", "/content", unique("New text %d.")) },
		"PUT /vault/documents/{id}/tags":    func() func() { return change("PUT", "/tags", unique(`{"tags":["tag %d"]}`)) },
	}
	tested := map[string]bool{}
	for name := range writes {
		route, _, _ := strings.Cut(name, "?")
		tested[route] = true
	}
	for _, route := range routesOf(t, s.server) {
		if changes(route) && !tested[route] && !strings.HasPrefix(route, "POST /core/admin/") { // these append no event
			t.Errorf("%s changes something: add a request to TestWriteAwaitsEveryReadModel in http/await_test.go", route)
		}
	}
	for name, prepare := range writes {
		var types []string
		switch {
		case strings.HasPrefix(name, "POST /core/ingest"), name == "POST /vault/documents/reread", name == "POST /vault/documents/{id}/restore":
			types = []string{"ImportRequested"} // the import continues after the reply
		case name == "PUT /vault/documents/{id}/content":
			types = []string{"JobFinished"}
		}
		s.stack.CheckAwait(t, name, types, prepare)
		s.finish(strings.TrimPrefix(lastJob(s), "job-"))
	}
}

// If a read model takes longer than Await to apply a write, the reply is 202, not an error.
func TestWriteSucceedsDespiteLag(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.Await = 100 * time.Millisecond })
	for _, m := range s.stack.Queries.Models.Awaited() {
		release := s.stack.Block(t, m.Name())
		resp, body := s.do("POST", "/vault/folders", fmt.Sprintf(`{"name":"While %s lags"}`, m.Name()))
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("POST /vault/folders while %s lags = %d %s, want 202", m.Name(), resp.StatusCode, body)
		}
		release()
	}
}

// New content for a document is accepted with 202 while a read model lags.
func TestRevisionIsAcceptedDespiteLag(t *testing.T) {
	s := startStack(t)
	document := s.file("Folder", "a.md", "Text.")
	s.stack.Queries.Models.MaxLag = 100 * time.Millisecond
	defer s.stack.Block(t, "audit")()
	resp, body := s.do("PUT", "/vault/documents/"+document+"/content", "New text.", "If-Match", `"1"`)
	if resp.StatusCode != http.StatusAccepted || resp.Header.Get("Location") == "" {
		t.Errorf("PUT content while the audit trail lags = %d %s, want 202 with the job's location", resp.StatusCode, body)
	}
}

// The job in the first event of a progress stream is never reported as missing. While the
// read model lags, GET of the job waits or returns 503.
func TestFirstEventNamesKnownJob(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.Await = 10 * time.Millisecond })
	s.stack.Queries.Models.MaxLag = 50 * time.Millisecond
	release := s.stack.Block(t, "jobs")
	defer release()
	_, lines := s.stream(t.Context())
	data, _ := strings.CutPrefix(<-lines, "data: ")
	event := decode[struct {
		JobID string `json:"job_id"`
	}](t, data)
	if resp, body := s.do("GET", "/core/jobs/"+event.JobID, ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("GET the job while the read model lags = %d %s, want 503", resp.StatusCode, body)
	}
	s.stack.Queries.Models.MaxLag = time.Hour
	status := make(chan int, 1)
	go func() {
		resp, _ := s.do("GET", "/core/jobs/"+event.JobID, "")
		status <- resp.StatusCode
	}()
	release()
	if got := <-status; got != http.StatusOK {
		t.Errorf("GET the job after the lag = %d, want 200", got)
	}
	for range lines { // until the stream ends
	}
}

func TestReadAfterWriteIsFresh(t *testing.T) {
	s := startStack(t)
	folder := s.makeFolder("", "Folder")
	document := s.file("Folder", "a.md", "Text.")
	for i := range 20 {
		name, request := fmt.Sprintf("%d.md", i), fmt.Sprintf("request-%d", i)
		if resp, body := s.do("PATCH", "/vault/documents/"+document, fmt.Sprintf(`{"name":%q,"version":%d}`, name, i+1), "X-Request-Id", request); resp.StatusCode != 200 {
			t.Fatalf("rename: %d %s", resp.StatusCode, body)
		}
		_, body := s.do("GET", "/core/folders/summary?folder_name=Folder", "")
		if !strings.Contains(body, name) {
			t.Errorf("summary after a rename to %s = %s", name, body)
		}
		_, body = s.do("GET", "/vault/audit?limit=1", "")
		if !strings.Contains(body, request) {
			t.Errorf("last entry of the audit trail after %s = %s", request, body)
		}
		s.makeFolder(folder, fmt.Sprint(i))
		_, body = s.do("GET", "/vault/usage", "")
		var usage struct{ Folders struct{ Used int } }
		if err := json.Unmarshal([]byte(body), &usage); err != nil || usage.Folders.Used != i+2 {
			t.Errorf("usage with %d folders = %s", i+2, body)
		}
	}
}

// An import makes progress while a read model lags.
func TestImportGoesOnWhileReadModelLags(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.Await = 50 * time.Millisecond })
	s.stack.Queries.Models.MaxLag = 50 * time.Millisecond
	for _, model := range []string{"audit", "usage"} {
		release := s.stack.Block(t, model)
		_, lines := s.stream(t.Context())
		var last string
		for line := range lines {
			if strings.HasPrefix(line, "data: ") {
				last = line
			}
		}
		if !strings.Contains(last, `"event_type":"complete"`) {
			t.Errorf("while %s lags, the stream ends with %s, want complete", model, last)
		}
		release()
	}
}
