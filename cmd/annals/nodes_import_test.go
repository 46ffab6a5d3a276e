package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/projections/searchindex/meilisearch/meilisearchtest"

	"golang.org/x/sync/errgroup"
)

// Three nodes share the work on all uploads. After one node was killed, the other two
// must take over its files, import each file exactly once, and return equal replies.
func TestImportSurvivesKilledNode(t *testing.T) {
	t.Parallel()
	s := startNodes(t, 3)
	const files = 120 // uploaded by each client
	var mu sync.Mutex
	var jobs []string
	clients, ctx := errgroup.WithContext(t.Context())
	for i := range s.all {
		clients.Go(func() error {
			mine, err := s.upload(ctx, i, fmt.Sprint("client ", i), files, 40)
			mu.Lock()
			defer mu.Unlock()
			jobs = append(jobs, mine...)
			return err
		})
	}
	followed := make(chan string, 1)
	clients.Go(func() error {
		last, err := s.follow(ctx, 0)
		followed <- last
		return err
	})
	if err := clients.Wait(); err != nil {
		t.Fatal(err)
	}
	if last := <-followed; !strings.Contains(last, `"complete"`) {
		t.Errorf("progress stream ends with %s", last)
	}
	killed := time.Now()
	_ = s.all[2].end(os.Kill) // an error is expected, because the process was killed
	s.wantImported(0, jobs)
	t.Logf("all jobs were done %s after one of three nodes was killed", time.Since(killed).Round(100*time.Millisecond))
	s.wantImported(1, jobs)
	s.wantEqualAnswers(0, 1)
	s.wantEachFileOnce(3*files + followedFiles)
	s.restart(2)
	s.wantEqualAnswers(0, 2)
}

const followedFiles = 10

// follow uploads files to node i, reads the progress stream in the reply to its end,
// and returns the last event of the stream.
func (s *nodes) follow(ctx context.Context, i int) (last string, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for n := range followedFiles {
		part, err := form.CreateFormFile("files", fmt.Sprintf("followed-%d.md", n))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(part, "# Followed %d\n\nA stream runs past mill%d.\n", n, n)
	}
	if err := form.Close(); err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.all[i].base+"/core/ingest?stream=true", &body)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+s.issuer.token)
	r.Header.Set("Content-Type", form.FormDataContentType())
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer reply.Body.Close()
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			last = data
		}
	}
	return last, nil
}

// wantEqualAnswers checks that two nodes return the same listings and search results.
func (s *nodes) wantEqualAnswers(one, other int) {
	s.Helper()
	for _, path := range []string{"/vault/folders", "/vault/tags"} {
		if a, b := s.get(one, path), s.get(other, path); a != b {
			s.Errorf("GET %s: node %d answers %.500s, node %d %.500s", path, one, a, other, b)
		}
	}
	for _, query := range []string{"lighthouse", "keeper7", "a stream past mill3", "room in the log"} {
		body := fmt.Sprintf(`{"query": %q}`, query)
		if a, b := s.ask(one, http.MethodPost, "/core/search", body), s.ask(other, http.MethodPost, "/core/search", body); a != b || !strings.Contains(a, "deep_link") {
			s.Errorf("search for %q: node %d finds %.500s, node %d %.500s", query, one, a, other, b)
		}
	}
}

// wantEachFileOnce checks that the log has the events of exactly the given number of
// imported files, and each file only one time.
func (s *nodes) wantEachFileOnce(files int) {
	s.Helper()
	log := events.NewLog(s.log)
	names, ended := map[string]int{}, map[string]int{}
	for after := events.Position(0); ; {
		batch, through, err := log.Read(s.Context(), after, 1000)
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range batch {
			switch d := e.Data.(type) {
			case events.DocumentImported:
				names[d.Folder.String()+"/"+d.Name]++
			case events.FileImported:
				ended[fmt.Sprint(e.Stream, " ", d.File)]++
			}
		}
		if through == after {
			break
		}
		after = through
	}
	for what, times := range map[string]map[string]int{"document": names, "imported file": ended} {
		if len(times) != files {
			s.Errorf("the log has %d of %s, want %d", len(times), what, files)
		}
		for name, n := range times {
			if n != 1 {
				s.Errorf("%s %s is in the log %d times", what, name, n)
			}
		}
	}
}

// While nodes that share a search index are restarted one after another, no request
// fails that a client sends through a proxy. The proxy sends requests only to nodes
// that are ready.
func TestRollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	s := startNodes(t, 3, "--search", meilisearchtest.New(t).URL("nodes"))
	jobs, err := s.upload(t.Context(), 0, "lights", 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.all {
		s.wantImported(i, jobs)
	}
	proxy := newProxy(t, s)
	clients, ctx := errgroup.WithContext(t.Context())
	working, stop := context.WithCancel(ctx)
	defer stop()
	for client := range 3 {
		clients.Go(func() error {
			for n := 0; working.Err() == nil; n++ {
				if err := s.useProxy(ctx, proxy, client, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range s.all {
		if err := s.all[i].end(os.Interrupt); err != nil {
			t.Errorf("node %d: %v", i, err)
		}
		if ctx.Err() != nil {
			break
		}
		s.restart(i)
		proxy.await(i)
	}
	stop()
	if err := clients.Wait(); err != nil {
		t.Error(err)
	}
	if n := proxy.served(); slices.Min(n) == 0 {
		t.Errorf("requests by node: got %v, want some for each", n)
	}
}

// useProxy creates a folder through the proxy. It checks that a following read,
// possibly at another node, returns the folder.
func (s *nodes) useProxy(ctx context.Context, proxy *proxy, client, n int) error {
	name := fmt.Sprintf("folder %d of client %d", n, client)
	status, reply, err := proxy.request(ctx, s.issuer.token, http.MethodPost, "/vault/folders", fmt.Sprintf(`{"name": %q}`, name))
	if err != nil || status != http.StatusCreated {
		return fmt.Errorf("make %s: %d %s %w", name, status, reply, err)
	}
	status, reply, err = proxy.request(ctx, s.issuer.token, http.MethodGet, "/vault/folders?path="+strings.ReplaceAll(name, " ", "%20"), "")
	if err != nil || status != http.StatusOK || !strings.Contains(string(reply), name) {
		return fmt.Errorf("find %s: %d %s %w", name, status, reply, err)
	}
	status, reply, err = proxy.request(ctx, s.issuer.token, http.MethodPost, "/core/search", `{"query": "lighthouse"}`)
	if err != nil || status != http.StatusOK || !strings.Contains(string(reply), "deep_link") {
		return fmt.Errorf("search: %d %s %w", status, reply, err)
	}
	return nil
}
