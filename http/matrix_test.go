package http_test

import (
	"context"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	httpd "annals/http"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/http/signin/apitoken"

	"github.com/gorilla/mux"
)

// roles are the callers that try every route: users with different access to a folder, an
// expired token, no token ("nobody"), and API tokens of the owner with the scopes read and
// write.
var roles = []string{"owner", "writer", "reader", "member", "stranger", "admin", "expired", "nobody", readToken, writeToken}

const (
	readToken  = "read token"
	writeToken = "write token"
)

// status returns the status that a role receives from a route. An API token receives the same
// as its owner, but a read-only token receives 403 from every route that changes anything.
func (r row) status(route string, role int) int {
	switch {
	case role < len(r.want):
		return r.want[role]
	case roles[role] == readToken && changes(route):
		return http.StatusForbidden
	}
	return r.want[0]
}

// changes reports whether a route changes anything. All routes with other methods than GET do,
// except the ones listed here.
func changes(route string) bool {
	method, path, _ := strings.Cut(route, " ")
	path, _, _ = strings.Cut(path, "?")
	return method != "GET" && !slices.Contains([]string{"/core/search", "/core/ask", "/vault/documents/batch"}, path)
}

// row is the request to a route, and the expected status for each role. path and body may
// contain {folder}, {name}, {document}, {job} and {role}. Each write that succeeds gets a
// thing of its own. All other requests use the first thing, which they must not change.
type row struct {
	path, body, match string
	want              []int // indexed like roles
	// shows is needed if a route replies 200 to every user: a text that the reply contains if
	// and only if the role may read the folder.
	shows string
}

// The statuses for each role in the order of roles, named after those who may use the route.
var (
	all     = []int{200, 200, 200, 200, 200, 200, 200, 200}
	known   = []int{200, 200, 200, 200, 200, 200, 401, 401}
	readers = []int{200, 200, 200, 200, 404, 200, 401, 401}
	writers = []int{200, 200, 403, 403, 404, 200, 401, 401}
	owners  = []int{200, 403, 403, 403, 404, 200, 401, 401}
	// Imports name a folder by its path. Without write access the reply is 403, whether or not
	// the folder exists.
	importers      = []int{200, 200, 403, 403, 403, 200, 401, 401}
	administrators = []int{403, 403, 403, 403, 403, 200, 401, 401}
	uninvited      = []int{404, 404, 404, 404, 404, 404, 401, 401}
	// A job is visible to the user who started it and to administrators.
	own = []int{200, 404, 404, 404, 404, 200, 401, 401}
)

// instead returns the statuses with every 200 replaced by status.
func instead(statuses []int, status int) []int {
	out := slices.Clone(statuses)
	for i, s := range out {
		if s == 200 {
			out[i] = status
		}
	}
	return out
}

