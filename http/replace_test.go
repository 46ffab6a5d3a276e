package http_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"annals/commands/quota"
	httpd "annals/http"
)

// replaced is the result of importing a file with replace=true.
type replaced struct {
	Success    bool
	DocumentID string `json:"document_id"`
	Outcome    string
	Duplicate  bool
	Tags       []string
	Warnings   []string
	Error      string
}

// replace uploads a text with replace=true, waits for the job and returns its result.
func (s *service) replace(folder, name, text string, tags ...string) replaced {
	s.Helper()
	id := s.startReplacing(folder, name, text, tags...)
	s.finish(id)
	_, body := s.do("GET", "/core/jobs/"+id, "")
	return decode[struct{ Results []replaced }](s.T, body).Results[0]
}

func (s *service) startReplacing(folder, name, text string, tags ...string) (job string) {
	s.Helper()
	resp, body := s.upload("", func(w *multipart.Writer) {
		metadata, _ := json.Marshal([]map[string]any{{"folder_name": folder, "tags": append([]string{}, tags...), "replace": true}})
		w.WriteField("file_metadata", string(metadata))
		addFile(w, name, text)
	})
	if resp.StatusCode != 200 {
		s.Fatalf("import %s: %d %s", name, resp.StatusCode, body)
	}
	return decode[jobReply](s.T, body).JobID
}

// inFolder returns the ids of the documents in a folder, by document name.
func (s *service) inFolder(folder string) map[string][]string {
	s.Helper()
	_, body := s.do("GET", "/vault/documents?folderId="+folder, "")
	names := make(map[string][]string)
	for _, d := range decode[[]struct{ ID, Name string }](s.T, body) {
		names[d.Name] = append(names[d.Name], d.ID)
	}
	return names
}

func TestReplaceMakesVersions(t *testing.T) {
	s := startStack(t)
	edit := func(n int) string {
		return fmt.Sprintf("# Contract\n\nThe notice period of the supplier contract is %d days.\n", 10*n)
	}
	var id string
	for n := 1; n <= 5; n++ {
		got := s.replace("Contracts", "contract.md", edit(n))
		want := "updated"
		if n == 1 {
			id, want = got.DocumentID, "created"
		}
		if !got.Success || got.Outcome != want || got.DocumentID != id || got.Duplicate {
			t.Fatalf("edit %d became %+v, want %s %s", n, got, want, id)
		}
	}
	if got := s.replace("Contracts", "contract.md", edit(5)); got.Outcome != "unchanged" || got.DocumentID != id || !got.Duplicate {
		t.Errorf("the fifth edit again became %+v", got)
	}
	if names := s.inFolder(s.folderOf(id)); len(names) != 1 || len(names["contract.md"]) != 1 {
		t.Errorf("the folder holds %v", names)
	}
	_, body := s.do("GET", "/vault/documents/"+id+"/versions", "")
	if versions := decode[[]any](t, body); len(versions) != 5 {
		t.Errorf("the document has the versions %s", body)
	}
	for n := 1; n <= 5; n++ {
		if _, body := s.do("GET", fmt.Sprintf("/vault/documents/%s/versions/%d/content", id, n), ""); body != edit(n) {
			t.Errorf("version %d is %q", n, body)
		}
	}
	for _, path := range []string{"/core/ask", "/core/search"} {
		_, body := s.do("POST", path, `{"query":"What is the notice period of the supplier contract?"}`)
		if !strings.Contains(body, "50 days") {
			t.Errorf("%s: %s, want it to know the last edit", path, body)
		}
		for n := 1; n < 5; n++ {
			if strings.Contains(body, fmt.Sprintf("%d days", 10*n)) {
				t.Errorf("%s: %s, want nothing of edit %d", path, body, n)
			}
		}
	}
}

