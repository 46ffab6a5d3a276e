package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// If several clients change the same version concurrently, one of them succeeds. The others
// receive 409 with the current version.
func TestConcurrentWriters(t *testing.T) {
	const writers = 16
	s := startStack(t)
	folder := s.makeFolder("", "Folder")
	resp, _ := s.do("GET", "/vault/folders/"+folder, "")
	folderTag := resp.Header.Get("ETag")
	for _, test := range []struct {
		name string
		// change returns the request with which a writer changes the document.
		change func(document string, writer int) (method, path, body, match string)
	}{
		{"rename", func(d string, w int) (string, string, string, string) {
			return "PATCH", "/vault/documents/" + d, fmt.Sprintf(`{"name":"%d.md","version":1}`, w), ""
		}},
		{"tag", func(d string, w int) (string, string, string, string) {
			return "PUT", "/vault/documents/" + d + "/tags", fmt.Sprintf(`{"tags":["%d"]}`, w), `"1"`
		}},
		{"revise", func(d string, w int) (string, string, string, string) {
			return "PUT", "/vault/documents/" + d + "/content", fmt.Sprintf("# By %d\n\nWords of %d.\n", w, w), `"1"`
		}},
		{"rename the folder", func(_ string, w int) (string, string, string, string) {
			return "PATCH", "/vault/folders/" + folder, fmt.Sprintf(`{"name":"Folder %d"}`, w), folderTag
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			document := s.file("Racing "+test.name, "a.md", handbook)
			read := "1"
			if test.name == "rename the folder" {
				read = versionIn(folderTag)
			}
			// won contains the ETags of the successful changes, and lost the bodies of the
			// conflicts.
			won, lost := make(chan string, writers), make(chan string, writers)
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					method, path, body, match := test.change(document, w)
					resp, reply := s.do(method, path, body, "If-Match", match)
					switch resp.StatusCode {
					case 200:
						won <- resp.Header.Get("ETag")
					case 409:
						lost <- reply
					default:
						t.Errorf("%s %s = %d %s", method, path, resp.StatusCode, reply)
					}
				})
			}
			all.Wait()
			close(lost)
			if len(won) != 1 || len(lost) != writers-1 {
				t.Fatalf("%d changes succeeded and %d conflicted, want 1 and %d", len(won), len(lost), writers-1)
			}
			want := fmt.Sprintf("is at version %s, not %s\"", versionIn(<-won), read)
			for reply := range lost {
				if !strings.Contains(reply, want) {
					t.Errorf("conflict %s, want %s", reply, want)
				}
			}
		})
	}
}

func versionIn(etag string) string {
	version, _, _ := strings.Cut(strings.Trim(etag, `"`), ".")
	return version
}

// Concurrent imports of the same file into a path that does not exist yet create one document,
// and each folder of the path exactly once.
func TestConcurrentImportsIntoNewFolder(t *testing.T) {
	const imports = 8
	s := startStack(t)
	jobs := make(chan string, imports)
	var all sync.WaitGroup
	for range imports {
		all.Go(func() {
			resp, body := s.upload("", func(w *multipart.Writer) {
				w.WriteField("file_metadata", `[{"folder_name":"A/B/C"}]`)
				addFile(w, "a.md", handbook)
			})
			if resp.StatusCode != 200 {
				t.Errorf("%d %s", resp.StatusCode, body)
				return
			}
			var j jobReply
			if err := json.Unmarshal([]byte(body), &j); err != nil {
				t.Error(err)
			}
			jobs <- j.JobID
		})
	}
	all.Wait()
	close(jobs)
	documents, fresh := map[string]bool{}, 0
	for id := range jobs {
		j := s.finish(id)
		if j.Successful != 1 {
			t.Errorf("job %+v", j)
			continue
		}
		documents[j.Results[0].DocumentID] = true
		if !j.Results[0].Duplicate {
			fresh++
		}
	}
	if len(documents) != 1 || fresh != 1 {
		t.Errorf("%d documents, %d of them new: %v", len(documents), fresh, documents)
	}
	parent := ""
	for _, name := range []string{"A", "B", "C"} {
		_, body := s.do("GET", "/vault/folders"+parent, "")
		list := decode[[]struct{ ID, Name string }](t, body)
		if len(list) != 1 || list[0].Name != name {
			t.Fatalf("folders %s, want only %s", body, name)
		}
		parent = "?parentFolderId=" + list[0].ID
	}
}

