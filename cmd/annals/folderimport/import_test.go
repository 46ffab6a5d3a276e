package folderimport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/client"
	"annals/cmd/annals/folderimport"

	"github.com/gofrs/flock"
)

// importer imports one directory several times with the same options.
type importer struct {
	folderimport.Options
	stderr bytes.Buffer
}

func newImporter(t *testing.T, core *fakeCore, dir string) *importer {
	return &importer{Options: folderimport.Options{
		Server: core.URL + "/core", Vault: core.URL + "/vault", Credential: credential("good"),
		Path: dir, Folder: "Top", Parallel: 2, JSON: true, Replace: true, State: filepath.Join(t.TempDir(), "state"),
		Pause: time.Millisecond, Poll: time.Millisecond, Patience: time.Nanosecond,
	}}
}

func credential(token string) client.Credential {
	return client.Credential{Token: client.FixedToken(token), Name: "the token"}
}

// run imports the directory and returns the summary that was printed.
func (f *importer) run(ctx context.Context) (s folderimport.Summary, err error) {
	var out bytes.Buffer
	f.stderr.Reset()
	f.Out, f.Err = &out, &f.stderr
	err = folderimport.Run(ctx, f.Options)
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			return s, fmt.Errorf("%q is not the JSON of a summary: %w", &out, err)
		}
	}
	return s, err
}

// If the search engine is down, a job is not done although all its files are imported.
// The import stops waiting after Patience.
func TestImportEndsBeforeFilesAreFound(t *testing.T) {
	core := newFakeCore(t)
	core.unfound = true
	f := newImporter(t, core, writeTree(t, 7))
	s, err := f.run(t.Context())
	if err != nil || s.Imported != 7 || s.Left != 0 || !strings.Contains(f.stderr.String(), "search does not find the imported files yet: waiting for the read model passages") {
		t.Errorf("imported %d, left %d, %v, printed %q", s.Imported, s.Left, err, f.stderr.String())
	}
	core.wantOnce(t, 7)
}

// writeTree creates a directory tree of n small files with different contents.
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

// The server says which types of files it imports. Files of other types are skipped.
func TestImportAsksForFormats(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.md", "b.html", "c.csv", "d.exe"} {
		writeFile(t, dir, name, "text of "+name)
	}
	for name, c := range map[string]struct {
		formats  []string
		received []string
		other    int
	}{
		"more":  {[]string{".md", ".html", ".csv"}, []string{"Top/a.md", "Top/b.html", "Top/c.csv"}, 1},
		"fewer": {[]string{".csv"}, []string{"Top/c.csv"}, 3},
		"older": {nil, []string{"Top/a.md"}, 3},
	} {
		core := newFakeCore(t)
		core.formats = c.formats
		s, err := newImporter(t, core, dir).run(t.Context())
		slices.Sort(core.received)
		if err != nil || !slices.Equal(core.received, c.received) || s.PassedOver.Other != c.other || s.Files != len(c.received) || s.Failed != 0 {
			t.Errorf("%s: received %v, %+v, %v, want %v", name, core.received, s, err, c.received)
		}
	}
	core := newFakeCore(t)
	core.formats = []string{".md"}
	if _, err := newImporter(t, core, filepath.Join(dir, "b.html")).run(t.Context()); err == nil || !strings.Contains(err.Error(), "the server does not read files of this type") {
		t.Errorf("a single file: %v", err)
	}
	core.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/core/formats" {
			reply(w, http.StatusForbidden, map[string]any{"detail": "no"})
			return true
		}
		return false
	}
	if _, err := newImporter(t, core, dir).run(t.Context()); err == nil || !strings.Contains(err.Error(), "which types of files it imports") || len(core.received) != 0 {
		t.Errorf("without an answer: %v, received %v", err, core.received)
	}
}

