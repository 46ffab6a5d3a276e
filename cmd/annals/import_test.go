package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// fakeCore speaks as much of the core's interface as an import needs, and
// fails where a test wants it to.
type fakeCore struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	jobs     map[string]*fakeJob
	docs     map[string]int // times a document was made, by folder and content
	received []string       // names of files, as often as they came
	versions map[string]int // that they were to replace
	requests int
	uploads  int

	token   string
	polls   int                                                      // looks at a job before it is done
	unfound bool                                                     // jobs whose files have ended are never done
	before  func(n int, w http.ResponseWriter, r *http.Request) bool // true: it answered itself
	lose    func(upload int) bool                                    // accept, and lose the answer
	refuse  func(folders []string) (status int, detail any)
}

type fakeJob struct {
	importJob
	left int
}

func newFakeCore(t *testing.T) *fakeCore {
	f := &fakeCore{t: t, jobs: map[string]*fakeJob{}, docs: map[string]int{}, versions: map[string]int{}, token: "good"}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /core/ingest", f.ingest)
	routes.HandleFunc("GET /core/jobs/{id}", f.job)
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

func (f *fakeCore) ingest(w http.ResponseWriter, r *http.Request) {
	form, err := r.MultipartReader()
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"detail": err.Error()})
		return
	}
	var entries []uploadEntry
	job := &fakeJob{left: f.polls}
	var sums []string
	for {
		p, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return // the client left; nothing is accepted
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

func readPart(p *multipart.Part) (importResult, string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, p)
	result := importResult{Filename: p.FileName(), Success: n > 0}
	if n == 0 {
		result.Error = "the file is empty"
	}
	return result, hex.EncodeToString(hash.Sum(nil)), err
}

// accept makes a job; it reports whether its answer is to be lost.
func (f *fakeCore) accept(job *fakeJob, folders, sums []string) (lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uploads++
	job.ID = fmt.Sprintf("job-%d", f.uploads)
	for i := range job.Results {
		result := &job.Results[i]
		f.received = append(f.received, folders[i]+"/"+result.Filename)
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
		reply(w, http.StatusOK, job.importJob)
	default:
		job.Done, job.Status = true, "complete"
		reply(w, http.StatusOK, job.importJob)
	}
}

// folderImporter runs imports of one folder, as the command does.
type folderImporter struct {
	importConfig
	dir string
	out bytes.Buffer
	err bytes.Buffer
}

func newFolderImporter(t *testing.T, core *fakeCore, dir string) *folderImporter {
	return &folderImporter{dir: dir, importConfig: importConfig{
		connection: connection{server: core.URL + "/core", token: "good"}, folder: "Top", parallel: 2, json: true,
		state: filepath.Join(t.TempDir(), "state"), pause: time.Millisecond, poll: time.Millisecond, replace: true,
	}}
}

func (f *folderImporter) run(ctx context.Context) (importSummary, error) {
	f.out.Reset()
	f.err.Reset()
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetOut(&f.out)
	cmd.SetErr(&f.err)
	c := f.importConfig
	err := c.run(cmd, f.dir, f.dir)
	var s importSummary
	if f.out.Len() > 0 {
		if err := json.Unmarshal(f.out.Bytes(), &s); err != nil {
			return s, fmt.Errorf("%q is not the JSON of an outcome: %w", f.out.String(), err)
		}
	}
	return s, err
}

// While the search engine is away jobs are not done, though their files are.
func TestAnImportEndsThoughNothingIsFoundYet(t *testing.T) {
	core := newFakeCore(t)
	core.unfound = true
	f := newFolderImporter(t, core, writeTree(t, 7))
	s, err := f.run(t.Context())
	if err != nil || s.Imported != 7 || s.Left != 0 || !strings.Contains(f.err.String(), "not found yet: waiting for the read model passages") {
		t.Errorf("imported %d, left %d, %v, told %q", s.Imported, s.Left, err, f.err.String())
	}
	core.wantOnce(t, 7)
}

// writeTree makes a folder of n small files with a content of their own each,
// some in subfolders.
func writeTree(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		writeFile(t, dir, fmt.Sprintf("sub%d/file%03d.md", i%5, i), fmt.Sprintf("# File %d\n", i))
	}
	return dir
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantOnce checks that the server made n documents, each once.
func (f *fakeCore) wantOnce(t *testing.T, n int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.docs) != n {
		t.Errorf("the server has %d documents, want %d", len(f.docs), n)
	}
	for key, times := range f.docs {
		if times != 1 {
			t.Errorf("document %s was made %d times", key, times)
		}
	}
}