func TestReplaceFindsRenamedDocument(t *testing.T) {
	s := startStack(t)
	old, newer := s.file("A", "a.md", "old"), s.file("A", "a.md", "newer") // without replace
	if old == newer {
		t.Fatal("without replace a file of the same name is not a new document")
	}
	got := s.replace("A", "a.md", "new", "x")
	if got.DocumentID != newer || got.Outcome != "updated" || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], old) || !slices.Equal(got.Tags, []string{"x"}) {
		t.Errorf("imported as %+v, want a version of %s and a warning of %s", got, newer, old)
	}
	renamed := s.file("A", "b.md", "b")
	if resp, body := s.do("PATCH", "/vault/documents/"+renamed, `{"name":"c.md"}`, "If-Match", `"1"`); resp.StatusCode != 200 {
		t.Fatal(body)
	}
	if got := s.replace("A", "c.md", "c"); got.DocumentID != renamed || got.Outcome != "updated" {
		t.Errorf("imported as %+v, want a version of %s", got, renamed)
	}
	if got := s.replace("A", "b.md", "c"); got.DocumentID == renamed || got.Outcome != "created" || !got.Duplicate {
		t.Errorf("imported as %+v, want a document of its own for a name that is free", got)
	}
	if resp, body := s.do("DELETE", "/vault/documents/"+renamed+"?version=3", ""); resp.StatusCode >= 300 {
		t.Fatal(body)
	}
	if got := s.replace("A", "c.md", "c"); got.DocumentID == renamed || got.Outcome != "created" {
		t.Errorf("imported as %+v, want a document in the place of the deleted one", got)
	}
	if got := s.replace("B", "a.md", "new"); got.DocumentID == newer || got.Outcome != "created" {
		t.Errorf("imported as %+v, want the document of another folder left alone", got)
	}
	// If the name looks like the name of another document, the file is refused.
	if got := s.replace("A", "а.md", "new"); got.Success || !strings.Contains(got.Error, "looks like") {
		t.Errorf("a name with a Cyrillic letter: %+v", got)
	}
}

func TestConcurrentReplace(t *testing.T) {
	s := startStack(t)
	s.makeFolder("", "A")
	const racers = 6
	jobs := make([]string, racers)
	var all sync.WaitGroup
	for n := range racers {
		all.Go(func() { jobs[n] = s.startReplacing("A", "a.md", fmt.Sprintf("# Text\n\nNumber %d.\n", n)) })
	}
	all.Wait()
	ids := make(map[string]bool)
	for _, job := range jobs {
		j := s.finish(job)
		if j.Successful != 1 {
			t.Errorf("job %+v", j)
		}
		ids[j.Results[0].DocumentID] = true
	}
	var id string
	for id = range ids {
	}
	if names := s.inFolder(s.folderOf(id)); len(ids) != 1 || len(names["a.md"]) != 1 {
		t.Errorf("%d uploads became %v; the folder holds %v", racers, ids, names)
	}
	// The document's original and text are from the same upload.
	_, content := s.do("GET", "/vault/documents/"+id+"/content", "")
	if _, text := s.do("GET", "/vault/documents/"+id+"/markdown", ""); !strings.Contains(text, strings.TrimSpace(strings.TrimPrefix(content, "# Text"))) {
		t.Errorf("the document's file is %q and its text %q", content, text)
	}
}

