package http_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/originals"
	httpd "annals/http"
	"annals/queries/jobs"
)

// revise sends PUT /documents/{id}/content and returns the reply.
func (s *service) revise(id, match, content string, header ...string) (*http.Response, string) {
	s.Helper()
	return s.do("PUT", "/vault/documents/"+id+"/content", content, append([]string{"If-Match", match, "Content-Type", "application/octet-stream"}, header...)...)
}

const leaflet = "# Leaflet\n\nThe notice period of the supplier contract is forty days.\n"

// After the reply, reads, searches and answers contain the new content. The old content can
// still be read as a version.
func TestRevise(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "a.md", handbook, "x")
	path := "/vault/documents/" + id
	resp, body := s.revise(id, `"1"`, leaflet)
	item := decode[struct {
		Name    string
		Version int
		Size    int
	}](t, body)
	if resp.StatusCode != 200 || item.Name != "a.md" || item.Version != 2 || item.Size != 0 || resp.Header.Get("ETag") != `"2"` {
		t.Fatalf("revised = %d %s", resp.StatusCode, body)
	}
	for end, want := range map[string]string{"": "forty days", "/markdown": "forty days", "/content": leaflet, "/versions/1": "ninety days", "/versions/1/content": handbook, "/versions/1/markdown": "ninety days", "/versions/2/content": leaflet, "/tags": "x"} {
		if resp, body = s.do("GET", path+end, ""); resp.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s = %d %s, want %s in it", end, resp.StatusCode, body, want)
		}
	}
	if _, body = s.do("POST", "/core/search", `{"query":"notice period"}`); !strings.Contains(body, "forty days") || strings.Contains(body, "ninety days") {
		t.Errorf("search finds %s", body)
	}
	resp, body = s.revise(id, `"1"`, leaflet+"more")
	s.want(resp, body, 409, failure(409, `document "a.md" is at version 2, not 1`))
	if resp, body = s.revise(id, `"2"`, leaflet); resp.StatusCode != 200 || resp.Header.Get("ETag") != `"2"` {
		t.Errorf("the same bytes again = %d %s %s", resp.StatusCode, body, resp.Header.Get("ETag"))
	}
}

// Invalid content is refused with a reason. The document does not change, and no original is
// left behind by requests that are refused before the import.
func TestReviseRefuses(t *testing.T) {
	s := startStack(t, func(h *httpd.Server) { h.Limits.FileBytes = 1000 })
	id := s.file("A", "a.md", handbook)
	s.share(s.folderOf(id), "user:bob", "read")
	_, before := s.stored()
	unsized := func() io.Reader { return io.MultiReader(strings.NewReader("")) }
	for _, test := range []struct {
		id, match, token string
		body             io.Reader
		kind             string
		status           int
		want             string
	}{
		{id, `"1"`, "alice", strings.NewReader("x"), "multipart/form-data; boundary=b", 415, failure(415, "the body must be the file itself, not a form")},
		{id, `"1"`, "alice", nil, "text/plain", 422, invalid("body should not be empty")},
		{id, `"1"`, "alice", unsized(), "text/plain", 422, invalid("body should not be empty")},
		{id, `"1"`, "alice", strings.NewReader(strings.Repeat("x", 1001)), "", 413, failure(413, "a file may have at most 1000 bytes")},
		{id, `"1"`, "alice", io.MultiReader(strings.NewReader(strings.Repeat("x", 1001))), "", 413, failure(413, "a file may have at most 1000 bytes")},
		{id, `"7"`, "alice", strings.NewReader("x"), "", 409, failure(409, `document "a.md" is at version 1, not 7`)},
		{id, `"7"`, "bob", strings.NewReader("x"), "", 403, failure(403, `you have read access to document "a.md"; this needs write access`)},
		{id, `"1"`, "carol", strings.NewReader("x"), "", 404, notFound},
		{"x", `"1"`, "alice", strings.NewReader("x"), "", 404, notFound},
	} {
		r, err := http.NewRequest("PUT", s.url+"/vault/documents/"+test.id+"/content", test.body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+test.token)
		r.Header.Set("If-Match", test.match)
		r.Header.Set("Content-Type", test.kind)
		resp, body := s.send(r)
		s.want(resp, body, test.status, test.want)
	}
	for name, refused := range map[string][2]string{"Content-Encoding": {"gzip", "415"}, "Content-Range": {"bytes 0-2/10", "400"}} {
		resp, body := s.do("PUT", "/vault/documents/"+id+"/content", "x", "If-Match", `"1"`, name, refused[0])
		if fmt.Sprint(resp.StatusCode) != refused[1] {
			t.Errorf("with %s = %d %s, want %s", name, resp.StatusCode, body, refused[1])
		}
	}
	resp, body := s.revise(id, `"1"`, "\x00\x01\x02 no text")
	if resp.StatusCode != 422 || !strings.HasPrefix(body, `{"statusCode":422,"message":["`) {
		t.Errorf("unreadable content = %d %s, want 422", resp.StatusCode, body)
	}
	if resp, body = s.do("GET", "/vault/documents/"+id+"/content", ""); body != handbook {
		t.Errorf("content = %d %s", resp.StatusCode, body)
	}
	if staged, committed := s.stored(); staged != 0 || committed != before+1 { // the original of the unreadable content, which is swept later
		t.Errorf("%d staged, %d committed, %d before", staged, committed, before)
	}
}

