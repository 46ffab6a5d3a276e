package http_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"annals/cmd/stacktest"
	"annals/commands"
	"annals/commands/importer/extract"
	httpd "annals/http"
	"annals/http/admin"
	"annals/http/metrics"
	"annals/projections/generation"
)

// startStack starts a server with the real commands, importer, read models and search index,
// in temporary folders, over a log in memory. Replies to writes wait for the read models
// without a timeout. The functions in change may set options.
func startStack(t *testing.T, change ...func(*httpd.Server)) *service {
	t.Helper()
	return startStackOver(t, func(*generation.Options) {}, change...)
}

// startStackOver is startStack with other engines for the read models and the search index.
func startStackOver(t *testing.T, engines func(*generation.Options), change ...func(*httpd.Server)) *service {
	t.Helper()
	return startStackWith(t, nil, engines, change...)
}

// startStackWith is startStackOver with another reader of files, unless it is nil.
func startStackWith(t *testing.T, files extract.Reader, engines func(*generation.Options), change ...func(*httpd.Server)) *service {
	t.Helper()
	var stack *stacktest.Stack
	s := start(t, func(h *httpd.Server) {
		stack = stacktest.Open(t, h.Commands.(*commands.Handler), engines)
		if files != nil {
			stack.Importer.Reader = files
		}
		h.Queries = stack.Queries
		measures := h.Metrics.(*metrics.Metrics)
		measures.Follow(stack.Queries, nil)
		stack.Importer.Observe = measures.Step
		h.Await, h.Revise, h.Silence = time.Hour, time.Hour, time.Hour
		h.Admin = &admin.Service{Models: stack.Queries.Models.Set, Log: h.Commands.(*commands.Handler).Log, Figures: stack.Queries.Figures, Stored: func() map[string]int64 { return map[string]int64{"log": 7, "search_index": 0} }, Accounts: twoAccounts{}}
		for _, set := range change {
			set(h)
		}
		stack.Run(t, h.Originals)
	})
	s.stack = stack
	return s
}

// decode decodes JSON.
func decode[T any](t *testing.T, body string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

type jobReply struct {
	JobID      string `json:"job_id"`
	Status     string
	Message    string
	Done       bool
	Successful int
	Failed     int
	Results    []struct {
		Filename   string
		Success    bool
		FolderName string `json:"folder_name"`
		DocumentID string `json:"document_id"`
		Error      string
		Duplicate  bool
	}
}

// finish waits until a job is done.
func (s *service) finish(id string) jobReply {
	s.Helper()
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		resp, body := s.do("GET", "/core/jobs/"+id, "")
		if resp.StatusCode != 200 {
			s.Fatalf("job %s = %d %s", id, resp.StatusCode, body)
		}
		if j := decode[jobReply](s.T, body); j.Done {
			return j
		}
	}
}

// file imports a text as the user of s.token, and returns the id of its document.
func (s *service) file(folder, name, text string, tags ...string) (id string) {
	s.Helper()
	resp, body := s.upload("", func(w *multipart.Writer) {
		metadata, _ := json.Marshal([]map[string]any{{"folder_name": folder, "tags": append([]string{}, tags...)}})
		w.WriteField("file_metadata", string(metadata))
		addFile(w, name, text)
	})
	if resp.StatusCode != 200 {
		s.Fatalf("import %s: %d %s", name, resp.StatusCode, body)
	}
	j := s.finish(decode[jobReply](s.T, body).JobID)
	if j.Successful != 1 {
		s.Fatalf("import %s: %+v", name, j)
	}
	return j.Results[0].DocumentID
}

// folderOf returns the id of the folder of a document, or "" if the user of s.token may not
// read it.
func (s *service) folderOf(document string) string {
	s.Helper()
	_, body := s.do("GET", "/vault/documents/"+document, "")
	return decode[struct{ FolderID string }](s.T, body).FolderID
}