// Files that were not read completely are listed at the end, with each warning.
func TestImportPrintsWarnings(t *testing.T) {
	dir := writeTree(t, 3)
	core := newFakeCore(t)
	core.warnings = map[string][]string{"file000.md": {"Page 2 is not read.", "Install it."}, "file002.md": {"Install it."}}
	f := newImporter(t, core, dir)
	s, err := f.run(t.Context())
	want := []folderimport.Warned{{File: "sub0/file000.md", Warnings: []string{"Page 2 is not read.", "Install it."}}, {File: "sub2/file002.md", Warnings: []string{"Install it."}}}
	if err != nil || !reflect.DeepEqual(s.Warned, want) {
		t.Errorf("import with --json: warned %+v (%v), want %+v", s.Warned, err, want)
	}
	f = newImporter(t, core, dir)
	var out bytes.Buffer
	f.JSON, f.Out, f.Err = false, &out, &f.stderr
	text := "\n2 files were imported with warnings:\n\nFILE             WARNING\nsub0/file000.md  Page 2 is not read.\nsub0/file000.md  Install it.\nsub2/file002.md  (the same)\n"
	if err := folderimport.Run(t.Context(), f.Options); err != nil || !strings.HasSuffix(out.String(), text) {
		t.Errorf("import printed %q (%v), want it to end with %q", out.String(), err, text)
	}
	core.warnings["file001.md"] = nil
	for n := range 30 {
		core.warnings["file001.md"] = append(core.warnings["file001.md"], fmt.Sprintf("Sheet %d is hidden.", n))
	}
	f = newImporter(t, core, dir)
	out.Reset()
	f.JSON, f.Out, f.Err = false, &out, &f.stderr
	if err := folderimport.Run(t.Context(), f.Options); err != nil || strings.Count(out.String(), "Sheet ") != 18 || !strings.Contains(out.String(), "only the first 20 different warnings are listed") {
		t.Errorf("import printed %q (%v), want 20 warnings", out.String(), err)
	}
	core.warnings = map[string][]string{"file002.md": {"Install it."}}
	f = newImporter(t, core, dir)
	out.Reset()
	f.JSON, f.Out, f.Err = false, &out, &f.stderr
	if err := folderimport.Run(t.Context(), f.Options); err != nil || !strings.Contains(out.String(), "\n1 file was imported with warnings:\n") {
		t.Errorf("import printed %q (%v), want one file with warnings", out.String(), err)
	}
}

// Many files with the same warning are counted. Those with another warning are named all the same.
func TestImportNamesFilesWithTheSameWarning(t *testing.T) {
	dir := writeTree(t, 12)
	core := newFakeCore(t)
	core.warnings = map[string][]string{"file011.md": {"Sheet 1 is hidden."}}
	for n := range 11 {
		core.warnings[fmt.Sprintf("file%03d.md", n)] = []string{"Install it."}
	}
	f := newImporter(t, core, dir)
	var out bytes.Buffer
	f.JSON, f.Out, f.Err = false, &out, &f.stderr
	if err := folderimport.Run(t.Context(), f.Options); err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]int{"Install it.\n": 1, "(the same)\n": 4, "6 more files     (the same; --json names all files)\n": 1, "file011.md  Sheet 1 is hidden.\n": 1} {
		if strings.Count(out.String(), want) != n {
			t.Errorf("import printed %q, want %q %d times", out.String(), want, n)
		}
	}
}

func TestImportAddsTagsOfFrontMatter(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "a.md", "---\ntags: [x, given, \"\"]\n---\ntext")
	writeFile(t, dir, "b.txt", "---\ntags: [y]\n---\ntext")
	for _, asked := range []bool{false, true} {
		core := newFakeCore(t)
		f := newImporter(t, core, dir)
		f.Tags, f.MatterTags = []string{"given"}, asked
		if _, err := f.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"Top/a.md": "given", "Top/b.txt": "given"}
		if asked {
			want["Top/a.md"] = "given,x"
		}
		if !maps.Equal(core.tags, want) {
			t.Errorf("asked %t: tags %v, want %v", asked, core.tags, want)
		}
	}
}

func TestImportUploadsEachFileOnce(t *testing.T) {
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
	f := newImporter(t, core, dir)
	got, err := f.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 of 351 files failed") {
		t.Errorf("import with an empty file: %v, want one failure", err)
	}
	if got.Imported != 350 || got.Failed != 1 || got.Left != 0 || got.PassedOver != (folderimport.PassedOver{Hidden: 2, Links: 1, Other: 1}) {
		t.Errorf("outcome = %+v", got)
	}
	if len(got.Failures) != 1 || got.Failures[0] != (folderimport.Failure{"empty.txt", "the file is empty"}) {
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
	f.Restart = true
	if got, _ = f.run(t.Context()); got.Duplicates != 350 {
		t.Errorf("outcome of a restart = %+v, want all duplicates", got)
	}
}

