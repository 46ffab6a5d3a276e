package http_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	httpd "annals/http"
	"annals/queries/jobs"

	"github.com/google/uuid"
)

// lines sends a request. It returns the response and a channel with the non-empty lines of its
// body.
func (s *service) lines(r *http.Request) (*http.Response, <-chan string) {
	s.Helper()
	resp, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer resp.Body.Close()
		for scanner := bufio.NewScanner(resp.Body); scanner.Scan(); {
			if scanner.Text() != "" {
				lines <- scanner.Text()
			}
		}
	}()
	return resp, lines
}

// stream uploads one file with stream=true, and returns what lines does.
func (s *service) stream(ctx context.Context) (*http.Response, <-chan string) {
	s.Helper()
	body, contentType := form(func(w *multipart.Writer) { addFile(w, "a.md", "# A") })
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/core/ingest?stream=true", strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", contentType)
	return s.lines(r)
}

// wantEvent checks that the next line is the wanted event of the last job in the log.
func (s *service) wantEvent(lines <-chan string, want string) {
	s.Helper()
	line := <-lines
	data, ok := strings.CutPrefix(line, "data: ")
	want = strings.Replace(want, "{", `{"job_id":"`+strings.TrimPrefix(lastJob(s), "job-")+`",`, 1)
	if !ok || !sameJSON(data, want) {
		s.Errorf("line %s, want event %s", line, want)
	}
}

const first = `{"event_type":"processing","message":"1 file accepted"}`

// Each event is sent immediately and on one line. The last event reports the end of the job.
func TestProgress(t *testing.T) {
	document := uuid.New()
	for _, end := range []struct {
		job  jobs.Job
		want string
	}{
		{jobs.Job{Status: "complete", Message: "2 files imported", Successful: 2, Done: true}, `{"event_type":"complete","message":"2 files imported","successful_files":2}`},
		{jobs.Job{Status: "error", Message: "no file was imported", Error: "a.md is unreadable", Done: true}, `{"event_type":"error","message":"no file was imported","error":"a.md is unreadable"}`},
	} {
		s := start(t, nil)
		updates := make(chan jobs.Update)
		s.library.follow = func(ctx context.Context, each func(jobs.Update) error) error {
			for u := range updates {
				if err := each(u); err != nil {
					return err
				}
			}
			return nil
		}
		resp, lines := s.stream(t.Context())
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s %q, want %q", name, got, want)
			}
		}
		s.wantEvent(lines, first)
		updates <- jobs.Update{File: "a.md", Step: "reading", Message: "page 1\nof 2"}
		s.wantEvent(lines, `{"event_type":"processing","current_file":"a.md","file_index":0,"current_step":"reading","message":"page 1\nof 2"}`)
		updates <- jobs.Update{File: "a.md", Document: document, Message: "imported"}
		s.wantEvent(lines, `{"event_type":"processing","current_file":"a.md","file_index":0,"message":"imported","document_id":"`+document.String()+`","duplicate":false}`)
		updates <- jobs.Update{File: "c.pdf", Document: document, Message: "imported", Warnings: []string{"Page 2 is not read."}}
		s.wantEvent(lines, `{"event_type":"processing","current_file":"c.pdf","file_index":0,"message":"imported","document_id":"`+document.String()+`","duplicate":false,"warnings":["Page 2 is not read."]}`)
		updates <- jobs.Update{File: "b.md", Failed: "the file is empty"}
		s.wantEvent(lines, `{"event_type":"processing","current_file":"b.md","file_index":0,"message":"the file is empty"}`)
		updates <- jobs.Update{Job: &end.job}
		s.wantEvent(lines, end.want)
		close(updates)
		if line, more := <-lines; more {
			t.Errorf("line %q after the last event", line)
		}
	}
}

