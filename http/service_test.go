package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"annals/cmd/stacktest"
	"annals/commands"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/originals"
	httpd "annals/http"
	"annals/http/metrics"
	"annals/queries/vault"

	"github.com/google/uuid"
)

// service is a running server with a log in memory, originals in a temporary folder, the real
// commands, and library, a fake of the queries.
type service struct {
	*testing.T
	server    *httpd.Server
	url       string
	client    *http.Client
	token     string            // token that do sends
	tokens    map[string]string // tokens by user; if nil, the name of a user is also the user's token
	log       *events.Log
	library   *library
	stack     *stacktest.Stack // nil unless startStack started the service
	originals string           // folder of the originals
}

// start serves on a free port until the test ends. The function change may set options before.
func start(t *testing.T, change func(*httpd.Server)) *service {
	t.Helper()
	measures := metrics.New("test", slog.New(slog.DiscardHandler))
	s := &service{T: t, log: events.NewLog(measures.Driver(memory.New())), originals: t.TempDir(), token: "alice"}
	t.Cleanup(func() { s.log.Close() })
	store, err := originals.OpenDir(s.originals)
	if err != nil {
		t.Fatal(err)
	}
	s.library = &library{log: s.log, folders: map[uuid.UUID]vault.Folder{}}
	s.server = &httpd.Server{
		Verify: verify, Queries: s.library, Commands: &commands.Handler{Log: s.log}, Originals: store,
		Version: "test", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: measures, Observe: measures.Request,
	}
	if change != nil {
		change(s.server)
	}
	live := httptest.NewServer(s.server.Handler())
	t.Cleanup(live.Close)
	s.url = live.URL
	s.client = &http.Client{Transport: newValidator(t), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s
}

// verify accepts the name of a user as the user's token. The user "admin" is an administrator.
// For the token "outage" it reports that the issuer is unreachable.
func verify(_ context.Context, token string) (events.User, time.Time, error) {
	switch token {
	case "outage":
		return events.User{}, time.Time{}, fault.Errorf(fault.Unavailable, "the issuer cannot be reached")
	case "alice", "bob", "carol", "admin":
		return events.User{Principal: events.Principal("user:" + token), Admin: token == "admin"}, time.Now().Add(time.Hour), nil
	}
	return events.User{}, time.Time{}, fault.Errorf(fault.Unauthenticated, "the token is not valid")
}

// do sends a request with the token s.token. header contains names and values in turn; an
// empty value removes the header.
func (s *service) do(method, path, body string, header ...string) (*http.Response, string) {
	s.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	return s.send(r)
}

func (s *service) send(r *http.Request) (*http.Response, string) {
	s.Helper()
	resp, err := s.client.Do(r)
	if err != nil {
		s.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	return resp, string(b)
}

// want checks that a reply has the given status, and that its JSON equals want.
func (s *service) want(resp *http.Response, got string, status int, want string) {
	s.Helper()
	if resp.StatusCode != status || !sameJSON(got, want) {
		s.Errorf("%s %s = %d %s\nwant %d %s", resp.Request.Method, resp.Request.URL.RequestURI(), resp.StatusCode, got, status, want)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// stored returns the number of staged originals and the number of committed originals.
func (s *service) stored() (staged, committed int) {
	s.Helper()
	err := filepath.WalkDir(s.originals, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir():
			return nil
		case err != nil:
			return err
		case strings.Contains(path, "staging"):
			staged++
		default:
			committed++
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return staged, committed
}

// accepted returns the accepted files of all jobs in the log, and the number of jobs.
func (s *service) accepted() (files []events.FileAccepted, jobs int) {
	s.Helper()
	var after events.Position
	for {
		batch, through, err := s.log.Read(context.Background(), after, 1000)
		if err != nil {
			s.Fatal(err)
		}
		if through == after {
			return files, jobs
		}
		after = through
		for _, e := range batch {
			switch d := e.Data.(type) {
			case events.FileAccepted:
				files = append(files, d)
			case events.ImportRequested:
				jobs++
			}
		}
	}
}

// readFile returns the content of a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
