package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/client"

	"golang.org/x/sync/errgroup"
)

// crashTest imports files with several clients into a server that is killed at random
// times, while an editor changes documents and folders.
type crashTest struct {
	*testing.T
	dir, data string
	base      string // URL of the server, which is the same after each restart
	server    *serverProcess
	transport http.RoundTripper // used by all clients

	mu   sync.Mutex
	jobs map[string]bool // ids of jobs that the server accepted in a reply that reached the client

	// down is locked for writing while no server is running, and for reading during
	// each request. Clients wait for it; otherwise they would retry with growing
	// pauses.
	down sync.RWMutex
}

// RoundTrip waits until a server is running and sends the request of a client.
func (c *crashTest) RoundTrip(r *http.Request) (*http.Response, error) {
	c.down.RLock()
	defer c.down.RUnlock()
	return c.transport.RoundTrip(r)
}

const (
	crashClients = 4
	crashFiles   = 25 // files that each client uploads in each round
	crashBatch   = 5
)

func newCrashTest(t *testing.T) *crashTest {
	dir := t.TempDir()
	return &crashTest{
		T: t, dir: dir, data: filepath.Join(dir, "annals-data"),
		transport: client.NewHTTPClient(crashClients).Transport, jobs: map[string]bool{},
	}
}

// TestCrashWhileImporting checks that accepted imports and changes survive crashes of
// the server: every job ends, every file becomes one document, every change is made
// exactly once, no event is lost or duplicated, and the read models match the log.
// ANNALS_CRASH_ROUNDS sets how often the server is killed.
func TestCrashWhileImporting(t *testing.T) {
	rounds := cmp.Or(crashRounds(t), 3)
	c := newCrashTest(t)
	c.start()
	t.Cleanup(func() { _ = c.server.end(os.Kill) })
	editor := c.newEditor()
	for round := range rounds {
		c.round(round, editor)
		editor.wantEdits()
	}
	c.wantJobsEnded(c.wantSoundLog())
	for id, times := range c.wantSoundLog().jobs {
		if times != 1 {
			c.Errorf("JobFinished of job %s: got %d events, want 1", id, times)
		}
	}
	c.wantDocuments(rounds)
	if out, err := verified(t, c.data); err != nil {
		t.Errorf("verify beside the server: %v\n%s", err, out)
	}
	if err := c.server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	if out, err := verified(t, c.data); err != nil || strings.Contains(out, "not compared") {
		t.Errorf("verify: %v\n%s", err, out)
	}
	c.start()
	c.wantDocuments(rounds)
	editor.wantEdits()
}

// crashRounds returns ANNALS_CRASH_ROUNDS, or 0 if it is not set.
func crashRounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ANNALS_CRASH_ROUNDS")
	if text == "" {
		return 0
	}
	rounds, err := strconv.Atoi(text)
	if err != nil || rounds < 1 {
		t.Fatalf("ANNALS_CRASH_ROUNDS is %q, want a number from 1", text)
	}
	return rounds
}

// start starts the server, always at the address of the first start. It fails the test
// if the server does not start.
func (c *crashTest) start() {
	c.Helper()
	if err := c.tryStart(); err != nil {
		c.Fatal(err)
	}
}

// tryStart is like start, but returns an error if the server does not start. env may
// contain a variable that makes the server kill itself.
func (c *crashTest) tryStart(env ...string) error {
	var args []string
	if c.base != "" {
		args = []string{"--listen", strings.TrimPrefix(c.base, "http://")}
	}
	server, err := startServer(c.dir, env, args...)
	if err != nil {
		return err
	}
	if c.server = server; c.base == "" {
		c.base = server.base
	}
	return nil
}

// round lets every client upload its files and the editor make changes, and kills and
// restarts the server meanwhile.
func (c *crashTest) round(round int, editor *editor) {
	c.Helper()
	g, ctx := errgroup.WithContext(c.Context())
	back := make(chan struct{})
	g.Go(func() error { return editor.edit(ctx, back) })
	for client := range crashClients {
		g.Go(func() error { return c.send(ctx, round, client) })
	}
	moment := time.Duration(rand.Int64N(int64(time.Second)))
	select {
	case <-time.After(moment):
	case <-ctx.Done():
	}
	c.Logf("round %d: killed after %s", round, moment)
	_ = c.server.end(os.Kill) // an error is expected, because the process was killed
	c.start()
	close(back)
	if err := g.Wait(); err != nil {
		c.Fatalf("round %d: %v", round, err)
	}
}