// makeFolder creates a folder, at the top level if parent is "".
func (s *service) makeFolder(parent, name string) (id string) {
	s.Helper()
	in, _ := json.Marshal(map[string]any{"name": name, "parentFolderId": orNil(parent)})
	resp, body := s.do("POST", "/vault/folders", string(in))
	if resp.StatusCode != 201 {
		s.Fatalf("create folder %s: %d %s", name, resp.StatusCode, body)
	}
	return decode[struct{ ID string }](s.T, body).ID
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// share sets the permission list of a folder to pairs of principal and access. Users who
// receive an invitation accept it.
func (s *service) share(folder string, list ...string) {
	s.Helper()
	for _, who := range s.offer(folder, list...) {
		token := strings.TrimPrefix(who, "user:")
		if s.tokens != nil {
			token = s.tokens[token]
		}
		if resp, body := s.do("POST", "/vault/invitations/"+folder+"/accept", "", "Authorization", "Bearer "+token); resp.StatusCode != 204 {
			s.Fatalf("%s accepts %s: %d %s", who, folder, resp.StatusCode, body)
		}
	}
}

// offer is like share, but leaves the invitations pending. It returns the invited users.
func (s *service) offer(folder string, list ...string) (invited []string) {
	s.Helper()
	permissions := []map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		permissions = append(permissions, map[string]string{"principal": list[i], "access": list[i+1]})
	}
	in, _ := json.Marshal(map[string]any{"permissions": permissions})
	resp, body := s.do("PUT", "/vault/folders/"+folder+"/permissions", string(in))
	if resp.StatusCode != 200 {
		s.Fatalf("share %s: %d %s", folder, resp.StatusCode, body)
	}
	for _, p := range decode[permissionList](s.T, body).Permissions {
		if p.Pending {
			invited = append(invited, p.Principal)
		}
	}
	return invited
}

type permissionList struct {
	Permissions []struct {
		Principal, Access string
		Pending           bool
	}
}

const handbook = "# Handbook\n\n## Notice\n\nThe notice period of the supplier contract is ninety days.\n\n## Holidays\n\nEverybody has thirty days of holidays.\n"

