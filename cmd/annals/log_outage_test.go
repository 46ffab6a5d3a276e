package main

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
)

// While the log is unreachable, a server must report that, without long delays, on
// /readyz and in replies to writes. When the log is reachable again, the server must
// continue without a restart. ANNALS_TEST_OUTAGE makes the outage longer.
func TestServiceSurvivesLogOutage(t *testing.T) {
	t.Parallel()
	outage, err := time.ParseDuration(cmp.Or(os.Getenv("ANNALS_TEST_OUTAGE"), "0s"))
	if err != nil {
		t.Fatal(err)
	}
	log, dir := memory.New(), t.TempDir()
	cluster := esdbtest.Start(t, log)
	server, err := startServer(dir, nil, "--log", cluster.URL()+"&defaultDeadline=2000", "--log-level", "error")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.end(os.Kill) })
	token, err := issueToken(dir+"/annals-data", "admin")
	if err != nil {
		t.Fatal(err)
	}
	s := &nodes{TB: t, issuer: &testIssuer{token: token}, all: []*serverProcess{server}}
	s.awaitReady(0)
	files, imported := notes("filed"), make(chan error, 1)
	go func() { imported <- importFiles(t, dir, "filed", files) }()
	awaitType(t, log, "FileImported")
	cluster.Stop()

	for _, ask := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/readyz", "", `"away":"the log does not respond at the moment"`},
		{http.MethodGet, "/metrics", "", "annals_projection_position{"},
		{http.MethodPost, "/vault/folders", `{"name": "Lamps"}`, "the log does not respond at the moment"},
	} {
		begun := time.Now()
		status, reply, err := server.request(token, ask.method, ask.path, ask.body)
		took := time.Since(begun)
		if err != nil || !strings.Contains(string(reply), ask.want) || took > time.Minute {
			t.Errorf("%s %s: %d %s %v after %s, want %s within a minute", ask.method, ask.path, status, reply, err, took, ask.want)
		}
		t.Logf("%s %s was answered %d after %s", ask.method, ask.path, status, took.Round(time.Second/10))
	}
	select {
	case <-time.After(outage):
	case <-t.Context().Done():
	}

	cluster.Restart(t)
	back := time.Now()
	s.await("the log is reachable again", func() (bool, string) {
		status, reply, err := server.request("", http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK && !strings.Contains(string(reply), "away"), fmt.Sprint(status, string(reply), err)
	})
	t.Logf("the service was ready %s after the log was back", time.Since(back).Round(time.Second/10))
	if err := <-imported; err != nil {
		t.Errorf("import: %v", err)
	}
	t.Logf("the import ended %s after the log was back", time.Since(back).Round(time.Second/10))
	if status, reply, err := server.request(token, http.MethodPost, "/vault/folders", `{"name": "Lamps"}`); err != nil || status != http.StatusCreated {
		t.Errorf("make the folder again: %d %s %v", status, reply, err)
	}
	if found := s.ask(0, http.MethodPost, "/core/search", `{"query": "lamps and oil"}`); !strings.Contains(found, "deep_link") {
		t.Errorf("a search finds %s", found)
	}
	if err := server.end(os.Interrupt); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"DocumentImported", "FileImported"} {
		if n := countType(t, log, name); n != len(files) {
			t.Errorf("the log has %d events %s, want %d", n, name, len(files))
		}
	}
}

// awaitType waits until a log holds an event of a type.
func awaitType(t *testing.T, log *memory.Driver, name string) {
	t.Helper()
	for {
		head, err := log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if countType(t, log, name) > 0 {
			return
		}
		if err := log.Wait(t.Context(), head); err != nil {
			t.Fatal(err)
		}
	}
}

// countType returns the number of events of a type.
func countType(t *testing.T, log *memory.Driver, name string) (n int) {
	t.Helper()
	all, _, err := log.ReadAll(t.Context(), 0, 10_000, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Type == name {
			n++
		}
	}
	return n
}
