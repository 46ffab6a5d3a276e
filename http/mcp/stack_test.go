package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"annals/cmd/stacktest"
	"annals/commands"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
	"annals/events/originals"
	httpd "annals/http"
	"annals/http/ingest"
	"annals/http/mcp"
	"annals/queries"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// service is a running MCP server with real commands, queries and read models, and a log in
// memory.
type service struct {
	testing.TB
	url     string // URL of the MCP server
	log     *events.Log
	handler *commands.Handler
	options mcp.Options
	queries *queries.Queries
	stack   *stacktest.Stack
	last    events.Position // position of the last event that the test itself appended
}

// start serves on a free port until the test ends. The functions in change may set options
// before.
func start(t testing.TB, change ...func(*mcp.Options)) *service {
	t.Helper()
	s := prepare(t)
	s.serve(change...)
	return s
}

// prepare returns a service that does not run yet. A test can append events to its log first.
func prepare(t testing.TB) *service {
	s := &service{TB: t, log: events.NewLog(memory.New())}
	t.Cleanup(func() { s.log.Close() })
	s.handler = &commands.Handler{Log: s.log}
	return s
}

func (s *service) serve(change ...func(*mcp.Options)) {
	s.Helper()
	store, err := originals.OpenDir(s.TempDir())
	if err != nil {
		s.Fatal(err)
	}
	stack := stacktest.Open(s, s.handler)
	stack.Run(s, store)
	s.stack, s.queries = stack, stack.Queries
	live := httptest.NewUnstartedServer(nil)
	at := &url.URL{Scheme: "http", Host: live.Listener.Addr().String(), Path: "/mcp"}
	s.url = at.String()
	s.options = mcp.Options{
		Verify: verify, Queries: stack.Queries, Commands: s.handler, Originals: store,
		URL: at, Await: time.Hour, Logger: slog.New(slog.DiscardHandler),
	}
	for _, set := range change {
		set(&s.options)
	}
	tools, err := mcp.New(s.options)
	if err != nil {
		s.Fatal(err)
	}
	server := &httpd.Server{
		Verify: verify, Queries: stack.Queries, Commands: s.handler, Originals: store,
		MCP: tools, Limits: s.options.Limits, Logger: slog.New(slog.DiscardHandler),
	}
	live.Config.Handler = server.Handler()
	live.Start()
	s.Cleanup(live.Close)
}

// verify accepts the name of a user as the user's token. The user "admin" is an administrator.
// For the token "outage" it reports that the issuer is unreachable.
func verify(_ context.Context, token string) (events.User, time.Time, error) {
	switch token {
	case "outage":
		return events.User{}, time.Time{}, fault.Errorf(fault.Unavailable, "the issuer cannot be reached")
	case "alice", "bob", "carol", "admin":
		return user(token), time.Now().Add(time.Hour), nil
	}
	return events.User{}, time.Time{}, fault.Errorf(fault.Unauthenticated, "the token is not valid")
}

func user(name string) events.User {
	return events.User{Principal: events.Principal("user:" + name), Admin: name == "admin"}
}

// signed is an http.RoundTripper that adds a bearer token to each request.
type signed struct{ token string }

func (s signed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.token)
	return http.DefaultTransport.RoundTrip(r)
}

// agent is an MCP client of the service.
type agent struct {
	*service
	*sdk.ClientSession
	schemas map[string]*jsonschema.Resolved // of structured content, by tool
}

// connect returns an MCP client that sends the token of the named user.
func (s *service) connect(name string) *agent {
	s.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(s.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: signed{name}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { session.Close() })
	a := &agent{service: s, ClientSession: session, schemas: map[string]*jsonschema.Resolved{}}
	for tool, err := range session.Tools(s.Context(), nil) {
		if err != nil {
			s.Fatal(err)
		}
		a.schemas[tool.Name] = resolve(s, tool.OutputSchema)
	}
	return a
}

// resolve decodes a JSON schema that a client received.
func resolve(t testing.TB, got any) *jsonschema.Resolved {
	t.Helper()
	text, err := json.Marshal(got)
	schema := new(jsonschema.Schema)
	if err == nil {
		err = json.Unmarshal(text, schema)
	}
	if err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	return resolved
}

// args are the arguments of a tool call.
type args = map[string]any

// try calls a tool. It returns the text of the result, its structured content, and whether the
// call failed. It checks the structured content against the tool's schema.
func (a *agent) try(tool string, in args) (text string, data any, failed bool) {
	a.Helper()
	result, err := a.CallTool(a.Context(), &sdk.CallToolParams{Name: "service_" + tool, Arguments: in})
	if err != nil {
		a.Fatalf("%s %v: %v", tool, in, err)
	}
	for _, c := range result.Content {
		text += c.(*sdk.TextContent).Text
	}
	if !result.IsError {
		if err := a.schemas["service_"+tool].Validate(result.StructuredContent); err != nil {
			a.Errorf("%s %v = %v, which does not fit its schema: %v", tool, in, result.StructuredContent, err)
		}
	}
	return text, result.StructuredContent, result.IsError
}