func TestImportSurvivesServerFaults(t *testing.T) {
	t.Parallel()
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
		"replies lost": func(f *fakeCore) { f.lose = func(upload int) bool { return upload%2 == 1 } },
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
			t.Parallel()
			core := newFakeCore(t)
			fault(core)
			got, err := newImporter(t, core, writeTree(t, 250)).run(t.Context())
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

func TestImportRepeatsUploadWithIdempotencyKey(t *testing.T) {
	t.Parallel()
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
	if got, err := newImporter(t, core, writeTree(t, 250)).run(t.Context()); err != nil || got.Imported != 250 {
		t.Fatalf("outcome = %+v, %v", got, err)
	}
	distinct := slices.Clone(keys)
	slices.Sort(distinct)
	if n := len(slices.Compact(distinct)); keys[0] == "" || len(keys) < 2 || n != len(keys)-1 {
		t.Errorf("keys %q, want one of them twice", keys)
	}
}

// TestImportContinuesAfterKill truncates the state file of a finished import at many
// lengths, as if the import had been killed after writing so much, and imports again.
// No file may be imported twice.
func TestImportContinuesAfterKill(t *testing.T) {
	t.Parallel()
	core := newFakeCore(t)
	dir := writeTree(t, 12)
	f := newImporter(t, core, dir)
	if _, err := f.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(f.State)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n += 17 {
		if err := os.WriteFile(f.State, whole[:n], 0o600); err != nil {
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

func TestImportAwaitsJobsInFlight(t *testing.T) {
	core := newFakeCore(t)
	core.polls = 1 << 30
	dir := writeTree(t, 150)
	f := newImporter(t, core, dir)
	ctx, cancel := context.WithCancel(t.Context())
	core.before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/core/jobs/job-2" {
			cancel() // now the jobs of both batches are running
		}
		return false
	}
	got, err := f.run(ctx)
	if !errors.Is(err, context.Canceled) || got.Left != 150 || !strings.Contains(f.stderr.String(), "run the same command again") {
		t.Fatalf("interrupted: %+v, %v, %q", got, err, f.stderr.String())
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

func TestImportResetsStateOfAnotherServer(t *testing.T) {
	core := newFakeCore(t)
	f := newImporter(t, core, writeTree(t, 5))
	if _, err := f.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	clear(core.jobs) // as if the data folder of the server had been deleted
	clear(core.docs)
	got, err := f.run(t.Context())
	if err != nil || got.Imported != 5 {
		t.Errorf("outcome = %+v, %v, want 5 imported again", got, err)
	}
}

func TestImportIsolatesRefusedFiles(t *testing.T) {
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
	got, err := newImporter(t, core, dir).run(t.Context())
	if err == nil {
		t.Error("import with refused files succeeds")
	}
	want := 30
	if os.Getuid() != 0 { // the user root can read every file
		want--
	}
	if got.Imported != want || got.Failed != 50-want {
		t.Errorf("outcome = %+v, want %d imported", got, want)
	}
	for _, f := range got.Failures {
		if strings.HasPrefix(f.File, "sub2/") && !strings.Contains(f.Reason, "no such name") || strings.HasPrefix(f.File, "sub3/") && !strings.Contains(f.Reason, "may not write") {
			t.Errorf("failure %+v does not give the server's reason", f)
		}
	}
}

func TestImportFailsRemovedFiles(t *testing.T) {
	core := newFakeCore(t)
	dir := writeTree(t, 20)
	core.before = func(n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 1 { // the directory is listed, but the file is not uploaded yet
			if err := os.Remove(filepath.Join(dir, "sub2/file007.md")); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	got, err := newImporter(t, core, dir).run(t.Context())
	if err == nil || got.Imported != 19 || got.Failed != 1 || got.Failures[0].File != "sub2/file007.md" {
		t.Errorf("outcome = %+v, %v, want only the removed file to fail", got, err)
	}
	core.wantOnce(t, 19)
}

func TestImportErrors(t *testing.T) {
	core := newFakeCore(t)
	dir := writeTree(t, 2)
	closed := httptest.NewServer(nil)
	closed.Close()
	for _, c := range []struct {
		name   string
		change func(*importer)
		says   string
	}{
		{"no such folder", func(f *importer) { f.Path = filepath.Join(dir, "nowhere") }, "no such file"},
		{"token", func(f *importer) { f.Credential = credential("bad") }, "does not accept the token"},
		{"no server", func(f *importer) { f.Server = closed.URL }, "connection refused"},
		{"folder", func(f *importer) { f.Folder = "/" }, "pass the folder to import into as --folder"},
		{"parallel", func(f *importer) { f.Parallel = 0 }, "must be from 1 to 16"},
		{"state", func(f *importer) { writeFile(t, filepath.Dir(f.State), filepath.Base(f.State), "text\n") }, "is not a valid record"},
	} {
		f := newImporter(t, core, dir)
		c.change(f)
		if _, err := f.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", c.name, err, c.says)
		}
	}
	f := newImporter(t, core, dir)
	lock := flock.New(f.State + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := f.run(t.Context()); err == nil || !strings.Contains(err.Error(), "another import of this folder is running") {
		t.Errorf("a second import at once: %v", err)
	}
}

func TestImportSingleFile(t *testing.T) {
	core := newFakeCore(t)
	dir := writeTree(t, 6)
	f := newImporter(t, core, filepath.Join(dir, "sub1/file001.md"))
	f.Folder = ""
	if got, err := f.run(t.Context()); err != nil || got.Imported != 1 || !slices.Equal(core.received, []string{"sub1/file001.md"}) {
		t.Errorf("outcome = %+v, %v; received %v", got, err, core.received)
	}
}
