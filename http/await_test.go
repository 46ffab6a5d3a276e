package http_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"annals/events"
	httpd "annals/http"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/tables"
	"annals/queries"
)

// delayed is the whole stack, each of whose read models can be kept from applying
// events.
type delayed struct {
	*service
	home    tables.Home
	queries *queries.Queries
}

func startDelayed(t *testing.T, await time.Duration) *delayed {
	t.Helper()
	d := &delayed{}
	d.service = startStackOver(t, func(o *generation.Options) { d.home = o.Tables }, func(h *httpd.Server) {
		h.Await, h.Revise = await, await
		d.queries = h.Queries.(*queries.Queries)
	})
	return d
}

// awaited are the names of the read models that replies to writes wait for.
func awaited() (names []string) {
	for _, m := range readmodel.All() {
		if m.NotAwaited == "" {
			names = append(names, m.Projection.Name())
		}
	}
	return names
}

func (d *delayed) block(model string) (release func()) {
	d.Helper()
	return projectionstest.Block(d.T, d.home, model+"-1")
}

func (d *delayed) head() events.Position {
	d.Helper()
	head, err := d.log.Head(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	return head
}

// A read right after a write is never stale, in any read model: while one is kept
// from applying events, the reply waits for it.
func TestWriteAwaitsEveryReadModel(t *testing.T) {
	d := startDelayed(t, time.Hour)
	bob := []string{"Authorization", "Bearer bob"}
	folder, other, shared := d.makeFolder("", "Folder"), d.makeFolder("", "Other"), d.makeFolder("", "Shared")
	document, doomed := d.file("Folder", "a.md", "Text."), ""
	version := 1
	change := func(method, path, body string, header ...string) func() int {
		return func() int {
			resp, _ := d.do(method, path, body, header...)
			return resp.StatusCode
		}
	}
	invite := change("PUT", "/vault/folders/"+shared+"/permissions", `{"permissions":[{"principal":"user:bob","access":"read"}]}`)
	for _, write := range []struct {
		name   string
		before func() // is not delayed
		do     func() int
	}{
		{"create folder", func() {}, func() int { return change("POST", "/vault/folders", fmt.Sprintf(`{"name":"New %d"}`, d.head()))() }},
		{"rename folder", func() {}, func() int {
			return change("PATCH", "/vault/folders/"+other, fmt.Sprintf(`{"name":"Other %d"}`, d.head()))()
		}},
		{"share folder", func() { change("PUT", "/vault/folders/"+shared+"/permissions", `{"permissions":[]}`)() }, invite},
		{"accept invitation", func() { change("PUT", "/vault/folders/"+shared+"/permissions", `{"permissions":[]}`)(); invite() }, change("POST", "/vault/invitations/"+shared+"/accept", "", bob...)},
		{"rename document", func() {}, func() int {
			version++
			return change("PATCH", "/vault/documents/"+document, fmt.Sprintf(`{"name":"%d.md","version":%d}`, version, version-1))()
		}},
		{"tag document", func() {}, func() int {
			version++
			return change("PUT", "/vault/documents/"+document+"/tags", fmt.Sprintf(`{"tags":["t%d"],"version":%d}`, version, version-1))()
		}},
		{"delete folder", func() { doomed = d.makeFolder(folder, "Doomed") }, func() int { return change("DELETE", "/vault/folders/"+doomed+"?recursive=true", "")() }},
		{"import", func() {}, func() int {
			resp, _ := d.upload("", func(w *multipart.Writer) { addFile(w, "virus.exe", "MZ") })
			return resp.StatusCode
		}},
	} {
		for _, model := range awaited() {
			write.before()
			release, begun := d.block(model), d.head()
			status := make(chan int, 1)
			go func() { status <- write.do() }()
			for d.head() == begun { // until it is appended
				time.Sleep(time.Millisecond)
			}
			select {
			case got := <-status:
				t.Errorf("%s: the reply %d does not wait for the read model %s", write.name, got, model)
				status <- got
			case <-time.After(20 * time.Millisecond):
			}
			release()
			if got := <-status; got >= 300 || got == http.StatusAccepted {
				t.Errorf("%s: %d once %s went on", write.name, got, model)
			}
			for _, m := range d.queries.Models.Awaited() {
				if head := d.head(); m.Position() < head && write.name != "import" { // whose job goes on
					t.Errorf("%s: after the reply %s is at position %d of %d", write.name, m.Name(), m.Position(), head)
				}
			}
		}
	}
}

// A write that a read model does not show in time is accepted, not refused.
func TestWriteSucceedsDespiteLag(t *testing.T) {
	d := startDelayed(t, 100*time.Millisecond)
	for _, model := range awaited() {
		release := d.block(model)
		resp, body := d.do("POST", "/vault/folders", fmt.Sprintf(`{"name":"While %s lags"}`, model))
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("while %s lags a folder is created with %d %s, want 202", model, resp.StatusCode, body)
		}
		release()
	}
}

// A client that asks for the job in the first event of a stream is not told that there
// is none, however far its read model is behind.
func TestJobOfFirstEventIsKnown(t *testing.T) {
	d := startDelayed(t, 10*time.Millisecond)
	d.queries.Models.MaxLag = 50 * time.Millisecond
	release := d.block("jobs")
	defer release()
	_, lines := d.stream(t.Context())
	data, _ := strings.CutPrefix(<-lines, "data: ")
	event := decode[struct {
		JobID string `json:"job_id"`
	}](t, data)
	if resp, body := d.do("GET", "/core/jobs/"+event.JobID, ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("while the jobs lag, the job is %d %s, want 503", resp.StatusCode, body)
	}
	d.queries.Models.MaxLag = time.Hour
	answered := make(chan int, 1)
	go func() {
		resp, _ := d.do("GET", "/core/jobs/"+event.JobID, "")
		answered <- resp.StatusCode
	}()
	release()
	if got := <-answered; got != http.StatusOK {
		t.Errorf("once the jobs went on, the job is %d, want 200", got)
	}
	for range lines { // until the stream ends
	}
}

// What a write changed shows in all that is read right after it.
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
			t.Errorf("after the document is renamed to %s the summary is %s", name, body)
		}
		_, body = s.do("GET", "/vault/audit?limit=1", "")
		if !strings.Contains(body, request) {
			t.Errorf("after %s the audit trail ends with %s", request, body)
		}
		s.makeFolder(folder, fmt.Sprint(i))
		_, body = s.do("GET", "/vault/usage", "")
		var usage struct{ Folders struct{ Used int } }
		if err := json.Unmarshal([]byte(body), &usage); err != nil || usage.Folders.Used != i+2 {
			t.Errorf("after %d folders were made the usage is %s", i+2, body)
		}
	}
}

// A read model that lags holds up neither the steps of an import nor its end.
func TestImportGoesOnWhileReadModelLags(t *testing.T) {
	d := startDelayed(t, 50*time.Millisecond)
	d.queries.Models.MaxLag = 50 * time.Millisecond
	for _, model := range []string{"audit", "usage"} {
		release := d.block(model)
		_, lines := d.stream(t.Context())
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