// send uploads the files of one client for one round. Clients 0 and 1 upload the same
// files to the same folder at the same time.
func (c *crashTest) send(ctx context.Context, round, number int) error {
	folder := fmt.Sprintf("client %d", max(number, 1))
	dir := filepath.Join(c.dir, "files", strconv.Itoa(number), strconv.Itoa(round))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for n := range crashFiles {
		text := fmt.Sprintf("# Note %d\n\n%s in round %d.\n", n, folder, round) + strings.Repeat("A sentence that takes some room in the log. ", 5*n)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("note-%d-%d.md", round, n)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	batches, err := uploads(dir, folder, crashBatch)
	if err != nil {
		return err
	}
	core := c.client()
	for _, batch := range batches {
		job, _, err := core.Upload(ctx, batch)
		if err != nil {
			return fmt.Errorf("client %d: %w", number, err)
		}
		c.mu.Lock()
		c.jobs[job.ID] = true
		c.mu.Unlock()
	}
	return nil
}

func (c *crashTest) client() *client.Core {
	token := client.IssuedTokens(func(context.Context) (string, time.Time, error) {
		token, err := issueToken(c.data, "admin")
		return token, time.Now().Add(time.Hour), err
	})
	return &client.Core{Client: client.Client{
		URL: c.base + "/core", HTTP: &http.Client{Transport: c}, Credential: client.Credential{Token: token},
		Tries: 40, Pause: 5 * time.Millisecond, Notify: func(string) {},
	}}
}

// wantJobsEnded waits until every job in the log has ended, even a job whose id no
// client received, and checks that all its files were imported.
func (c *crashTest) wantJobsEnded(l *soundLog) {
	c.Helper()
	core := c.client()
	for id := range l.jobs {
		job, err := c.ended(c.Context(), core, id)
		if err != nil {
			c.Fatalf("job %s: %v; %s", id, err, job.Message)
		}
		if l.revises[id] || l.removed[id] {
			continue // the result may already be replaced by a later change; the editor checks those
		}
		if n := l.files[id]; job.Status != "complete" || job.Successful != n || len(job.Results) != n {
			c.Errorf("job %s ends as %+v, want %d files imported", id, job, n)
		}
	}
}

// ended waits until a job has ended.
func (c *crashTest) ended(ctx context.Context, core *client.Core, id string) (client.Job, error) {
	for {
		job, err := core.Job(ctx, id)
		if err != nil || job.Finished() {
			return job, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return job, ctx.Err()
		}
	}
}

// wantDocuments checks that the vault lists each uploaded file exactly once.
func (c *crashTest) wantDocuments(rounds int) {
	c.Helper()
	token, err := issueToken(c.data, "admin")
	if err != nil {
		c.Fatal(err)
	}
	get := func(path string, into any) {
		for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
			status, body, err := c.server.request(token, http.MethodGet, "/vault"+path, "")
			if err == nil && status == http.StatusServiceUnavailable {
				continue // the read models have not caught up
			}
			if err == nil && status == http.StatusOK {
				err = json.Unmarshal(body, into)
			}
			if err != nil || status != http.StatusOK {
				c.Fatalf("GET %s: %d %s %v", path, status, body, err)
			}
			return
		}
	}
	type folder struct{ ID, Name string }
	var folders []folder
	get("/folders", &folders)
	folders = slices.DeleteFunc(folders, func(f folder) bool { return !strings.HasPrefix(f.Name, "client ") })
	if len(folders) != crashClients-1 {
		c.Errorf("folders of the clients: got %v, want %d", folders, crashClients-1)
	}
	for _, folder := range folders {
		var documents []struct{ Name string }
		get("/documents?folderId="+folder.ID, &documents)
		times := map[string]int{}
		for _, d := range documents {
			times[d.Name]++
		}
		for round := range rounds {
			for n := range crashFiles {
				if name := fmt.Sprintf("note-%d-%d.md", round, n); times[name] != 1 {
					c.Errorf("%s lists %s %d times, want once", folder.Name, name, times[name])
				}
			}
		}
		if len(documents) != rounds*crashFiles {
			c.Errorf("%s lists %d documents, want %d", folder.Name, len(documents), rounds*crashFiles)
		}
	}
}

// await polls until until returns true, for at most one minute. what names the
// condition in errors.
func (c *crashTest) await(what string, until func() bool) {
	c.Helper()
	for deadline := time.Now().Add(time.Minute); !until(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("%s: still not after a minute", what)
		}
	}
}
