package folderimport_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/cmd/annals/client"
)

// fakeCore implements the requests of the service at /core that an import sends. Tests
// can make these requests fail.
type fakeCore struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	jobs     map[string]*fakeJob
	docs     map[string]int    // number of times each document was created, by folder and content
	received []string          // names of uploaded files, in the order of arrival
	versions map[string]int    // required versions of the replaced documents, by file name
	tags     map[string]string // tags of uploaded files, joined by commas
	requests int
	uploads  int

	warnings map[string][]string // of uploaded files, by file name

	formats []string // extensions of the files to import; nil means that the server is an older one, which does not list them

	token   string
	polls   int                                                      // number of status requests before a job is done
	unfound bool                                                     // if true, all files of a job end but the job is never done, as if search did not find them
	before  func(n int, w http.ResponseWriter, r *http.Request) bool // called before request n is handled; returns true if it has replied itself
	lose    func(upload int) bool                                    // reports whether to accept an upload but drop the connection before the reply
	refuse  func(folders []string) (status int, detail any)
}

type fakeJob struct {
	client.Job
	left int
}

func newFakeCore(t *testing.T) *fakeCore {
	f := &fakeCore{t: t, jobs: map[string]*fakeJob{}, docs: map[string]int{}, versions: map[string]int{}, tags: map[string]string{}, token: "good"}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /core/ingest", f.ingest)
	routes.HandleFunc("GET /core/jobs/{id}", f.job)
	routes.HandleFunc("GET /core/formats", f.listFormats)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.requests++
		n, before, token := f.requests, f.before, f.token
		f.mu.Unlock()
		if before != nil && before(n, w, r) {
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			reply(w, http.StatusUnauthorized, map[string]any{"detail": "Not authenticated"})
			return
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (f *fakeCore) listFormats(w http.ResponseWriter, _ *http.Request) {
	if f.formats == nil {
		reply(w, http.StatusNotFound, map[string]any{"detail": "Not Found"})
		return
	}
	list := []map[string]any{}
	for _, extension := range f.formats {
		list = append(list, map[string]any{"extension": extension, "media_type": "text/x", "pages": false})
	}
	reply(w, http.StatusOK, map[string]any{"formats": list})
}

func (f *fakeCore) ingest(w http.ResponseWriter, r *http.Request) {
	form, err := r.MultipartReader()
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"detail": err.Error()})
		return
	}
	var entries []client.File
	job := &fakeJob{left: f.polls}
	var sums []string
	for {
		p, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return // the client closed the connection: accept nothing
		}
		if p.FormName() == "file_metadata" {
			if err := json.NewDecoder(p).Decode(&entries); err != nil {
				f.t.Errorf("file_metadata: %v", err)
			}
			continue
		}
		result, sum, err := readPart(p)
		if err != nil {
			return
		}
		job.Results = append(job.Results, result)
		sums = append(sums, sum)
	}
	var folders []string
	for i, e := range entries {
		folders = append(folders, e.Folder)
		if i < len(job.Results) {
			f.mu.Lock()
			f.tags[e.Folder+"/"+job.Results[i].Filename] = strings.Join(e.Tags, ",")
			f.mu.Unlock()
		}
		if e.Version > 0 && i < len(job.Results) {
			f.mu.Lock()
			f.versions[e.Folder+"/"+job.Results[i].Filename] = e.Version
			f.mu.Unlock()
		}
	}
	if f.refuse != nil {
		if status, detail := f.refuse(folders); status != 0 {
			reply(w, status, map[string]any{"detail": detail})
			return
		}
	}
	if len(folders) != len(sums) {
		f.t.Errorf("%d entries of file_metadata for %d files", len(folders), len(sums))
		return
	}
	if f.accept(job, folders, sums) {
		panic(http.ErrAbortHandler)
	}
	reply(w, http.StatusOK, map[string]any{"job_id": job.ID, "status": "processing", "message": "", "done": false})
}

