package http_test

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/commands"
	"annals/commands/quota"
	"annals/events"
	httpd "annals/http"
)

const keyFault = `{"type":"value_error","loc":["header","Idempotency-Key"],"msg":"Value error, `

// two writes an upload of two files. One of them is refused.
func two(w *multipart.Writer) {
	w.WriteField("file_metadata", `[{"folder_name":"A","tags":["x"]},{"folder_name":"A"}]`)
	addFile(w, "a.md", "# A")
	addFile(w, "x.exe", "MZ")
}

func jobOf(s *service, resp *http.Response, body string) string {
	s.Helper()
	if resp.StatusCode != 200 && resp.StatusCode != 202 {
		s.Fatalf("upload = %d %s", resp.StatusCode, body)
	}
	if data, ok := strings.CutPrefix(body, "data: "); ok {
		body, _, _ = strings.Cut(data, "\n")
	}
	return decode[jobReply](s.T, body).JobID
}

func TestIngestWithSameKey(t *testing.T) {
	s := startStack(t)
	key := []string{"Idempotency-Key", `"8e03978e" ~`}
	resp, body := s.upload("", two, key...)
	job := jobOf(s, resp, body)
	s.finish(job)
	// A new Handler stands for another process: it can find the key only in the log.
	s.server.Commands = &commands.Handler{Log: s.log}
	head := s.head()
	_, before := s.stored()
	for _, query := range []string{"", "?stream=true"} {
		resp, body := s.upload(query, two, key...)
		if got := jobOf(s, resp, body); got != job {
			t.Errorf("repeated%s: job %s, want %s", query, got, job)
		}
		if query == "" && s.finish(job).Failed != 1 || query != "" && !strings.Contains(body, `"event_type":"complete"`) {
			t.Errorf("repeated%s = %s", query, body)
		}
	}
	if staged, after := s.stored(); staged != 0 || after != before || s.head() != head {
		t.Errorf("a repeated upload left %d staged files, %d more originals and %d more events", staged, after-before, s.head()-head)
	}
	same := func(w *multipart.Writer) { addFile(w, "a.md", "# A") }
	resp, body = s.upload("", same, append(by("bob"), key...)...)
	if got := jobOf(s, resp, body); got == job {
		t.Error("another user's upload with the same key has the same job")
	}
	resp, body = s.upload("", two)
	if got := jobOf(s, resp, body); got == job {
		t.Error("an upload without a key has the same job")
	}
}

func TestIngestRejectsReusedKey(t *testing.T) {
	s := start(t, nil)
	s.server.Await = 1
	key := []string{"Idempotency-Key", "k"}
	resp, body := s.upload("", two, key...)
	jobOf(s, resp, body)
	head := s.head()
	other := func(metadata, name, content string) func(*multipart.Writer) {
		return func(w *multipart.Writer) {
			addFile(w, name, content)
			addFile(w, "x.exe", "MZ")
			w.WriteField("file_metadata", metadata)
		}
	}
	const same = `[{"folder_name":"A","tags":["x"]},{"folder_name":"A"}]`
	for what, write := range map[string]func(*multipart.Writer){
		"other bytes":    other(same, "a.md", "# B"),
		"another name":   other(same, "b.md", "# A"),
		"another folder": other(`[{"folder_name":"B","tags":["x"]},{"folder_name":"A"}]`, "a.md", "# A"),
		"of one refused": other(`[{"folder_name":"A","tags":["x"]},{"folder_name":"B"}]`, "a.md", "# A"),
		"other tags":     other(`[{"folder_name":"A","tags":["y"]},{"folder_name":"A"}]`, "a.md", "# A"),
		"a replacement":  other(`[{"folder_name":"A","tags":["x"],"replace":true},{"folder_name":"A"}]`, "a.md", "# A"),
		"no metadata":    func(w *multipart.Writer) { addFile(w, "a.md", "# A"); addFile(w, "x.exe", "MZ") },
		"fewer files":    func(w *multipart.Writer) { addFile(w, "a.md", "# A") },
		"more files":     func(w *multipart.Writer) { two(w); addFile(w, "b.md", "# B") },
	} {
		resp, body := s.upload("", write, key...)
		if resp.StatusCode != 422 || !strings.HasPrefix(body, `{"detail":[`+keyFault+"the key was used for another upload: ") {
			t.Errorf("%s = %d %s", what, resp.StatusCode, body)
		}
	}
	resp, body = s.upload("", other(same, "a.md", "# A"), key...)
	jobOf(s, resp, body) // the same metadata with its fields in another order is not a different upload
	if staged, kept := s.stored(); staged != 0 || kept != 1 || s.head() != head {
		t.Errorf("%d staged, %d kept, %d events more", staged, kept, s.head()-head)
	}
}