// matrix has a row for every route, and further rows for query parameters that change who may
// use the route.
var matrix = map[string]row{
	"GET /healthz":                                {want: all},
	"GET /readyz":                                 {want: all},
	"GET /version":                                {want: all},
	"GET /metrics":                                {want: all},
	"GET /core/openapi.yaml":                      {want: all},
	"GET /vault/openapi.yaml":                     {want: all},
	"GET /documents/{id}.{ext}":                   {path: "/documents/{document}.md", want: readers},
	"POST /core/ingest":                           {body: `[{"folder_name":"{name}"}]`, want: importers},
	"GET /core/jobs":                              {want: known, shows: ""},
	"GET /core/jobs/{job_id}":                     {path: "/core/jobs/{job}", want: own},
	"GET /core/jobs/{job_id}/events":              {path: "/core/jobs/{job}/events", want: own},
	"POST /core/search":                           {body: `{"query":"notice period"}`, want: known, shows: "ninety days"},
	"POST /core/ask":                              {body: `{"query":"notice period"}`, want: known, shows: "ninety days"},
	"GET /core/answers":                           {want: known, shows: ""},
	"GET /core/answers/{id}":                      {path: "/core/answers/00000000-0000-4000-8000-000000000000", want: uninvited},
	"POST /core/search?generation":                {path: "/core/search", body: `{"query":"notice period","generation":1}`, want: administrators},
	"POST /core/ask?generation":                   {path: "/core/ask", body: `{"query":"notice period","generation":1}`, want: administrators},
	"GET /core/folders/summary":                   {path: "/core/folders/summary?folder_name=A", want: known, shows: `"ok"`},
	"GET /core/admin/projections":                 {want: administrators},
	"GET /core/admin/parked":                      {want: administrators},
	"GET /core/admin/events":                      {want: administrators},
	"GET /core/admin/users":                       {want: administrators},
	"GET /core/admin/groups":                      {want: administrators},
	"GET /core/admin/figures":                     {want: administrators},
	"POST /core/admin/parked/retry":               {want: instead(administrators, 202)},
	"POST /core/admin/projections/{name}/rebuild": {path: "/core/admin/projections/audit/rebuild", want: instead(administrators, 202)},
	"GET /core/formats":                           {want: known, shows: ""},
	"GET /vault/folders":                          {want: known, shows: `"A"`},
	"GET /vault/folders?path=A/0":                 {want: known, shows: `"0"`},
	"POST /vault/folders":                         {body: `{"name":"new {role}","parentFolderId":"{folder}"}`, want: instead(writers, 201)},
	"GET /vault/folders/{id}":                     {path: "/vault/folders/{folder}", want: readers},
	"PATCH /vault/folders/{id}":                   {path: "/vault/folders/{folder}", body: `{"name":"renamed {role}"}`, want: writers},
	"DELETE /vault/folders/{id}":                  {path: "/vault/folders/{folder}?recursive=true", want: instead(owners, 204)},
	"GET /vault/documents":                        {path: "/vault/documents?folderId={folder}", want: readers},
	"POST /vault/documents/batch":                 {body: `{"ids":["{document}"]}`, want: known, shows: "ninety days"},
	"POST /vault/documents/reread":                {body: `{"ids":["{document}"]}`, want: writers},
	// The document is not deleted, which only owners learn.
	"POST /vault/documents/{id}/restore": {path: "/vault/documents/{document}/restore", want: instead(owners, 409)},
	"GET /vault/tags":                    {want: known, shows: `"x"`},
	"GET /vault/documents/{id}":          {path: "/vault/documents/{document}", want: readers},
	"PATCH /vault/documents/{id}":        {path: "/vault/documents/{document}", body: `{"name":"b.md"}`, match: `"1"`, want: writers},
	"DELETE /vault/documents/{id}":       {path: "/vault/documents/{document}?version=1", want: instead(owners, 204)},
	"GET /vault/documents/{id}.{ext}":    {path: "/vault/documents/{document}.md", want: readers},

	"GET /vault/folders/{id}/permissions":                   {path: "/vault/folders/{folder}/permissions", want: owners},
	"PUT /vault/folders/{id}/permissions":                   {path: "/vault/folders/{folder}/permissions", body: `{"permissions":[]}`, want: owners},
	"GET /vault/documents/{id}/content":                     {path: "/vault/documents/{document}/content", want: readers},
	"PUT /vault/documents/{id}/content":                     {path: "/vault/documents/{document}/content", body: leaflet, match: `"1"`, want: writers},
	"GET /vault/documents/{id}/markdown":                    {path: "/vault/documents/{document}/markdown", want: readers},
	"GET /vault/documents/{id}/tags":                        {path: "/vault/documents/{document}/tags", want: readers},
	"PUT /vault/documents/{id}/tags":                        {path: "/vault/documents/{document}/tags", body: `{"tags":["y"]}`, match: `"1"`, want: writers},
	"GET /vault/documents/{id}/versions":                    {path: "/vault/documents/{document}/versions", want: readers},
	"GET /vault/documents/{id}/versions/{version}":          {path: "/vault/documents/{document}/versions/1", want: readers},
	"GET /vault/documents/{id}/versions/{version}/content":  {path: "/vault/documents/{document}/versions/1/content", want: readers},
	"GET /vault/documents/{id}/versions/{version}/markdown": {path: "/vault/documents/{document}/versions/1/markdown", want: readers},
	// The document has no pages, which only those learn who may read it.
	"GET /vault/documents/{id}/pages/{page}.png":                      {path: "/vault/documents/{document}/pages/1.png", want: instead(readers, 422)},
	"GET /vault/documents/{id}/pages/{page}/words":                    {path: "/vault/documents/{document}/pages/1/words", want: instead(readers, 422)},
	"GET /vault/documents/{id}/versions/{version}/pages/{page}.png":   {path: "/vault/documents/{document}/versions/1/pages/1.png", want: instead(readers, 422)},
	"GET /vault/documents/{id}/versions/{version}/pages/{page}/words": {path: "/vault/documents/{document}/versions/1/pages/1/words", want: instead(readers, 422)},
	// No role has an invitation, so these routes reply 404.
	"GET /vault/invitations":               {want: known},
	"POST /vault/invitations/{id}/accept":  {path: "/vault/invitations/{folder}/accept", want: uninvited},
	"POST /vault/invitations/{id}/decline": {path: "/vault/invitations/{folder}/decline", want: uninvited},
	"GET /vault/invitations/blocked":       {want: known},
	"DELETE /vault/invitations/blocked":    {path: "/vault/invitations/blocked?principal=user:eve", want: instead(known, 204)},
	"GET /vault/me":                        {want: known},
	"GET /vault/usage":                     {want: known},
	"GET /vault/audit":                     {want: known},
	"GET /vault/audit?document":            {path: "/vault/audit?document={document}", want: owners},
	"GET /vault/audit?folder":              {path: "/vault/audit?folder={folder}", want: owners},
}