func TestReplaceMustBeTrueOrFalse(t *testing.T) {
	s := startStack(t)
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"A","replace":"yes"}]`)
		addFile(w, "a.md", "a")
	})
	if resp.StatusCode != 422 || !strings.Contains(body, `"bool_type"`) || !strings.Contains(body, `"replace"`) {
		t.Errorf("replace as a text: %d %s", resp.StatusCode, body)
	}
}

func TestProgressReportsOutcome(t *testing.T) {
	s := startStack(t)
	for _, step := range [][2]string{{"a", "created"}, {"a", "unchanged"}, {"b", "updated"}} {
		text, want := step[0], step[1]
		_, body := s.upload("?stream=true", func(w *multipart.Writer) {
			w.WriteField("file_metadata", `[{"folder_name":"A","replace":true}]`)
			addFile(w, "a.md", text)
		})
		if !strings.Contains(body, `"outcome":"`+want+`"`) {
			t.Errorf("the stream is %s, want %s in it", body, want)
		}
	}
}

// If a version is given, replace does not overwrite a change that another user made since.
func TestReplaceOfVersion(t *testing.T) {
	s := startStack(t)
	folder := "A"
	id := s.replace("A", "a.md", "one").DocumentID
	upload := func(name, text string, version int) replaced {
		t.Helper()
		resp, body := s.upload("", func(w *multipart.Writer) {
			w.WriteField("file_metadata", fmt.Sprintf(`[{"folder_name":%q,"replace":true,"version":%d}]`, folder, version))
			addFile(w, name, text)
		})
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		job := decode[jobReply](t, body).JobID
		s.finish(job)
		_, body = s.do("GET", "/core/jobs/"+job, "")
		return decode[struct{ Results []replaced }](t, body).Results[0]
	}
	if got := upload("a.md", "two", 1); got.Outcome != "updated" || got.DocumentID != id {
		t.Errorf("version 1 of 1: %+v", got)
	}
	if got := upload("a.md", "three", 1); got.Success || got.Error != `document "a.md" is at version 2, not 1` {
		t.Errorf("version 1 of 2: %+v", got)
	}
	if got := upload("a.md", "two", 1); got.Outcome != "unchanged" {
		t.Errorf("the same bytes for version 1 of 2: %+v", got)
	}
	if got := upload("b.md", "three", 1); got.Success || !strings.Contains(got.Error, `document "b.md": the folder has no such document`) {
		t.Errorf("version 1 of none: %+v", got)
	}
	folder = "B/x"
	if got := upload("a.md", "three", 1); got.Success || !strings.Contains(got.Error, `document "a.md": the folder has no such document`) {
		t.Errorf("version 1 in no folder: %+v", got)
	}
	if _, body := s.do("GET", "/vault/folders", ""); strings.Contains(body, `"B"`) {
		t.Errorf("a file that failed leaves the folders %s", body)
	}
	resp, body := s.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"A","version":1}]`)
		addFile(w, "a.md", "a")
	})
	if resp.StatusCode != 422 || !strings.Contains(body, "set replace to true, too") {
		t.Errorf("a version without replace: %d %s", resp.StatusCode, body)
	}
}

func TestListingsHaveFileHash(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "a.md", "one")
	const sum = `"sha256":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"`
	folder := s.folderOf(id)
	for _, path := range []string{"/vault/documents/" + id, "/vault/documents?folderId=" + folder, "/vault/folders/" + folder + "?include=true"} {
		if _, body := s.do("GET", path, ""); !strings.Contains(body, sum) {
			t.Errorf("%s = %s, want %s in it", path, body, sum)
		}
	}
}