func TestImportSendsATreeOnce(t *testing.T) {
	core := newFakeCore(t)
	core.polls = 2
	dir := writeTree(t, 350)
	writeFile(t, dir, "empty.txt", "")
	writeFile(t, dir, ".hidden.md", "x")
	writeFile(t, dir, ".git/a.md", "x")
	writeFile(t, dir, "table.xls", "x")
	if err := os.Symlink("empty.txt", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	f := newFolderImporter(t, core, dir)
	got, err := f.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 of 351 files failed") {
		t.Errorf("import with an empty file: %v, want it to tell of one failure", err)
	}
	if got.Imported != 350 || got.Failed != 1 || got.Left != 0 || got.PassedOver != (passed{Hidden: 2, Links: 1, Other: 1}) {
		t.Errorf("outcome = %+v", got)
	}
	if len(got.Failures) != 1 || got.Failures[0] != (failure{"empty.txt", "the file is empty"}) {
		t.Errorf("failures = %v", got.Failures)
	}
	core.wantOnce(t, 350)
	if !slices.Contains(core.received, "Top/sub3/file003.md") || len(core.received) != 351 {
		t.Errorf("the server received %d files, want each once in its folder", len(core.received))
	}

	core.received = nil
	writeFile(t, dir, "sub1/file001.md", "changed")
	if got, _ = f.run(t.Context()); got.Skipped != 349 || got.Imported != 1 || got.Failed != 1 {
		t.Errorf("second outcome = %+v, want what changed and what failed sent again", got)
	}
	slices.Sort(core.received)
	if want := []string{"Top/empty.txt", "Top/sub1/file001.md"}; !slices.Equal(core.received, want) {
		t.Errorf("the second time the server received %v, want %v", core.received, want)
	}
	if v := core.versions["Top/sub1/file001.md"]; v != 1 {
		t.Errorf("the changed file replaces version %d, want 1, which the import made: there is no vault to compare with", v)
	}
	f.restart = true
	if got, _ = f.run(t.Context()); got.Duplicates != 350 {
		t.Errorf("outcome of a restart = %+v, want all duplicates", got)
	}
}

func TestImportBearsFaults(t *testing.T) {
	for name, fault := range map[string]func(*fakeCore){
		"unavailable": func(f *fakeCore) {
			f.before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
				if n > 1 && n%2 == 0 {
					reply(w, []int{429, 502, 503, 504}[n/2%4], map[string]any{"detail": "later"})
					return true
				}
				return false
			}
		},
		"connections cut": func(f *fakeCore) {
			f.before = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
				if n > 1 && n%3 != 0 {
					panic(http.ErrAbortHandler)
				}
				return false
			}
		},
		"answers lost": func(f *fakeCore) { f.lose = func(upload int) bool { return upload%2 == 1 } },
		"jobs forgotten": func(f *fakeCore) {
			var once sync.Once
			f.before = func(_ int, w http.ResponseWriter, r *http.Request) (answered bool) {
				if strings.HasSuffix(r.URL.Path, "/job-1") {
					once.Do(func() { reply(w, 404, map[string]any{"detail": "no such job"}); answered = true })
				}
				return answered
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			core := newFakeCore(t)
			fault(core)
			got, err := newFolderImporter(t, core, writeTree(t, 250)).run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got.Imported+got.Duplicates != 250 || got.Failed+got.Left != 0 {
				t.Errorf("outcome = %+v, want 250 files imported", got)
			}
			core.wantOnce(t, 250)
		})
	}
}

// An upload whose reply was lost is sent again as the same one, others are not.
func TestImportRepeatsAnUploadWithItsKey(t *testing.T) {
	core := newFakeCore(t)
	var mu sync.Mutex
	var keys []string
	core.before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
		}
		if len(keys) == 1 && r.Method == http.MethodPost {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	if got, err := newFolderImporter(t, core, writeTree(t, 250)).run(t.Context()); err != nil || got.Imported != 250 {
		t.Fatalf("outcome = %+v, %v", got, err)
	}
	distinct := slices.Clone(keys)
	slices.Sort(distinct)
	if n := len(slices.Compact(distinct)); keys[0] == "" || len(keys) < 2 || n != len(keys)-1 {
		t.Errorf("keys %q, want one of them twice", keys)
	}
}