// searchReply is the reply to a search.
type searchReply struct {
	Sources []struct {
		DocID string `json:"doc_id"`
		Text  string
	}
}

// After access was withdrawn, no request shows the folder. After access was granted, every
// request shows it.
func TestWithdrawalDuringSearches(t *testing.T) {
	const readers, rounds = 4, 5
	s := startStack(t)
	id := s.file("A", "a.md", handbook, "x")
	folder := s.folderOf(id)
	requests := []struct{ method, path, body, shows string }{
		{"POST", "/core/search", `{"query":"notice period"}`, "ninety days"},
		{"POST", "/core/ask", `{"query":"How long is the notice period?"}`, "ninety days"},
		{"POST", "/vault/documents/batch", `{"ids":["` + id + `"]}`, "ninety days"},
		{"GET", "/vault/documents?tag=x", "", id},
		{"GET", "/vault/tags", "", `"x"`},
		{"GET", "/vault/folders", "", folder},
		{"GET", "/core/folders/summary?folder_name=A", "", `"ok"`},
		{"GET", "/vault/documents/" + id + "/markdown", "", "ninety days"},
	}
	// round is even while bob may read the folder. It is incremented before each grant is
	// requested, and after each withdrawal is confirmed.
	var round atomic.Int32
	round.Store(1)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for reader := range readers {
		all.Go(func() {
			for i := reader; ctx.Err() == nil; i++ {
				r := requests[i%len(requests)]
				before := round.Load()
				_, body := s.do(r.method, r.path, r.body, "Authorization", "Bearer bob")
				if after := round.Load(); before == after && before%2 == 1 && strings.Contains(body, r.shows) {
					t.Errorf("%s %s after the withdrawal = %s", r.method, r.path, body)
				}
			}
		})
	}
	for range rounds {
		round.Add(1)
		s.share(folder, "user:bob", "read")
		for _, r := range requests {
			if _, body := s.do(r.method, r.path, r.body, "Authorization", "Bearer bob"); !strings.Contains(body, r.shows) {
				t.Errorf("%s %s after the grant = %s, want the document", r.method, r.path, body)
			}
		}
		s.share(folder)
		round.Add(1)
		for _, r := range requests {
			if _, body := s.do(r.method, r.path, r.body, "Authorization", "Bearer bob"); strings.Contains(body, r.shows) {
				t.Errorf("%s %s right after the withdrawal = %s", r.method, r.path, body)
			}
		}
	}
	stop()
	all.Wait()
}

// While new content for a document is imported, each search finds either the old or the new
// version, never both.
func TestRevisionDuringSearches(t *testing.T) {
	const readers, revisions = 4, 8
	text := func(version int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "# Handbook\n")
		for section := range 5 {
			fmt.Fprintf(&b, "\n## Notice %d\n\nThe notice period of contract %d is told in edition%d.\n", section, section, version)
		}
		return b.String()
	}
	s := startStack(t)
	id := s.file("A", "a.md", text(1))
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var searches atomic.Int32
	for range readers {
		all.Go(func() {
			for ctx.Err() == nil {
				_, body := s.do("POST", "/core/search", `{"query":"notice period of contract"}`)
				searches.Add(1)
				var found searchReply
				if err := json.Unmarshal([]byte(body), &found); err != nil {
					t.Error(err)
				}
				editions := map[string]bool{}
				for _, source := range found.Sources {
					for word := range strings.FieldsSeq(source.Text) {
						if strings.HasPrefix(word, "edition") {
							editions[word] = true
						}
					}
				}
				if len(editions) != 1 {
					t.Errorf("a search finds %d versions: %s", len(editions), body)
				}
			}
		})
	}
	for version := 1; version <= revisions; version++ {
		resp, body := s.revise(id, fmt.Sprintf(`"%d"`, version), text(version+1))
		if resp.StatusCode != 200 {
			t.Fatalf("revision %d = %d %s", version, resp.StatusCode, body)
		}
		if _, body = s.do("POST", "/core/search", `{"query":"notice period of contract"}`); !strings.Contains(body, fmt.Sprintf("edition%d.", version+1)) {
			t.Errorf("after revision %d a search finds %s", version, body)
		}
	}
	stop()
	all.Wait()
	t.Logf("%d searches during %d revisions", searches.Load(), revisions)
}