// A user who has reached the document limit can replace documents, but cannot add any.
func TestReplacingIgnoresDocumentQuota(t *testing.T) {
	s := limit(t, quota.Limits{quota.Documents: 2, quota.Bytes: 1 << 20}, quota.Limits{})
	a, b := s.replace("A", "a.md", "one").DocumentID, s.replace("A", "b.md", "one").DocumentID
	s.passUsage()
	for n := range 2 {
		if got := s.replace("A", "a.md", fmt.Sprint("two ", n)); got.DocumentID != a || got.Outcome != "updated" {
			t.Errorf("a replacement by a user at the limit became %+v", got)
		}
		s.passUsage()
	}
	for what, metadata := range map[string]string{"a new name": `[{"folder_name":"A","replace":true}]`, "no replace": `[{"folder_name":"A"}]`, "a new folder": `[{"folder_name":"B","replace":true}]`} {
		name := "a.md"
		if what == "a new name" {
			name = "c.md"
		}
		for _, first := range []bool{true, false} {
			resp, body := s.upload("", orders(first, metadata, name, "three"))
			s.refusedBy(what, resp.StatusCode, body, "you have 2 documents")
		}
	}
	again := func() (*http.Response, string) {
		return s.upload("", orders(false, `[{"folder_name":"A","replace":true}]`, "a.md", "four"), "Idempotency-Key", "last")
	}
	resp, body := again()
	if resp.StatusCode != 200 {
		t.Fatalf("a replacement whose file_metadata comes last: %d %s", resp.StatusCode, body)
	}
	if resp, repeated := again(); resp.StatusCode != 200 || decode[jobReply](t, repeated).JobID != decode[jobReply](t, body).JobID {
		t.Errorf("the same again: %d %s, want the job of %s", resp.StatusCode, repeated, body)
	}
	if j := s.finish(decode[jobReply](t, body).JobID); j.Successful != 1 || j.Results[0].DocumentID != a {
		t.Errorf("a replacement whose file_metadata comes last became %+v", j)
	}
	if names := s.inFolder(s.folderOf(b)); len(names) != 2 {
		t.Errorf("the folder holds %v", names)
	}
}

// orders returns a function that writes an upload of one file. file_metadata precedes the file
// if first is true, and follows it otherwise.
func orders(first bool, metadata, name, text string) func(*multipart.Writer) {
	return func(w *multipart.Writer) {
		if first {
			w.WriteField("file_metadata", metadata)
		}
		addFile(w, name, text)
		if !first {
			w.WriteField("file_metadata", metadata)
		}
	}
}

// Files that replace documents are accepted even at the document limit. If these documents are
// renamed or deleted before the import, the files would become new documents beyond the limit,
// so they are refused.
func TestReplacingCannotExceedLimits(t *testing.T) {
	for what, limits := range map[string][2]quota.Limits{
		"of a user":   {{quota.Documents: 3}, {}},
		"of a folder": {{}, {quota.Documents: 3}},
	} {
		t.Run(what, func(t *testing.T) {
			release := make(chan struct{}, 100)
			s := limit(t, limits[0], limits[1], func(h *httpd.Server) { h.Originals = heldOriginals{h.Originals, release} })
			for range 3 {
				release <- struct{}{}
			}
			ids := make(map[string]string)
			for _, name := range []string{"a.md", "b.md", "c.md"} {
				ids[name] = s.replace("A", name, "one "+name).DocumentID
			}
			s.passUsage()
			resp, body := s.upload("", func(w *multipart.Writer) {
				addFile(w, "a.md", "two a")
				addFile(w, "b.md", "two b")
				addFile(w, "c.md", "two c")
				const entry = `{"folder_name":"A","replace":true}`
				w.WriteField("file_metadata", "["+entry+","+entry+","+entry+"]")
			})
			if resp.StatusCode != 200 {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			for _, name := range []string{"a.md", "b.md"} {
				if resp, body := s.do("PATCH", "/vault/documents/"+ids[name], `{"name":"old `+name+`"}`, "If-Match", `"1"`); resp.StatusCode != 200 {
					t.Fatal(body)
				}
			}
			if resp, body := s.do("DELETE", "/vault/documents/"+ids["c.md"]+"?version=1", ""); resp.StatusCode >= 300 {
				t.Fatal(body)
			}
			s.passUsage()
			close(release)
			j := s.finish(decode[jobReply](t, body).JobID)
			if j.Successful != 1 {
				t.Errorf("%d of three new documents were imported, with room for one: %+v", j.Successful, j)
			}
			if !strings.Contains(fmt.Sprintf("%+v", j), "no longer exists, and there is no room for a new one") {
				t.Errorf("job %+v, want an error for the missing documents", j)
			}
			if names := s.inFolder(s.folderNamed("A")); len(names) != 3 {
				t.Errorf("the folder holds %v", names)
			}
		})
	}
}