func TestInvalidIdempotencyKeys(t *testing.T) {
	s := start(t, nil)
	for _, keys := range [][]string{{""}, {strings.Repeat("k", 256)}, {"é"}, {"a\tb"}, {"a", "b"}} {
		body, kind := form(two)
		r, _ := http.NewRequest("POST", s.url+"/core/ingest", strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer alice"}, "Content-Type": {kind}, "Idempotency-Key": keys}
		resp, reply := s.send(r)
		s.want(resp, reply, 422, `{"detail":[`+keyFault+`the header must be sent once, with a key of 1 to 255 printable ASCII characters","input":null,"ctx":{"error":{}}}]}`)
	}
	if _, kept := s.stored(); kept != 0 {
		t.Errorf("%d files were kept", kept)
	}
	s.server.Await = 1
	resp, body := s.upload("", two, "Idempotency-Key", strings.Repeat("k", 255))
	jobOf(s, resp, body)
}

func TestConcurrentUploadsWithOneKey(t *testing.T) {
	s := startStack(t)
	// other is another node on the same log.
	other := &httpd.Server{Verify: verify, Queries: s.server.Queries, Commands: &commands.Handler{Log: s.log}, Originals: s.server.Originals, Logger: s.server.Logger, Await: time.Hour}
	second := httptest.NewServer(other.Handler())
	t.Cleanup(second.Close)
	var all sync.WaitGroup
	var mu sync.Mutex
	jobs := map[string]int{}
	for i := range 8 {
		all.Go(func() {
			content := "# A"
			if i == 0 {
				content = "# Another"
			}
			body, kind := form(func(w *multipart.Writer) { addFile(w, "a.md", content) })
			r, _ := http.NewRequest("POST", []string{s.url, second.URL}[i%2]+"/core/ingest", strings.NewReader(body))
			r.Header = http.Header{"Authorization": {"Bearer alice"}, "Content-Type": {kind}, "Idempotency-Key": {"k"}}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			mu.Lock()
			defer mu.Unlock()
			if jobs[fmt.Sprint(resp.StatusCode)]++; resp.StatusCode == 200 {
				jobs[decode[jobReply](t, string(b)).JobID]++
			}
		})
	}
	all.Wait()
	// One job is created, and its content decides: requests with that content receive 200, all
	// others 422.
	if _, n := s.accepted(); n != 1 || len(jobs) != 3 || jobs["200"]+jobs["422"] != 8 || jobs["422"] != 1 && jobs["422"] != 7 {
		t.Errorf("%d jobs, replies %v", n, jobs)
	}
}

// A repeated upload succeeds even if the quota is used up or the folder was deleted meanwhile.
func TestRepeatedUploadNeedsNoQuota(t *testing.T) {
	s := limit(t, quota.Limits{quota.Documents: 1}, quota.Limits{})
	one := func(w *multipart.Writer) {
		w.WriteField("file_metadata", `[{"folder_name":"A"}]`)
		addFile(w, "a.md", strings.Repeat("a", 200))
	}
	resp, body := s.upload("", one, "Idempotency-Key", "k")
	job := jobOf(s, resp, body)
	id := s.finish(job).Results[0].DocumentID
	if resp, body := s.upload("", one); resp.StatusCode != 413 {
		t.Fatalf("beyond the limit = %d %s", resp.StatusCode, body)
	}
	folder := s.folderOf(id)
	for range 2 {
		resp, body = s.upload("", one, "Idempotency-Key", "k")
		if got := jobOf(s, resp, body); got != job {
			t.Errorf("job %s, want %s", got, job)
		}
		if folder != "" {
			s.do("DELETE", "/vault/folders/"+folder+"?recursive=true", "")
			folder = ""
			s.makeFolder("", "a") // looks like A
		}
	}
	if batch, _, err := s.log.Read(t.Context(), 0, 1000, "ImportRequested"); err != nil || len(batch) != 1 {
		t.Errorf("%d jobs, %v", len(batch), err)
	}
}

// If the server crashed before it created the job of an upload, repeating the upload creates
// the job.
func TestRepeatedUploadAfterCrash(t *testing.T) {
	s := start(t, nil)
	s.server.Await = 1
	resp, body := s.upload("", two, "Idempotency-Key", "k")
	job := jobOf(s, resp, body)
	var accepted []events.New
	if err := s.log.ReadStream(t.Context(), "job-"+job, 0, func(e events.Event) error {
		accepted = append(accepted, events.New{Data: e.Data})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cut := start(t, nil) // with the log of a server that crashed after it accepted the first file
	cut.server.Await = 1
	if _, err := cut.log.Append(t.Context(), "job-"+job, events.NoStream, events.Cause{}, accepted[0]); err != nil {
		t.Fatal(err)
	}
	resp, body = cut.upload("", func(w *multipart.Writer) { addFile(w, "b.md", "# B") }, "Idempotency-Key", "k")
	if resp.StatusCode != 422 || !strings.Contains(body, "used for another upload") {
		t.Errorf("another upload = %d %s", resp.StatusCode, body)
	}
	for range 2 {
		resp, body = cut.upload("", two, "Idempotency-Key", "k")
		if got := jobOf(cut, resp, body); got != job {
			t.Errorf("job %s, want %s", got, job)
		}
	}
	if files, jobs := cut.accepted(); jobs != 1 || len(files) != 2 || files[0].Name != "a.md" || files[1].Name != "x.exe" {
		t.Errorf("%d jobs, files %+v", jobs, files)
	}
}
