package http_test

import (
	"bytes"
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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"annals/commands"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/originals"
	httpd "annals/http"
	"annals/queries"
	"annals/schema"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/google/uuid"
)

// service is a running server over a log in memory, originals in a folder, the
// real commands, and a library in place of the read models.
type service struct {
	*testing.T
	server    *httpd.Server
	url       string
	client    *http.Client
	log       *events.Log
	library   *library
	originals string // folder
}

// start serves on a port of its own until the test ends. change may set
// options first.
func start(t *testing.T, change func(*httpd.Server)) *service {
	t.Helper()
	s := &service{T: t, log: events.NewLog(memory.New()), originals: t.TempDir()}
	t.Cleanup(func() { s.log.Close() })
	store, err := originals.OpenDir(s.originals)
	if err != nil {
		t.Fatal(err)
	}
	s.library = &library{log: s.log, folders: map[uuid.UUID]queries.Folder{}}
	s.server = &httpd.Server{
		Verify: verify, Queries: s.library, Commands: &commands.Handler{Log: s.log}, Originals: store,
		Version: "test", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
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

// verify knows a user by the token that is the name: "alice" is user:alice,
// "admin" may do everything, "outage" cannot be looked up.
func verify(_ context.Context, token string) (events.User, time.Time, error) {
	switch token {
	case "outage":
		return events.User{}, time.Time{}, fault.Errorf(fault.Unavailable, "the issuer cannot be reached")
	case "alice", "bob", "admin":
		return events.User{Principal: events.Principal("user:" + token), Admin: token == "admin"}, time.Now().Add(time.Hour), nil
	}
	return events.User{}, time.Time{}, fault.Errorf(fault.Unauthenticated, "the token is not valid")
}

// do sends a request as alice; header is names and values in turn, and an
// empty value removes one.
func (s *service) do(method, path, body string, header ...string) (*http.Response, string) {
	s.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
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

// want compares a reply with a status and a body as JSON.
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

// stored returns how many files lie below the originals: staged ones and
// committed ones.
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

// accepted returns the files of all jobs in the log.
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

// validator holds every reply of a test to the documents of the services.
type validator struct {
	t    *testing.T
	docs map[string]*openapi3.T // by prefix of the path
}

func newValidator(t *testing.T) *validator {
	v := &validator{t, map[string]*openapi3.T{}}
	for _, name := range []string{"core", "vault"} {
		doc := loadDocument(t, name)
		doc.Servers = openapi3.Servers{{URL: "/" + name}}
		v.docs["/"+name+"/"] = doc
	}
	return v
}

func loadDocument(t *testing.T, name string) *openapi3.T {
	t.Helper()
	text, err := schema.OpenAPI.ReadFile(name + ".openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

func init() {
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
}

// RoundTrip checks a reply once its body was read: progress streams have no
// end to wait for.
func (v *validator) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for prefix, doc := range v.docs {
		if !strings.HasPrefix(r.URL.Path, prefix) {
			continue
		}
		router, err := gorillamux.NewRouter(doc)
		if err != nil {
			v.t.Fatal(err)
		}
		route, params, err := router.FindRoute(r)
		if err != nil {
			if resp.StatusCode != 404 && resp.StatusCode != 405 && r.Method != http.MethodHead && r.Method != http.MethodOptions {
				v.t.Errorf("%s %s answers %d and is not described: %v", r.Method, r.URL.Path, resp.StatusCode, err)
			}
			continue
		}
		if item := doc.Paths.Value("/documents/{id}.{ext}"); item != nil && route.Path == "/documents/{id}" && strings.Contains(params["id"], ".") {
			route = &routers.Route{Spec: doc, Path: "/documents/{id}.{ext}", PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)}
		}
		resp.Body = &validated{v.t, resp.Body, bytes.Buffer{}, sync.Once{}, resp, route, params}
	}
	return resp, nil
}

type validated struct {
	t *testing.T
	io.ReadCloser
	read   bytes.Buffer
	once   sync.Once
	resp   *http.Response
	route  *routers.Route
	params map[string]string
}

func (b *validated) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Write(p[:n])
	if err == io.EOF {
		b.once.Do(b.check)
	}
	return n, err
}

func (b *validated) check() {
	r := b.resp.Request
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: b.params, Route: b.route},
		Status:                 b.resp.StatusCode, Header: b.resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	in.SetBodyBytes(b.read.Bytes())
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		b.t.Errorf("%s %s answers %d %.300s, which is not as described: %v", r.Method, r.URL, b.resp.StatusCode, b.read.String(), err)
	}
}

// library answers reads from what a test puts into it, and jobs from the log.
type library struct {
	httpd.Queries // what a test does not expect panics

	log      *events.Log
	folders  map[uuid.UUID]queries.Folder // all of them alice's
	docs     []queries.Document
	sources  []queries.Source
	answer   queries.Answer
	summary  queries.FolderSummary
	asked    queries.Search
	markdown string
	fail     error        // of every read
	lag      bool         // the jobs read model never catches up
	passed   atomic.Int64 // what was waited for
	follow   func(ctx context.Context, each func(queries.JobUpdate) error) error
}

