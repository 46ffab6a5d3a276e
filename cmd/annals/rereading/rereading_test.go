package rereading_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"annals/cmd/annals/client"
	"annals/cmd/annals/rereading"

	"github.com/google/uuid"
)

// server is a fake server. It starts a job for each request that is no dry run, with a result for
// each document.
type server struct {
	found    []client.Rereading // replies to a request without ids, one for each page
	results  []client.FileResult
	running  int // how often a job is read before it has ended
	refuse   int // status of the reply to requests with ids; 0 to accept them
	requests []client.Reread
	polls    int
	polled   func(times int) // called when a job is read; may be nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var reply any
	switch {
	case r.URL.Path == "/vault/documents/reread":
		var which client.Reread
		if err := json.NewDecoder(r.Body).Decode(&which); err != nil {
			panic(err)
		}
		s.requests = append(s.requests, which)
		if s.refuse != 0 && len(which.IDs) > 0 {
			w.WriteHeader(s.refuse)
			return
		}
		answer := client.Rereading{Job: &client.Job{ID: fmt.Sprint("job-", len(s.requests))}}
		if len(which.IDs) == 0 {
			answer, s.found = s.found[0], s.found[1:]
		}
		reply = answer
	case strings.HasPrefix(r.URL.Path, "/core/jobs/job-"):
		if s.polls++; s.polled != nil {
			s.polled(s.polls)
		}
		job := client.Job{ID: strings.TrimPrefix(r.URL.Path, "/core/jobs/"), Message: "0 of 1 files done; recognising page 2 of 9 of a.pdf"}
		if s.polls > s.running {
			job.Done, job.Results = true, s.results
		}
		reply = job
	default:
		http.NotFound(w, r)
		return
	}
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		panic(err)
	}
}

// run runs the command, and returns what it printed.
func (s *server) run(ctx context.Context, t *testing.T, o rereading.Options) (out, errOut string, err error) {
	t.Helper()
	web := httptest.NewServer(s)
	defer web.Close()
	to := func(path string) client.Client {
		return client.Client{
			URL: web.URL + path, HTTP: web.Client(), Credential: client.Credential{Token: client.FixedToken("token"), Name: "the token"},
			Tries: 1, Pause: time.Millisecond, Notify: func(string) {},
		}
	}
	var printed, told bytes.Buffer
	o.Core, o.Vault = &client.Core{Client: to("/core")}, &client.Vault{Client: to("/vault")}
	o.Out, o.Err, o.Poll = &printed, &told, time.Millisecond
	err = rereading.Run(ctx, o)
	return printed.String(), told.String(), err
}

func idsOf(n int) (ids []string) {
	for range n {
		ids = append(ids, uuid.NewString())
	}
	return ids
}

// Many documents are read again in several jobs, one after the other. Their results are counted,
// and each warning is printed once, with its documents.
func TestRunCountsResults(t *testing.T) {
	s := &server{running: 2, results: []client.FileResult{
		{Filename: "a.pdf", Success: true, Outcome: "updated", Warnings: []string{"Page 2 is not read."}},
		{Filename: "b.pdf", Success: true, Outcome: "unchanged", Warnings: []string{"Page 2 is not read."}},
		{Filename: "c.pdf", Error: "the original is damaged"},
	}}
	ids := idsOf(client.MaxReread + 1)
	out, told, err := s.run(t.Context(), t, rereading.Options{IDs: ids})
	if err == nil || err.Error() != "2 of 6 documents could not be read again" {
		t.Errorf("Run: %v, want that 2 of 6 documents failed", err)
	}
	if want := "documents read again: 6 (2 updated, 2 unchanged, 2 failed)\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	for text, times := range map[string]int{"a.pdf, b.pdf, a.pdf, b.pdf: Page 2 is not read.\n": 1, "Page 2": 1, "c.pdf could not be read again: the original is damaged": 2} {
		if strings.Count(told, text) != times {
			t.Errorf("%q is not printed %d times: %s", text, times, told)
		}
	}
	if want := []client.Reread{{IDs: ids[:client.MaxReread]}, {IDs: ids[client.MaxReread:]}}; !reflect.DeepEqual(s.requests, want) {
		t.Errorf("%d requests, want two with all ids", len(s.requests))
	}
	if s.polls != s.running+2 {
		t.Errorf("the jobs were read %d times, want until they had ended", s.polls)
	}
}