// TestImportGoesOnAfterAKill takes what an import left at every moment at
// which it can be killed, which is every length of its state file, and goes on
// from there at the server that accepted what it accepted.
func TestImportGoesOnAfterAKill(t *testing.T) {
	core := newFakeCore(t)
	dir := writeTree(t, 12)
	f := newFolderImporter(t, core, dir)
	if _, err := f.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(f.state)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n += 7 {
		if err := os.WriteFile(f.state, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := f.run(t.Context())
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if got.Imported+got.Duplicates+got.Skipped != 12 || got.Failed+got.Left != 0 {
			t.Fatalf("cut at %d: outcome = %+v, want 12 files", n, got)
		}
	}
	core.wantOnce(t, 12)
}

func TestImportPicksUpJobsInFlight(t *testing.T) {
	core := newFakeCore(t)
	core.polls = 1 << 30
	dir := writeTree(t, 150)
	f := newFolderImporter(t, core, dir)
	ctx, cancel := context.WithCancel(t.Context())
	core.before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/core/jobs/job-2" {
			cancel() // both jobs are in flight
		}
		return false
	}
	got, err := f.run(ctx)
	if !errors.Is(err, context.Canceled) || got.Left != 150 || !strings.Contains(f.err.String(), "the same command goes on from here") {
		t.Fatalf("interrupted: %+v, %v, %q", got, err, f.err.String())
	}
	core.mu.Lock()
	core.before = nil
	for job := range maps.Values(core.jobs) {
		job.left = 0
	}
	core.mu.Unlock()
	if got, err = f.run(t.Context()); err != nil || got.Imported != 150 || got.Duplicates != 0 {
		t.Errorf("outcome = %+v, %v, want all imported by the jobs in flight", got, err)
	}
	if core.uploads != 2 {
		t.Errorf("%d uploads, want the 2 of the first run", core.uploads)
	}
}

func TestImportStartsAnewAtAnotherServer(t *testing.T) {
	core := newFakeCore(t)
	f := newFolderImporter(t, core, writeTree(t, 5))
	if _, err := f.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clear(core.jobs) // as after its data folder was thrown away
	clear(core.docs)
	got, err := f.run(t.Context())
	if err != nil || got.Imported != 5 {
		t.Errorf("outcome = %+v, %v, want 5 imported again", got, err)
	}
}

func TestImportIsolatesWhatTheServerRefuses(t *testing.T) {
	core := newFakeCore(t)
	core.refuse = func(folders []string) (int, any) {
		if slices.Contains(folders, "Top/sub2") {
			return 422, []any{map[string]any{"loc": []any{"body", "file_metadata"}, "msg": "no such name", "type": "value_error"}}
		}
		if slices.Contains(folders, "Top/sub3") {
			return 403, "you may not write there"
		}
		return 0, nil
	}
	dir := writeTree(t, 50)
	if err := os.Chmod(filepath.Join(dir, "sub4/file004.md"), 0); err != nil {
		t.Fatal(err)
	}
	got, err := newFolderImporter(t, core, dir).run(t.Context())
	if err == nil {
		t.Error("import with refused files succeeds")
	}
	want := 30
	if os.Getuid() != 0 { // whom nothing is forbidden
		want--
	}
	if got.Imported != want || got.Failed != 50-want {
		t.Errorf("outcome = %+v, want %d imported", got, want)
	}
	for _, f := range got.Failures {
		if strings.HasPrefix(f.File, "sub2/") && !strings.Contains(f.Reason, "no such name") || strings.HasPrefix(f.File, "sub3/") && !strings.Contains(f.Reason, "may not write") {
			t.Errorf("failure %+v does not tell what the server said", f)
		}
	}
}