func (l *library) check(u events.User) error {
	if l.fail == nil && u.Principal != "user:alice" {
		return fault.Errorf(fault.NotFound, "there is no such thing for %s", u.Principal)
	}
	return l.fail
}

func (l *library) Ready(context.Context) error { return l.fail }

func (l *library) WaitJob(ctx context.Context, after events.Position) error {
	if l.lag {
		<-ctx.Done()
		return ctx.Err()
	}
	l.passed.Store(int64(after))
	return nil
}

func (l *library) Job(ctx context.Context, u events.User, id string) (queries.Job, error) {
	parsed, err := uuid.Parse(id)
	j := queries.Job{ID: parsed, Status: "processing", Message: "waiting"}
	if err != nil {
		return j, fault.Errorf(fault.NotFound, "there is no job %s", id)
	}
	owner := events.Principal("")
	err = l.log.ReadStream(ctx, events.JobStream(parsed), 0, func(e events.Event) error {
		switch d := e.Data.(type) {
		case events.FileAccepted:
			j.Results = append(j.Results, queries.JobResult{Filename: d.Name, FolderName: d.Folder, Tags: d.Tags, Error: d.Refused})
		case events.ImportRequested:
			owner, j.Total = d.User, d.Files
		}
		return nil
	})
	if err == nil && owner != u.Principal {
		err = fault.Errorf(fault.NotFound, "there is no job %s", id)
	}
	return j, err
}

func (l *library) FollowJob(ctx context.Context, _ events.User, id string, each func(queries.JobUpdate) error) error {
	if head, err := l.log.Head(ctx); err != nil || l.passed.Load() < int64(head) {
		return fault.Errorf(fault.NotFound, "there is no job %s yet", id)
	}
	return l.follow(ctx, each)
}

func (l *library) Search(_ context.Context, _ events.User, q queries.Search) ([]queries.Source, error) {
	l.asked = q
	return l.sources, l.fail
}

func (l *library) Ask(_ context.Context, _ events.User, q queries.Search) (queries.Answer, error) {
	l.asked = q
	return l.answer, l.fail
}

func (l *library) FolderSummary(_ context.Context, _ events.User, path string) (queries.FolderSummary, error) {
	l.asked.Folder = path
	return l.summary, l.fail
}

func (l *library) Folders(_ context.Context, u events.User, parent *uuid.UUID) ([]queries.Folder, error) {
	var in uuid.UUID
	if parent != nil {
		in = *parent
		if _, ok := l.folders[in]; !ok {
			return nil, fault.Errorf(fault.NotFound, "no folder %s", in)
		}
	}
	var out []queries.Folder
	for _, f := range l.folders {
		if f.Parent == in {
			out = append(out, f)
		}
	}
	sortFolders(out)
	return out, l.check(u)
}

func (l *library) Folder(_ context.Context, u events.User, id uuid.UUID) (queries.Folder, error) {
	f, ok := l.folders[id]
	if !ok {
		return f, fault.Errorf(fault.NotFound, "no folder %s", id)
	}
	return f, l.check(u)
}

func (l *library) FolderDetail(ctx context.Context, u events.User, id uuid.UUID) (queries.FolderDetail, error) {
	f, err := l.Folder(ctx, u, id)
	d := queries.FolderDetail{Folder: f, Documents: l.docs}
	d.Subfolders, _ = l.Folders(ctx, u, &id)
	if parent, ok := l.folders[f.Parent]; ok {
		d.Ancestors = []queries.Folder{parent}
	}
	return d, err
}

func (l *library) Documents(_ context.Context, u events.User, f queries.DocumentFilter) ([]queries.Document, string, error) {
	if f.Folder != nil {
		if _, ok := l.folders[*f.Folder]; !ok {
			return nil, "", fault.Errorf(fault.NotFound, "no folder %s", f.Folder)
		}
	}
	if f.Cursor == "bad" {
		return nil, "", fault.Errorf(fault.Invalid, "cursor %q is none of ours", f.Cursor)
	}
	if f.Limit > 0 && f.Limit < len(l.docs) {
		return l.docs[:f.Limit], "next & more", l.check(u)
	}
	return l.docs, "", l.check(u)
}

func (l *library) Document(_ context.Context, u events.User, id uuid.UUID) (queries.Document, error) {
	for _, d := range l.docs {
		if d.ID == id {
			return d, l.check(u)
		}
	}
	return queries.Document{}, fault.Errorf(fault.NotFound, "no document %s", id)
}

func (l *library) DocumentBatch(ctx context.Context, u events.User, ids []uuid.UUID) (out []queries.Document, err error) {
	for _, id := range ids {
		if d, err := l.Document(ctx, u, id); err == nil {
			out = append(out, d)
		}
	}
	return out, l.fail
}

func (l *library) Markdown(ctx context.Context, u events.User, id uuid.UUID) (string, error) {
	_, err := l.Document(ctx, u, id)
	return l.markdown, err
}

func (l *library) Tags(ctx context.Context, u events.User, id uuid.UUID) ([]string, error) {
	d, err := l.Document(ctx, u, id)
	return d.Tags, err
}

func (l *library) VisibleTags(context.Context, events.User) ([]string, error) { return nil, l.fail }

// readFile fails the test where a file cannot be read.
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