// For every route, each role receives the status in the matrix. Every row of the matrix
// belongs to a route.
func TestAuthorization(t *testing.T) {
	c := newCells(t)
	rows := slices.Sorted(maps.Keys(matrix))
	named := map[string]bool{}
	for _, row := range rows {
		route, _, _ := strings.Cut(row, "?")
		named[route] = true
	}
	routes := routesOf(t, c.server)
	for _, route := range without(routes, slices.Sorted(maps.Keys(named))) {
		t.Errorf("%s has no row: say in http/matrix_test.go what each role receives", route)
	}
	for _, row := range without(slices.Sorted(maps.Keys(named)), routes) {
		t.Errorf("the row %s of http/matrix_test.go has no route", row)
	}
	if t.Failed() {
		t.FailNow()
	}
	for _, route := range rows {
		for i := range roles {
			c.try(route, matrix[route], i)
		}
	}
}

// cells tries the rows of the matrix with a running service.
type cells struct {
	*service
	tokens map[string]string // by role
	job    string
	things []thing // not changed yet; requests that are refused use things[0]

	untouched string // state of things[0] at the beginning
}

// thing is a folder with a single document.
type thing struct{ folder, name, document string }

// newCells creates a token for each role, and imports one thing for each write that is
// expected to succeed.
func newCells(t *testing.T) *cells {
	c := &cells{tokens: map[string]string{}}
	c.service = startStack(t, func(h *httpd.Server) { h.Verify = c.signIn(t) })
	c.token, c.service.tokens = c.tokens["owner"], c.tokens
	var folders []string
	for i := range 1 + succeeding() {
		folders = append(folders, fmt.Sprintf(`{"folder_name":"A/%d","tags":["x"]}`, i))
	}
	resp, body := c.upload("", func(w *multipart.Writer) {
		w.WriteField("file_metadata", "["+strings.Join(folders, ",")+"]")
		for range folders {
			addFile(w, "a.md", handbook)
		}
	})
	if resp.StatusCode != 200 {
		t.Fatalf("import = %d %s", resp.StatusCode, body)
	}
	c.job = decode[jobReply](t, body).JobID
	for _, r := range c.finish(c.job).Results {
		c.things = append(c.things, thing{c.folderOf(r.DocumentID), r.FolderName, r.DocumentID})
	}
	_, body = c.do("GET", "/vault/folders", "")
	c.share(decode[[]struct{ ID string }](t, body)[0].ID, "user:writer", "write", "user:reader", "read", "group:readers", "read")
	c.untouched = c.state(c.things[0])
	return c
}