func TestImportSkipsFilesThatGo(t *testing.T) {
	core := newFakeCore(t)
	dir := writeTree(t, 20)
	core.before = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 1 { // listed, and not yet sent
			if err := os.Remove(filepath.Join(dir, "sub2/file007.md")); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	got, err := newFolderImporter(t, core, dir).run(t.Context())
	if err == nil || got.Imported != 19 || got.Failed != 1 || got.Failures[0].File != "sub2/file007.md" {
		t.Errorf("outcome = %+v, %v, want the one that is gone to fail alone", got, err)
	}
	core.wantOnce(t, 19)
}

func TestImportRenewsItsToken(t *testing.T) {
	core := newFakeCore(t)
	core.token = "token 1"
	issued := 0
	source := &issuedToken{issue: func(context.Context) (string, time.Time, error) {
		issued++
		return fmt.Sprintf("token %d", issued), time.Now().Add(time.Hour), nil
	}}
	client := &coreClient{restClient{url: core.URL + "/core", http: core.Client(), as: credential{token: source.get}, tries: 3, pause: time.Millisecond, tell: func(string) {}}}
	dir := writeTree(t, 3)
	list, err := listTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := client.ingest(t.Context(), dir, "Top", nil, list.files); err != nil {
			t.Fatal(err)
		}
		core.token = "token 2" // so the first is refused
	}
	if issued != 2 {
		t.Errorf("%d tokens were issued, want 2", issued)
	}
	source.expires = time.Now().Add(time.Minute)
	if token, err := source.get(t.Context(), ""); token != "token 3" || err != nil {
		t.Errorf("get a minute before the token expires = %q, %v, want a new one", token, err)
	}
}

func TestImportSaysWhatIsWrong(t *testing.T) {
	core := newFakeCore(t)
	dir := writeTree(t, 2)
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		name   string
		change func(*folderImporter)
		says   string
	}{
		{"no such folder", func(f *folderImporter) { f.dir = filepath.Join(dir, "nowhere") }, "no such file"},
		{"token", func(f *folderImporter) { f.token = "bad" }, "does not accept the token"},
		{"no server", func(f *folderImporter) { f.server = closed.URL }, "connection refused"},
		{"URL", func(f *folderImporter) { f.server = "localhost:80" }, "must be the http or https URL"},
		{"folder", func(f *folderImporter) { f.folder = "/" }, "name the folder"},
		{"parallel", func(f *folderImporter) { f.parallel = 0 }, "must be from 1 to 16"},
		{"state", func(f *folderImporter) { writeFile(t, filepath.Dir(f.state), filepath.Base(f.state), "text\n") }, "is no state of an import"},
	} {
		f := newFolderImporter(t, core, dir)
		c.change(f)
		if _, err := f.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", c.name, err, c.says)
		}
	}
	f := newFolderImporter(t, core, dir)
	state, err := openState(f.state, importKey{core.URL + "/core", "Top", dir}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer state.close()
	if _, err := f.run(t.Context()); err == nil || !strings.Contains(err.Error(), "another import of this folder is running") {
		t.Errorf("a second import at once: %v", err)
	}
}

func TestImportTakesASingleFile(t *testing.T) {
	core := newFakeCore(t)
	dir := writeTree(t, 6)
	f := newFolderImporter(t, core, filepath.Join(dir, "sub1/file001.md"))
	f.folder = ""
	if got, err := f.run(t.Context()); err != nil || got.Imported != 1 || !slices.Equal(core.received, []string{"sub1/file001.md"}) {
		t.Errorf("outcome = %+v, %v; received %v", got, err, core.received)
	}
}

func TestBatchesAreBounded(t *testing.T) {
	files := []localFile{{"a", 5, 0}, {"b", 5, 0}, {"c", 1, 0}, {"d", 99, 0}, {"e", 1, 0}, {"f", 1, 0}, {"g", 1, 0}, {"h", 1, 0}}
	var got []string
	for _, batch := range batches(files, 3, 10) {
		var names string
		for _, f := range batch {
			names += f.Path
		}
		got = append(got, names)
	}
	if want := []string{"ab", "c", "d", "efg", "h"}; !slices.Equal(got, want) {
		t.Errorf("batches = %v, want %v", got, want)
	}
}

// ingest uploads files to a folder and returns the job that was made of them.
func (c *coreClient) ingest(ctx context.Context, dir, top string, tags []string, files []localFile) (importJob, error) {
	job, _, err := c.upload(ctx, dir, files, func(f localFile) uploadEntry { return uploadEntry{Folder: folderOf(top, f), Tags: tags} })
	return job, err
}
