package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"annals/cmd/annals/client"
	"annals/events/eventstoredb/esdbtest"
	"annals/events/memory"
	"annals/events/sqldb/postgrestest"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/sync/errgroup"
)

// nodes are running servers. They share a log at a fake EventStoreDB in the test
// process, read models in PostgreSQL, and a folder of originals. Each node has its own
// search index.
type nodes struct {
	testing.TB
	dir    string
	log    *memory.Driver
	args   []string // additional arguments of every node
	issuer *testIssuer
	all    []*serverProcess
}

func startNodes(t testing.TB, n int, args ...string) *nodes {
	t.Helper()
	s := &nodes{TB: t, dir: t.TempDir(), log: memory.New(), issuer: newTestIssuer(t), all: make([]*serverProcess, n)}
	database := postgrestest.URL(t)
	s.args = append([]string{
		"--log", esdbtest.Start(t, s.log).URL(), "--read-models", database,
		"--originals", "file://" + filepath.ToSlash(filepath.Join(s.dir, "originals")),
		"--issuer", "url=" + s.issuer.URL + ",alias=corp,audience=annals", "--admin", "user:corp/root", "--drain", "1s",
	}, args...)
	var starting errgroup.Group
	for i := range s.all {
		starting.Go(func() error { return s.start(i, "127.0.0.1:0") })
	}
	t.Cleanup(s.endAll)
	if err := starting.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range s.all {
		s.awaitReady(i)
	}
	return s
}

func (s *nodes) start(i int, listen string) (err error) {
	dir := filepath.Join(s.dir, fmt.Sprint("node ", i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	s.all[i], err = startServer(dir, nil, append([]string{"--listen", listen}, s.args...)...)
	return err
}

// restart starts node i again, at its previous address.
func (s *nodes) restart(i int) {
	s.Helper()
	if err := s.start(i, strings.TrimPrefix(s.all[i].base, "http://")); err != nil {
		s.Fatal(err)
	}
	s.awaitReady(i)
}

// endAll stops all running nodes concurrently.
func (s *nodes) endAll() {
	var ending sync.WaitGroup
	for i, node := range s.all {
		if node == nil || node.command.ProcessState != nil {
			continue
		}
		ending.Go(func() {
			if err := node.end(os.Interrupt); err != nil {
				s.Errorf("node %d: %v", i, err)
			}
			if s.Failed() {
				s.Logf("node %d:\n%s", i, node.stderr.String())
			}
		})
	}
	ending.Wait()
}

// awaitReady waits until node i is ready.
func (s *nodes) awaitReady(i int) {
	s.Helper()
	s.await(fmt.Sprintf("node %d is ready", i), func() (bool, string) {
		status, reply, err := s.all[i].request("", http.MethodGet, "/readyz", "")
		return err == nil && status == http.StatusOK, fmt.Sprint(status, string(reply), err)
	})
}

// await polls so until it returns true, for at most one minute. what names the
// condition in errors.
func (s *nodes) await(what string, so func() (bool, string)) {
	s.Helper()
	for begun := time.Now(); ; {
		ok, why := so()
		if ok {
			return
		}
		if time.Since(begun) > time.Minute {
			s.Fatalf("%s: not after a minute: %s", what, why)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.Context().Done():
			s.Fatal(s.Context().Err())
		}
	}
}

// get sends a GET to node i and returns the reply body. The status must be 200.
func (s *nodes) get(i int, path string) string {
	s.Helper()
	return s.ask(i, http.MethodGet, path, "")
}

func (s *nodes) ask(i int, method, path, body string) string {
	s.Helper()
	status, reply, err := s.all[i].request(s.issuer.token, method, path, body)
	if err != nil || status != http.StatusOK {
		s.Fatalf("node %d: %s %s: %d %s %v", i, method, path, status, reply, err)
	}
	return string(reply)
}

func (s *nodes) core(base string) *client.Core {
	return &client.Core{Client: client.Client{
		URL: base + "/core", HTTP: client.NewHTTPClient(4), Credential: client.Credential{Token: client.FixedToken(s.issuer.token)},
		Tries: 1, Pause: 10 * time.Millisecond, Notify: func(string) {},
	}}
}

// upload uploads new files to node i and returns the ids of the jobs.
func (s *nodes) upload(ctx context.Context, i int, folder string, files, perRequest int) (jobs []string, err error) {
	dir := filepath.Join(s.dir, "files", folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for n := range files {
		text := fmt.Sprintf("# Note %d\n\nThe lighthouse %d of %s was built by keeper%d.\n", n, n, folder, n) + strings.Repeat("A sentence that takes some room in the log. ", n%40)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("note-%d.md", n)), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	batches, err := uploads(dir, folder, perRequest)
	if err != nil {
		return nil, err
	}
	core := s.core(s.all[i].base)
	for _, batch := range batches {
		job, _, err := core.Upload(ctx, batch)
		if err != nil {
			return nil, fmt.Errorf("upload to node %d: %w", i, err)
		}
		jobs = append(jobs, job.ID)
	}
	return jobs, nil
}

// jobOf returns the status of a job as node i reports it.
func (s *nodes) jobOf(i int, id string) (job client.Job) {
	s.Helper()
	if err := json.Unmarshal([]byte(s.get(i, "/core/jobs/"+id)), &job); err != nil {
		s.Fatal(err)
	}
	return job
}

// wantImported waits until node i reports the jobs as done, and checks that all their
// files were imported.
func (s *nodes) wantImported(i int, jobs []string) {
	s.Helper()
	for _, id := range jobs {
		s.await("job "+id+" is done", func() (bool, string) {
			job := s.jobOf(i, id)
			if job.Failed > 0 {
				s.Fatalf("job %s: %+v", id, job)
			}
			return job.Done, fmt.Sprintf("%d of %d; %s", job.Successful, len(job.Results), job.Message)
		})
	}
}

// testIssuer is an OpenID issuer with one user, root.
type testIssuer struct {
	*httptest.Server
	token string
}

func newTestIssuer(t testing.TB) *testIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := new(testIssuer)
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Use: "sig", Algorithm: string(jose.ES256)}}}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var reply any = keys
		if r.URL.Path == "/.well-known/openid-configuration" {
			reply = map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply)
	}))
	t.Cleanup(i.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err == nil {
		i.token, err = jwt.Signed(signer).Claims(jwt.Claims{
			Issuer: i.URL, Subject: "root", Audience: jwt.Audience{"annals"},
			IssuedAt: jwt.NewNumericDate(time.Now()), Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour)),
		}).Serialize()
	}
	if err != nil {
		t.Fatal(err)
	}
	return i
}