// The first event is sent when the job can be read.
func TestProgressNamesReadableJob(t *testing.T) {
	s := start(t, func(h *httpd.Server) { h.KeepAlive = 5 * time.Millisecond })
	s.library.follow, s.library.held = quiet, make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	_, lines := s.stream(ctx)
	for range 3 {
		if line := <-lines; line != ": keep-alive" {
			t.Errorf("line %s before the job can be read, want only keep-alive comments", line)
		}
	}
	close(s.library.held)
	line := <-lines
	for line == ": keep-alive" {
		line = <-lines
	}
	if !strings.Contains(line, "1 file accepted") || s.library.passed.Load() == 0 {
		t.Errorf("line %s, want the first event after the job can be read", line)
	}
	leave()
	for range lines { // until the response has ended
	}
}

// If the job cannot be read within Await, the first event is sent nevertheless.
func TestProgressNamesJobAfterAwait(t *testing.T) {
	s := start(t, func(h *httpd.Server) { h.Await = time.Millisecond })
	s.library.follow, s.library.lag = quiet, true
	ctx, leave := context.WithCancel(t.Context())
	_, lines := s.stream(ctx)
	s.wantEvent(lines, first)
	leave()
	for range lines { // until the response has ended
	}
}

// quiet replaces FollowJob. It follows a job without ever reporting an update.
func quiet(ctx context.Context, _ func(jobs.Update) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestProgressStalls(t *testing.T) {
	for _, lag := range []bool{false, true} {
		t.Run(fmt.Sprint("read model lags: ", lag), func(t *testing.T) { testStall(t, lag) })
	}
}

func testStall(t *testing.T, lag bool) {
	s := start(t, func(h *httpd.Server) { h.KeepAlive, h.Stall = 10*time.Millisecond, 100*time.Millisecond })
	s.library.follow, s.library.lag = quiet, lag
	_, lines := s.stream(t.Context())
	comments, last := 0, ""
	if !lag {
		s.wantEvent(lines, first)
	}
	for line := range lines {
		if line == ": keep-alive" {
			comments++
		}
		last = line
	}
	var event map[string]any
	if err := json.Unmarshal([]byte(strings.TrimPrefix(last, "data: ")), &event); err != nil || event["event_type"] != "error" || event["error"] != "stream_stalled" || comments == 0 {
		t.Errorf("%d comments, then %s", comments, last)
	}
}

// A stream does not stall while pages of a file are recognised or wait for that. It repeats the
// event of the file, and stalls when no such file is left.
func TestProgressOfScansDoesNotStall(t *testing.T) {
	const limit = 200 * time.Millisecond
	s := start(t, func(h *httpd.Server) { h.Stall = limit })
	updates := make(chan jobs.Update)
	s.library.follow = func(ctx context.Context, each func(jobs.Update) error) error {
		for {
			select {
			case u := <-updates:
				if err := each(u); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	_, lines := s.stream(t.Context())
	s.wantEvent(lines, first)
	waits := jobs.Update{File: "scan.pdf", Index: 3, Step: "ocr", Message: "scan.pdf waits"}
	updates <- jobs.Update{File: "scan.pdf", Index: 5, Step: "ocr", Message: "page 1"}
	s.wantEvent(lines, `{"event_type":"processing","current_file":"scan.pdf","file_index":5,"current_step":"ocr","message":"page 1"}`)
	for _, u := range []jobs.Update{waits, {File: "a.md", Index: 1, Message: "imported"}, {File: "scan.pdf", Index: 5, Message: "imported"}} {
		updates <- u
		<-lines
	}
	for begun := time.Now(); time.Since(begun) < 3*limit; {
		s.wantEvent(lines, `{"event_type":"processing","current_file":"scan.pdf","file_index":3,"current_step":"ocr","message":"scan.pdf waits"}`)
	}
	updates <- jobs.Update{File: "scan.pdf", Index: 3, Message: "imported"}
	<-lines
	s.wantEvent(lines, `{"event_type":"error","message":"nothing happened for 200ms; the import goes on","error":"stream_stalled"}`)
}

func TestProgressThatCannotBeFollowed(t *testing.T) {
	s := start(t, nil)
	s.library.follow = func(context.Context, func(jobs.Update) error) error { return errors.New("secret disk") }
	_, lines := s.stream(t.Context())
	s.wantEvent(lines, first)
	s.wantEvent(lines, `{"event_type":"error","message":"the progress cannot be followed now; the import goes on","error":"stream_stalled"}`)
}

// When the client disconnects, FollowJob ends, but the job continues.
func TestProgressClientLeaves(t *testing.T) {
	s := start(t, nil)
	began, ended := make(chan struct{}), make(chan struct{})
	s.library.follow = func(ctx context.Context, _ func(jobs.Update) error) error {
		defer close(ended)
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, leave := context.WithCancel(t.Context())
	_, lines := s.stream(ctx)
	s.wantEvent(lines, first)
	<-began
	leave()
	<-ended
	for range lines {
	}
	if _, jobs := s.accepted(); jobs != 1 {
		t.Errorf("%d jobs, want 1", jobs)
	}
}

// follow opens the stream of a job's events as the user of s.token, and returns what lines does.
func (s *service) follow(ctx context.Context, job string) (*http.Response, <-chan string) {
	s.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/core/jobs/"+job+"/events", nil)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	return s.lines(r)
}

// A job that another connection started can be followed from its beginning, by its user alone.
func TestJobEvents(t *testing.T) {
	s := start(t, nil)
	_, body := s.upload("", func(w *multipart.Writer) { addFile(w, "a.md", "# A") })
	job := decode[jobReply](t, body).JobID
	s.library.follow = func(ctx context.Context, each func(jobs.Update) error) error {
		return errors.Join(each(jobs.Update{File: "a.md", Index: 0, Step: "reading", Message: "page 1 of 2"}), each(jobs.Update{Job: &jobs.Job{Status: "complete", Message: "done", Successful: 1}}))
	}
	_, lines := s.follow(t.Context(), job)
	s.wantEvent(lines, `{"event_type":"processing","message":"waiting"}`)
	s.wantEvent(lines, `{"event_type":"processing","current_file":"a.md","file_index":0,"current_step":"reading","message":"page 1 of 2"}`)
	s.wantEvent(lines, `{"event_type":"complete","message":"done","successful_files":1}`)
	if line, more := <-lines; more {
		t.Errorf("line %q after the last event", line)
	}
	for _, c := range []struct {
		user, job string
		status    int
	}{{"bob", job, 404}, {"alice", uuid.NewString(), 404}, {"alice", "x", 404}, {"nobody", job, 401}} {
		s.token = c.user
		resp, body := s.do("GET", "/core/jobs/"+c.job+"/events", "")
		if resp.StatusCode != c.status {
			t.Errorf("%s follows %s: %d %s, want %d", c.user, c.job, resp.StatusCode, body, c.status)
		}
	}
}

func TestJobEventsOfOneUserAreBounded(t *testing.T) {
	s := start(t, nil)
	_, body := s.upload("", func(w *multipart.Writer) { addFile(w, "a.md", "# A") })
	job := decode[jobReply](t, body).JobID
	s.library.follow = quiet
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var open []<-chan string
	for range 64 {
		resp, lines := s.follow(ctx, job)
		if resp.StatusCode != 200 {
			t.Fatalf("stream %d = %d", len(open), resp.StatusCode)
		}
		<-lines
		open = append(open, lines)
	}
	if resp, body := s.do("GET", "/core/jobs/"+job+"/events", ""); resp.StatusCode != 429 || !strings.Contains(body, "following 64 imports") || resp.Header.Get("Retry-After") == "" {
		t.Errorf("stream 65 = %d %s, want 429", resp.StatusCode, body)
	}
	leave()
	for _, lines := range open {
		for range lines { // until the response has ended
		}
	}
	again, leave := context.WithCancel(t.Context())
	defer leave()
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C { // the server notices later that the clients have left
		if resp, lines := s.follow(again, job); resp.StatusCode == 200 {
			<-lines
			leave()
			for range lines {
			}
			return
		}
	}
}