// ok calls a tool, fails the test if the call fails, and decodes the structured content into
// out.
func (a *agent) ok(tool string, in args, out any) (text string) {
	a.Helper()
	text, data, failed := a.try(tool, in)
	if failed {
		a.Fatalf("%s %v: %s", tool, in, text)
	}
	b, err := json.Marshal(data)
	if err == nil && out != nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		a.Fatalf("%s %v: %v", tool, in, err)
	}
	return text
}

// refused calls a tool, and fails the test unless the call fails with an error that contains
// all words.
func (a *agent) refused(tool string, in args, words ...string) {
	a.Helper()
	text, _, failed := a.try(tool, in)
	if len(text) > 1000 {
		a.Errorf("the error of %s has %d bytes, want at most 1000", tool, len(text))
	}
	for _, w := range words {
		if !failed || !strings.Contains(text, w) {
			a.Errorf("%s %v = %q (failed: %v), want an error with %q", tool, in, text, failed, w)
		}
	}
}

// read returns the text of a resource.
func (a *agent) read(uri string) (string, error) {
	a.Helper()
	result, err := a.ReadResource(a.Context(), &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	if len(result.Contents) != 1 || result.Contents[0].MIMEType != "text/markdown" || result.Contents[0].URI != uri || result.CacheScope != "private" {
		a.Errorf("%s = %+v", uri, result)
	}
	return result.Contents[0].Text, nil
}

// paper is a file to import with its folder and tags.
type paper struct {
	folder, name, text string
	tags               []string
}

// file imports files as a user, waits until they are imported, and returns the ids of their
// documents.
func (s *service) file(who string, papers ...paper) (ids []string) {
	s.Helper()
	_, ids = s.importJob(who, papers...)
	return ids
}

func (s *service) importJob(who string, papers ...paper) (job string, ids []string) {
	s.Helper()
	intake := ingest.Intake{Store: s.options.Originals, FileBytes: 1 << 30}
	defer func() {
		if err := intake.Discard(); err != nil {
			s.Error(err)
		}
	}()
	for i, p := range papers {
		if err := intake.Add(s.Context(), p.name, strings.NewReader(p.text)); err != nil {
			s.Fatal(err)
		}
		intake.Files[i].Folder, intake.Files[i].Tags = p.folder, p.tags
	}
	started, err := intake.Accept(s.Context(), s.handler, user(who))
	if err != nil {
		s.Fatal(err)
	}
	return started.Job.String(), s.finish(who, started.Job.String())
}

// finish waits until a job is done. It returns the ids of the imported documents.
func (s *service) finish(who, job string) (ids []string) {
	s.Helper()
	for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
		j, err := s.options.Queries.Job(s.Context(), user(who), job)
		if fault.Is(err, fault.NotFound) {
			continue // the read model has not yet applied the events of the job
		}
		if err != nil {
			s.Fatal(err)
		}
		if !j.Done {
			continue
		}
		for _, r := range j.Results {
			if !r.Success {
				s.Fatalf("%s was not imported: %s", r.Filename, r.Error)
			}
			ids = append(ids, r.Document.String())
		}
		return ids
	}
}

// share gives a user access to a folder of alice and accepts the invitation as that user.
func (s *service) share(path, who, access string) {
	s.Helper()
	id := s.offer(path, who, access)
	at, err := s.handler.AcceptInvitation(s.Context(), user(who), "", foldertree.AcceptInvitation{Folder: id})
	s.wait(at, err)
}

// offer gives a user access to a folder of alice, and leaves the invitation pending.
func (s *service) offer(path, who, access string) (id uuid.UUID) {
	s.Helper()
	folder, found, err := s.queries.FolderAt(s.Context(), user("alice"), path)
	if err != nil || !found {
		s.Fatalf("folder %s: %v %v", path, found, err)
	}
	at, err := s.handler.ShareFolder(s.Context(), user("alice"), "", foldertree.ShareFolder{
		ID: folder.ID, Version: -1, Permissions: []events.Permission{{Principal: events.Principal("user:" + who), Access: access}},
	})
	s.wait(at, err)
	return folder.ID
}

// wait waits until the write at a position can be read. It fails the test if err, the error of
// the write, is not nil.
func (s *service) wait(at events.Position, err error) {
	s.Helper()
	if err == nil {
		err = s.options.Queries.AwaitWrite(s.Context(), at)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// send sends an HTTP request without the MCP library. header contains names and values in
// turn.
func (s *service) send(method, body string, header ...string) (*http.Response, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp, string(text)
}

const handbook = "# Handbook\n\n## Notice\n\nThe notice period of the supplier contract is ninety days.\n\n## Holidays\n\nEverybody has thirty days of holidays.\n"

const nobody = "00000000-0000-4000-8000-000000000000"

func newID() string { return uuid.NewString() }