func readPart(p *multipart.Part) (client.FileResult, string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, p)
	result := client.FileResult{Filename: p.FileName(), Success: n > 0}
	if n == 0 {
		result.Error = "the file is empty"
	}
	return result, hex.EncodeToString(hash.Sum(nil)), err
}

// accept accepts a job. lost is true if the reply is to be dropped.
func (f *fakeCore) accept(job *fakeJob, folders, sums []string) (lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uploads++
	job.ID = fmt.Sprintf("job-%d", f.uploads)
	for i := range job.Results {
		result := &job.Results[i]
		f.received = append(f.received, folders[i]+"/"+result.Filename)
		result.Warnings = f.warnings[result.Filename]
		if result.Success {
			key := folders[i] + " " + sums[i]
			result.Document, result.Duplicate = key, f.docs[key] > 0
			if !result.Duplicate {
				f.docs[key]++
			}
		}
	}
	f.jobs[job.ID] = job
	return f.lose != nil && f.lose(f.uploads)
}

func (f *fakeCore) job(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	job := f.jobs[r.PathValue("id")]
	switch {
	case job == nil:
		reply(w, http.StatusNotFound, map[string]any{"detail": "no such job"})
	case job.left > 0:
		job.left--
		reply(w, http.StatusOK, map[string]any{"job_id": job.ID, "status": "processing", "error": nil, "results": nil})
	case f.unfound:
		job.Status, job.Message, job.Successful = "processing", "waiting for the read model passages", len(job.Results)
		reply(w, http.StatusOK, job.Job)
	default:
		job.Done, job.Status = true, "complete"
		reply(w, http.StatusOK, job.Job)
	}
}

// wantOnce checks that the server created n documents, each exactly once.
func (f *fakeCore) wantOnce(t *testing.T, n int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.docs) != n {
		t.Errorf("the server has %d documents, want %d", len(f.docs), n)
	}
	for key, times := range f.docs {
		if times != 1 {
			t.Errorf("document %s was created %d times, want 1", key, times)
		}
	}
}

// withVault adds a service at /vault with the folder Top, which contains the given
// documents. Requests that change a document get the status that change returns.
// changes lists them.
func (f *fakeCore) withVault(documents []map[string]any, change func(method, id string) int) (changes *[]string) {
	changes = new([]string)
	f.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		path, ok := strings.CutPrefix(r.URL.Path, "/vault")
		if !ok {
			return false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		id := strings.TrimPrefix(path, "/documents/")
		switch {
		case path == "/folders" && r.URL.Query().Get("path") == "Top":
			reply(w, 200, []map[string]any{{"id": "top", "name": "Top"}})
		case path == "/folders":
			reply(w, 200, []any{})
		case path == "/documents":
			reply(w, 200, documents)
		case r.Method == http.MethodGet && strings.HasSuffix(id, "/tags"):
			id = strings.TrimSuffix(id, "/tags")
			d := documents[slices.IndexFunc(documents, func(d map[string]any) bool { return d["id"] == id })]
			w.Header().Set("ETag", fmt.Sprintf("\"%d\"", d["version"]))
			reply(w, 200, map[string]any{"tags": []string{}})
		case r.Method == http.MethodGet:
			reply(w, 200, documents[slices.IndexFunc(documents, func(d map[string]any) bool { return d["id"] == id })])
		default:
			var body map[string]any
			_ = json.NewDecoder(r.Body).Decode(&body)
			changed := body["name"]
			if tags, ok := body["tags"]; ok {
				changed = tags
			}
			*changes = append(*changes, fmt.Sprint(r.Method, " ", id, " ", r.Header.Get("If-Match"), " ", changed))
			status := change(r.Method, id)
			reply(w, status, map[string]any{"message": "document is at version 9"})
		}
		return true
	}
	return changes
}

func vaultDocument(id, name, text string, version int) map[string]any {
	return map[string]any{"id": id, "name": name, "folderId": "top", "version": version, "sha256": sumOf(text), "createdAt": "2026-11-20T08:15:03.120Z"}
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