// signIn creates a token for every role. It returns the function that verifies these tokens.
func (c *cells) signIn(t *testing.T) func(context.Context, string) (events.User, time.Time, error) {
	store, err := accounts.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	issuer := func(now func() time.Time) *signin.Issuer {
		i, err := signin.NewIssuer(store, signin.IssuerOptions{URL: "http://annals.test/signin", Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	current, past := issuer(time.Now), issuer(func() time.Time { return time.Now().Add(-2 * accounts.TokenLifetime) })
	for _, role := range roles[:slices.Index(roles, "expired")] {
		user := accounts.NewAccount{Name: role, Password: "correct horse", Admin: role == "admin"}
		if role == "member" {
			user.Groups = []string{"readers"}
		}
		if _, err := store.Create(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		if c.tokens[role], _, err = current.Issue(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
	for role, scope := range map[string]apitoken.Scope{readToken: apitoken.Read, writeToken: apitoken.Write} {
		if c.tokens[role], _, err = store.CreateToken(t.Context(), accounts.NewAPIToken{User: "owner", Scope: scope, Lasts: time.Hour}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if c.tokens["expired"], _, err = past.Issue(t.Context(), "owner"); err != nil {
		t.Fatal(err)
	}
	verifier, err := signin.NewVerifier(signin.Options{BuiltIn: current})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)
	return verifier.Verify
}

// succeeding returns the number of writes that the matrix expects to succeed.
func succeeding() (n int) {
	for route, r := range matrix {
		for role := range roles {
			if changes(route) && r.status(route, role) < 300 {
				n++
			}
		}
	}
	return n
}

// without returns the elements of all that are not in others.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(others, s) })
}

// routesOf returns the method and path of every route of a server, sorted and without HEAD. It
// fails the test if a route other than those of the sign-in accepts every method.
func routesOf(t *testing.T, server *httpd.Server) (routes []string) {
	t.Helper()
	pattern := regexp.MustCompile(`\{(\w+):[^}]*\}`)
	err := server.Routes().Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, _ := route.GetPathTemplate()
		methods, err := route.GetMethods()
		if err != nil && route.GetHandler() != nil && !strings.HasPrefix(path+"/", "/signin/") { // without a handler it is a group of routes
			t.Errorf("%s accepts every method", path)
		}
		for _, method := range methods {
			if method != http.MethodHead {
				routes = append(routes, method+" "+pattern.ReplaceAllString(path, "{$1}"))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(routes)
	return routes
}

// try sends the request of a row as a role and checks the reply. A refused request must change
// nothing. If a route supports HEAD, its reply must be that of GET without the body.
func (c *cells) try(route string, r row, role int) {
	c.Helper()
	on := c.things[0]
	refused := changes(route) && r.status(route, role) >= 300
	if changes(route) && !refused {
		last := len(c.things) - 1
		on, c.things = c.things[last], c.things[:last]
	}
	method, path, _ := strings.Cut(route, " ")
	if r.path != "" {
		path = r.path
	}
	fill := strings.NewReplacer("{folder}", on.folder, "{name}", on.name, "{document}", on.document, "{job}", c.job, "{role}", roles[role])
	path, body, kind := fill.Replace(path), fill.Replace(r.body), "application/json"
	if route == "POST /core/ingest" {
		metadata := body
		body, kind = form(func(w *multipart.Writer) {
			w.WriteField("file_metadata", metadata)
			addFile(w, "b.md", "# By "+roles[role])
		})
	}
	bearer := ""
	if token := c.tokens[roles[role]]; token != "" {
		bearer = "Bearer " + token
	}
	resp, reply := c.do(method, path, body, "Authorization", bearer, "Content-Type", kind, "If-Match", r.match)
	if resp.StatusCode != r.status(route, role) {
		c.Errorf("%s by %s = %d %s, want %d", route, roles[role], resp.StatusCode, reply, r.status(route, role))
	}
	if challenge := resp.Header.Get("WWW-Authenticate"); strings.Contains(challenge, "insufficient_scope") != (roles[role] == readToken && changes(route)) {
		c.Errorf("%s by %s = WWW-Authenticate %q", route, roles[role], challenge)
	}
	if refused {
		if now := c.state(on); now != c.untouched {
			c.Errorf("%s by %s was refused but changed\n%s\nto\n%s", route, roles[role], c.untouched, now)
			c.untouched = now
		}
	}
	if r.shows != "" && resp.StatusCode == 200 && strings.Contains(reply, r.shows) != (readers[role%len(readers)] == 200) {
		c.Errorf("%s by %s shows %s", route, roles[role], reply)
	}
	if method == "GET" {
		resp, _ = c.do("HEAD", path, "", "Authorization", bearer)
		if resp.StatusCode != r.status(route, role) && resp.StatusCode != http.StatusMethodNotAllowed {
			c.Errorf("HEAD %s by %s = %d, want %d", path, roles[role], resp.StatusCode, r.status(route, role))
		}
	}
}

// state waits until the read models have applied the whole log. It returns everything that the
// owner can read about a thing.
func (c *cells) state(on thing) string {
	c.Helper()
	head, err := c.log.Head(c.Context())
	if err == nil {
		err = c.server.Queries.AwaitWrite(c.Context(), head)
	}
	if err != nil {
		c.Fatal(err)
	}
	var all strings.Builder
	folder, document := "/vault/folders/"+on.folder, "/vault/documents/"+on.document
	for _, path := range []string{folder + "?include=true", folder + "/permissions", document, document + "/tags", document + "/versions", document + "/content"} {
		resp, body := c.do("GET", path, "")
		fmt.Fprintf(&all, "%s = %d %s %s\n", path, resp.StatusCode, resp.Header.Get("ETag"), body)
	}
	return all.String()
}