// The documents of a warning are named up to a limit, and so are different warnings; the others are counted.
func TestWarningsAreLimited(t *testing.T) {
	var results []client.FileResult
	for i := range 30 {
		results = append(results, client.FileResult{Filename: fmt.Sprintf("%d.pdf", i), Success: true, Warnings: []string{"a page is damaged", "a page is damaged", fmt.Sprintf("page %d is blank", i)}})
	}
	_, told, err := (&server{results: results}).run(t.Context(), t, rereading.Options{IDs: idsOf(1)})
	if err != nil || !strings.Contains(told, "0.pdf, 1.pdf, 2.pdf, 3.pdf, 4.pdf and 25 more: a page is damaged\n0.pdf: page 0 is blank\n") ||
		!strings.HasSuffix(told, "18.pdf: page 18 is blank\nand 11 other warnings, which the vault has with each document\n") {
		t.Errorf("%v, printed %s", err, told)
	}
}

// All pages of documents that match are read again; those of a dry run are only listed.
func TestRunFollowsPages(t *testing.T) {
	pages := func(job *client.Job, documents ...client.Document) []client.Rereading {
		return []client.Rereading{{Job: job, Documents: documents, NextCursor: "second"}, {}}
	}
	one := []client.FileResult{{Filename: "a.pdf", Success: true, Outcome: "updated"}}
	for name, c := range map[string]struct {
		options rereading.Options
		found   []client.Rereading
		want    string
		polls   int
	}{
		"read":        {rereading.Options{Scanned: true}, pages(&client.Job{ID: "job-1"}), "documents read again: 1 (1 updated, 0 unchanged, 0 failed)\n", 1},
		"read, JSON":  {rereading.Options{Scanned: true, JSON: true}, pages(&client.Job{ID: "job-1"}), `{"documents":1,"updated":1,"unchanged":0,"failed":0}` + "\n", 1},
		"listed":      {rereading.Options{Scanned: true, DryRun: true}, pages(nil, client.Document{ID: "x", Name: "a\x1b.pdf"}), "x  a\ufffd.pdf\ndocuments that would be read again: 1\n", 0},
		"listed JSON": {rereading.Options{Scanned: true, DryRun: true, JSON: true}, pages(nil, client.Document{}), `{"documents":1,"updated":0,"unchanged":0,"failed":0}` + "\n", 0},
	} {
		s := &server{results: one, found: c.found}
		out, _, err := s.run(t.Context(), t, c.options)
		if err != nil || out != c.want || s.polls != c.polls {
			t.Errorf("%s: printed %q, %v, after reading the job %d times, want %q", name, out, err, s.polls, c.want)
		}
		first := client.Reread{Scanned: true, DryRun: c.options.DryRun}
		second := first
		second.Cursor = "second"
		if want := []client.Reread{first, second}; !reflect.DeepEqual(s.requests, want) {
			t.Errorf("%s: requests %+v, want %+v", name, s.requests, want)
		}
	}
}

func TestRunExplainsMissingDocuments(t *testing.T) {
	for n, want := range map[int]string{1: "there is no document ", 2: "one of the 2 documents does not exist"} {
		s := &server{refuse: http.StatusNotFound}
		if out, _, err := s.run(t.Context(), t, rereading.Options{IDs: idsOf(n)}); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(out, "read again: 0 ") {
			t.Errorf("%d ids: %v, printed %q, want %q", n, err, out, want)
		}
	}
}

// The command ends when it is interrupted, though the job goes on.
func TestRunEndsWithContext(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	s := &server{running: 1 << 30, polled: func(times int) {
		if times == 3 {
			interrupt()
		}
	}}
	_, _, err := s.run(ctx, t, rereading.Options{IDs: idsOf(1)})
	if !errors.Is(err, context.Canceled) || s.polls != 3 {
		t.Errorf("Run: %v after reading the job %d times, want %v after 3", err, s.polls, context.Canceled)
	}
}

func TestCheck(t *testing.T) {
	id := uuid.NewString()
	for want, o := range map[string]rereading.Options{
		"":                                  {IDs: []string{id}},
		"say which documents":               {},
		"say which documents to":            {DryRun: true},
		"is not the id of a document":       {IDs: []string{"reports"}},
		"is not the id of a document: the":  {IDs: []string{strings.ReplaceAll(id, "-", "")}}, // another form of a UUID
		"ids of documents exclude":          {IDs: []string{id}, Scanned: true},
		"ids of documents exclude --folder": {IDs: []string{id}, DryRun: true},
	} {
		if err := o.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check of %+v: %v, want %q", o, err, want)
		}
	}
}