// slowJob is a fake of the queries whose FollowJob waits until proceed is closed.
type slowJob struct {
	httpd.Queries
	followed chan string
	proceed  chan struct{}
}

func (s *slowJob) FollowJob(ctx context.Context, u events.User, id string, each func(jobs.Update) error) error {
	s.followed <- id
	select {
	case <-s.proceed:
		return s.Queries.FollowJob(ctx, u, id, each)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// If the import takes longer than Revise, the reply is 202 with the job.
func TestReviseTakesLong(t *testing.T) {
	slow := &slowJob{followed: make(chan string, 1), proceed: make(chan struct{})}
	s := startStack(t, func(h *httpd.Server) {
		h.Revise = 10 * time.Millisecond
		slow.Queries, h.Queries = h.Queries, slow
	})
	id := s.file("A", "a.md", handbook)
	resp, body := s.revise(id, `"1"`, leaflet)
	job := <-slow.followed
	if got := decode[jobReply](t, body); resp.StatusCode != 202 || got.JobID != job || resp.Header.Get("Location") != "/core/jobs/"+job {
		t.Errorf("%d %s at %q", resp.StatusCode, body, resp.Header.Get("Location"))
	}
	if j := s.finish(job); j.Successful != 1 || j.Results[0].DocumentID != id {
		t.Errorf("job %+v", j)
	}
	if resp, _ = s.do("GET", "/vault/documents/"+id+"/tags", ""); resp.Header.Get("ETag") != `"2"` {
		t.Errorf("the document has version %s, want 2", resp.Header.Get("ETag"))
	}
}

// A stopping server does not wait for the import of new content.
func TestReviseWhileStopping(t *testing.T) {
	slow := &slowJob{followed: make(chan string, 1), proceed: make(chan struct{})}
	s := startStack(t, func(h *httpd.Server) {
		h.Revise = time.Hour
		slow.Queries, h.Queries = h.Queries, slow
	})
	id := s.file("A", "a.md", handbook)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served, answered := make(chan error, 1), make(chan struct{})
	go func() { served <- s.server.Serve(ctx, l) }()
	go func() {
		defer close(answered)
		if resp, body := s.revise(id, `"1"`, leaflet); resp.StatusCode != 202 || !strings.HasPrefix(resp.Header.Get("Location"), "/core/jobs/") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}()
	<-slow.followed
	stop()
	<-answered
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// If the document changes while new content is uploaded or imported, the reply is 409.
func TestReviseConflicts(t *testing.T) {
	for _, at := range []string{"stage", "read"} {
		t.Run(at, func(t *testing.T) {
			held := &heldStore{at: at, reached: make(chan struct{}), release: make(chan struct{})}
			s := startStack(t, func(h *httpd.Server) { held.Store, h.Originals = h.Originals, held })
			id := s.file("A", "a.md", handbook)
			done := make(chan struct{})
			go func() {
				defer close(done)
				resp, body := s.revise(id, `"1"`, leaflet)
				s.want(resp, body, 409, failure(409, `document "b.md" is at version 2, not 1`))
			}()
			<-held.reached
			if resp, body := s.do("PATCH", "/vault/documents/"+id, `{"name":"b.md","version":1}`); resp.StatusCode != 200 {
				t.Errorf("rename = %d %s", resp.StatusCode, body)
			}
			close(held.release)
			<-done
			if resp, body := s.do("GET", "/vault/documents/"+id+"/content", ""); body != handbook {
				t.Errorf("content = %d %s", resp.StatusCode, body)
			}
		})
	}
}

// If the user loses write access while new content is imported, the reply is 403.
func TestReviseLosesAccess(t *testing.T) {
	held := &heldStore{at: "read", reached: make(chan struct{}), release: make(chan struct{})}
	s := startStack(t, func(h *httpd.Server) { held.Store, h.Originals = h.Originals, held })
	id := s.file("A", "a.md", handbook)
	folder := s.folderOf(id)
	s.share(folder, "user:bob", "write")
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, body := s.revise(id, `"1"`, leaflet, "Authorization", "Bearer bob")
		s.want(resp, body, 403, failure(403, `you have read access to document "a.md"; this needs write access`))
	}()
	<-held.reached
	s.share(folder, "user:bob", "read")
	close(held.release)
	<-done
}

// If If-Match is the ETag of the original, the new content replaces only that original.
func TestReviseByDigest(t *testing.T) {
	s := startStack(t)
	id := s.file("A", "a.md", handbook)
	s.share(s.folderOf(id), "user:bob", "read")
	path := "/vault/documents/" + id
	if resp, body := s.do("PATCH", path, `{"name":"b.md","version":1}`); resp.StatusCode != 200 {
		t.Fatalf("rename = %d %s", resp.StatusCode, body)
	}
	resp, _ := s.do("GET", path+"/content", "")
	tag := resp.Header.Get("ETag")
	resp, body := s.revise(id, tag, leaflet)
	if resp.StatusCode != 200 || resp.Header.Get("ETag") != `"3"` {
		t.Errorf("revised by %s = %d %s at %s", tag, resp.StatusCode, body, resp.Header.Get("ETag"))
	}
	resp, body = s.revise(id, tag, "more")
	s.want(resp, body, 409, failure(409, `document "b.md" is at version 3, whose file is not the one that If-Match names`))
	for token, want := range map[string]string{"bob": failure(403, `you have read access to document "b.md"; this needs write access`), "carol": notFound} {
		status := map[string]int{"bob": 403, "carol": 404}[token]
		resp, body = s.revise(id, tag, "more", "Authorization", "Bearer "+token)
		s.want(resp, body, status, want)
	}
	for _, faulty := range []string{tag + ", " + tag, "W/" + tag, strings.ToUpper(tag), tag[:40] + `"`} {
		resp, body = s.revise(id, faulty, "more")
		s.want(resp, body, 422, invalid(`If-Match must be the ETag of the version that was read, with its quotes`))
	}
	resp, body = s.do("PATCH", path, `{"name":"c.md"}`, "If-Match", tag)
	s.want(resp, body, 422, invalid(`If-Match must be the ETag of the version that was read, with its quotes`))
}

// heldStore signals on reached and waits for release: if at is "stage" after the leaflet was
// staged, if at is "read" when the leaflet is read.
type heldStore struct {
	originals.Store
	at               string
	reached, release chan struct{}
}

func (h *heldStore) Stage(ctx context.Context, r io.Reader, limit int64) (originals.Staged, error) {
	staged, err := h.Store.Stage(ctx, r, limit)
	if h.at == "stage" && err == nil && staged.Size() == int64(len(leaflet)) {
		close(h.reached)
		<-h.release
	}
	return staged, err
}

func (h *heldStore) Path(ctx context.Context, sum string) (string, func(), error) {
	if h.at == "read" && sum == fmt.Sprintf("%x", sha256.Sum256([]byte(leaflet))) {
		close(h.reached)
		<-h.release
	}
	return h.Store.Path(ctx, sum)
}

// The heap that is needed for new content does not grow with the size of the file.
func TestLargeRevisionUsesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	const size = 100 << 20
	s := startStack(t, func(h *httpd.Server) { h.Limits.FileBytes = size })
	id := s.file("A", "a.md", handbook)
	var peak uint64
	measured := &measuringReader{r: io.LimitReader(lines{}, size+1), every: 8 << 20, peak: &peak}
	r, _ := http.NewRequest("PUT", s.url+"/vault/documents/"+id+"/content", io.MultiReader(measured))
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("If-Match", `"1"`)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	resp, body := s.send(r)
	s.want(resp, body, 413, failure(413, fmt.Sprintf("a file may have at most %d bytes", size)))
	if used := int64(peak) - int64(before.HeapInuse); used > 32<<20 {
		t.Errorf("the upload took %d MiB of heap", used>>20)
	}
}