// When the job of an upload is done, its owner finds the document in listings, searches and
// answers. Other users do not.
func TestImportThenAsk(t *testing.T) {
	s := startStack(t)
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"Staff/2026","tags":["hr"]},{"folder_name":"Staff"},{}]`)
		addFile(w, "handbook.md", handbook)
		addFile(w, "note.txt", "The office closes at noon on Fridays.\n")
		addFile(w, "virus.exe", "MZ")
	})
	j := decode[jobReply](t, body)
	if resp.StatusCode != 200 || len(j.Results) != 3 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	j = s.finish(j.JobID)
	if j.Status != "complete" || j.Successful != 2 || j.Failed != 1 || !j.Results[0].Success || j.Results[2].Success || j.Results[2].Error == "" {
		t.Fatalf("job %+v", j)
	}
	id := j.Results[0].DocumentID

	_, body = s.do("GET", "/vault/folders", "")
	top := decode[[]struct{ ID, Name string }](t, body)
	if len(top) != 1 || top[0].Name != "Staff" {
		t.Fatalf("folders %s", body)
	}
	_, body = s.do("GET", "/vault/folders/"+top[0].ID+"?include=true", "")
	detail := decode[struct {
		Documents, Subfolders []struct{ ID, Name string }
	}](t, body)
	if len(detail.Documents) != 1 || len(detail.Subfolders) != 1 || detail.Subfolders[0].Name != "2026" {
		t.Errorf("folder %s", body)
	}
	for path, want := range map[string]string{
		"/vault/documents?folderId=" + detail.Subfolders[0].ID: id,
		"/vault/documents?tag=hr":                              id,
		"/vault/documents/" + id:                               "ninety days",
		"/vault/documents/" + id + "/markdown":                 "ninety days",
		"/vault/documents/" + id + "/tags":                     `["hr"]`,
		"/vault/tags":                                          `["hr"]`,
		"/core/folders/summary?folder_name=Staff":              `"status":"ok"`,
		"/core/folders/summary?folder_name=Nowhere":            `"status":"none"`,
		"/readyz": "ready",
	} {
		if resp, body := s.do("GET", path, ""); resp.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s = %d %s, want %s in it", path, resp.StatusCode, body, want)
		}
	}
	if resp, body := s.do("GET", "/vault/documents/"+id+"/content", ""); resp.StatusCode != 200 || body != handbook {
		t.Errorf("content = %d %s", resp.StatusCode, body)
	}
	resp, body = s.do("POST", "/vault/documents/batch", `{"ids":["`+id+`"]}`)
	if resp.StatusCode != 200 || !strings.Contains(body, "ninety days") {
		t.Errorf("batch = %d %s", resp.StatusCode, body)
	}

	resp, body = s.do("POST", "/core/search", `{"query":"How long is the notice period?","folder_name":"Staff"}`)
	found := decode[struct {
		Sources []struct {
			DocID    string `json:"doc_id"`
			DeepLink string `json:"deep_link"`
		}
	}](t, body)
	if resp.StatusCode != 200 || len(found.Sources) == 0 || found.Sources[0].DocID != id {
		t.Fatalf("search = %d %s", resp.StatusCode, body)
	}
	link, _, _ := strings.Cut(found.Sources[0].DeepLink, "#")
	for _, prefix := range []string{"", "/vault"} {
		if resp, body := s.do("GET", prefix+link, ""); resp.StatusCode != 200 || body != handbook {
			t.Errorf("%s%s = %d %s", prefix, link, resp.StatusCode, body)
		}
	}
	resp, body = s.do("POST", "/core/ask", `{"query":"How long is the notice period?"}`)
	if resp.StatusCode != 200 || !strings.Contains(body, "ninety days") {
		t.Errorf("ask = %d %s", resp.StatusCode, body)
	}

	bob := []string{"Authorization", "Bearer bob"}
	for _, path := range []string{"/core/jobs/" + j.JobID, "/vault/folders/" + top[0].ID, "/vault/documents/" + id, "/vault/documents/" + id + "/content", link} {
		if resp, body := s.do("GET", path, "", bob...); resp.StatusCode != 404 {
			t.Errorf("%s for bob = %d %s", path, resp.StatusCode, body)
		}
	}
	for path, want := range map[string]string{"/vault/folders": "[]", "/vault/documents?tag=hr": "[]", "/vault/tags": `{"tags":[]}`} {
		resp, body := s.do("GET", path, "", bob...)
		s.want(resp, body, 200, want)
	}
	resp, body = s.do("POST", "/core/search", `{"query":"notice period"}`, bob...)
	s.want(resp, body, 200, `{"sources":[],"next_cursor":null}`)
	resp, body = s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"Staff/Bob"}]`)
		addFile(w, "a.md", "# A")
	}, bob...)
	if resp.StatusCode != 403 {
		t.Errorf("POST /core/ingest by bob into alice's folder = %d %s, want 403", resp.StatusCode, body)
	}
}

// When the last event of a progress stream is sent, the documents can be read. If the same
// file is uploaded again, it is reported as a duplicate.
func TestStreamOfImport(t *testing.T) {
	s := startStack(t)
	var ids []string
	for round := range 2 {
		resp, body := s.upload("?stream=true", func(w *multipart.Writer) { addFile(w, "handbook.md", handbook); addFile(w, "empty.txt", "") })
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		type event struct {
			Type       string `json:"event_type"`
			JobID      string `json:"job_id"`
			File       string `json:"current_file"`
			DocumentID string `json:"document_id"`
			Duplicate  bool
			Successful int `json:"successful_files"`
		}
		var last event
		for line := range strings.Lines(body) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			last = decode[event](t, data)
			if last.JobID == "" {
				t.Errorf("event without its job: %s", line)
			}
			if last.DocumentID != "" {
				ids = append(ids, fmt.Sprint(last.DocumentID, last.Duplicate))
			}
		}
		if last.Type != "complete" || last.Successful != 1 || len(ids) != round+1 {
			t.Fatalf("stream %s", body)
		}
	}
	if id := strings.TrimSuffix(ids[0], "false"); ids[1] != id+"true" {
		t.Errorf("documents %q, want the same twice, the second a duplicate", ids)
	}
	resp, body := s.upload("?stream=true", func(w *multipart.Writer) { addFile(w, "empty.txt", "") })
	if resp.StatusCode != 200 || !strings.Contains(body, `"event_type":"error"`) || strings.Contains(body, "stream_stalled") {
		t.Errorf("import of an empty file alone = %d %s", resp.StatusCode, body)
	}
}
