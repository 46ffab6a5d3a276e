package http

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gorilla/mux"
)

// coreRoutes are paths under CoreURL.
var coreRoutes = []route{
	{"POST", "/ingest", (*Server).ingest, changes},
	{"GET", "/jobs/{job_id}", (*Server).job, reads},
	{"POST", "/search", (*Server).search, reads},
	{"POST", "/ask", (*Server).ask, reads},
	{"GET", "/folders/summary", metered((*Server).folderSummary), reads},
}

// vaultRoutes are paths under VaultURL. The deep link comes before the
// document, whose id has no dot.
var vaultRoutes = []route{
	{"GET", "/folders", metered((*Server).folders), reads},
	{"POST", "/folders", (*Server).createFolder, changes},
	{"GET", "/folders/{id}", metered((*Server).folder), reads},
	{"PATCH", "/folders/{id}", (*Server).changeFolder, changes},
	{"DELETE", "/folders/{id}", (*Server).deleteFolder, changes},
	{"GET", "/folders/{id}/permissions", metered((*Server).permissions), reads},
	{"PUT", "/folders/{id}/permissions", (*Server).shareFolder, changes},
	{"GET", "/invitations", metered((*Server).invitations), reads},
	{"POST", "/invitations/{id}/accept", (*Server).acceptInvitation, changes},
	{"POST", "/invitations/{id}/decline", (*Server).declineInvitation, changes},
	{"GET", "/invitations/blocked", metered((*Server).blockedInviters), reads},
	{"DELETE", "/invitations/blocked", (*Server).unblockInviter, changes},
	{"GET", "/documents", metered((*Server).documents), reads},
	{"POST", "/documents/batch", (*Server).documentBatch, reads},
	{"GET", deepLink, (*Server).deepLink, reads},
	{"GET", "/documents/{id}", metered((*Server).document), reads},
	{"PATCH", "/documents/{id}", (*Server).changeDocument, changes},
	{"DELETE", "/documents/{id}", (*Server).deleteDocument, changes},
	{"GET", "/documents/{id}/content", (*Server).content, reads},
	{"PUT", "/documents/{id}/content", (*Server).reviseDocument, changes},
	{"GET", "/documents/{id}/markdown", metered((*Server).markdown), reads},
	{"GET", "/documents/{id}/tags", metered((*Server).documentTags), reads},
	{"PUT", "/documents/{id}/tags", (*Server).tagDocument, changes},
	{"GET", "/documents/{id}/versions", metered((*Server).versions), reads},
	{"GET", "/documents/{id}/versions/{version}", metered((*Server).documentVersion), reads},
	{"GET", "/documents/{id}/versions/{version}/content", (*Server).versionContent, reads},
	{"GET", "/tags", metered((*Server).tags), reads},
	{"GET", "/usage", (*Server).usage, reads},
	{"GET", "/audit", metered((*Server).audit), reads},
}

// deepLink is the path that passages name, on the vault and at the root. What
// has no id before the dot is a document that is not found, whatever the method.
const deepLink = "/documents/{id:[0-9a-fA-F]+-[0-9a-fA-F-]+}.{ext:[^/]+}"

type route struct {
	method, path string
	answer       endpoint
	effect       effect
}

// effect is what a route does to what is kept. A token whose scope is read gets no
// further than to those that only read; the zero value is none of them.
type effect int

const (
	changes effect = iota
	reads
)

// Routes returns the routes of both services and of what is beside them, to be
// compared with the documents that describe them. Handler must be called
// first.
func (s *Server) Routes() *mux.Router {
	root := mux.NewRouter().SkipClean(true) // a redirect would lose an upload
	root.Handle("/healthz", http.HandlerFunc(s.health)).Methods("GET", "HEAD")
	root.Handle("/readyz", http.HandlerFunc(s.ready)).Methods("GET", "HEAD")
	root.Handle("/version", http.HandlerFunc(s.version)).Methods("GET", "HEAD")
	root.Handle(deepLink, s.guard(vaultDialect, s.opened(s.serve(vaultDialect, (*Server).deepLink, reads)))).Methods("GET", "HEAD")
	if s.Metrics != nil {
		root.Handle("/metrics", s.Metrics).Methods("GET", "HEAD")
	}
	if s.SignInDocuments != nil {
		root.PathPrefix("/.well-known/").Handler(s.SignInDocuments).Methods("GET", "HEAD", "OPTIONS")
	}
	root.Use(noteRoute)
	for _, p := range s.parts() {
		p.mount(s.at(root, p.url))
	}
	s.refuse(root, coreDialect)
	return root
}

// part is what is served below one configured URL.
type part struct {
	url   *url.URL
	mount func(*mux.Router)
}

// parts returns the parts of s, those with longer paths first: one may lie
// below another's path.
func (s *Server) parts() []part {
	all := []part{
		{s.CoreURL, func(r *mux.Router) {
			s.mount(r, coreDialect, coreRoutes, queryParameters("core.openapi.yaml"))
			r.Handle("/openapi.yaml", openAPI("core.openapi.yaml")).Methods("GET", "HEAD")
		}},
		{s.VaultURL, func(r *mux.Router) {
			s.mount(r, vaultDialect, vaultRoutes, queryParameters("vault.openapi.yaml"))
			r.Handle("/openapi.yaml", openAPI("vault.openapi.yaml")).Methods("GET", "HEAD")
		}},
	}
	if s.MCP != nil {
		all = append(all, part{s.MCPURL, func(r *mux.Router) { s.mountMCP(r, s.MCPURL) }})
	}
	if s.SignIn != nil {
		all = append(all, part{s.IssuerURL, func(r *mux.Router) {
			r.Handle("", s.SignIn)
			r.PathPrefix("/").Handler(s.SignIn)
		}})
	}
	slices.SortStableFunc(all, func(a, b part) int { return len(b.path()) - len(a.path()) })
	return all
}

func (p part) path() string { return strings.TrimSuffix(p.url.Path, "/") }

// apart returns an error where two parts have the same URL.
func (s *Server) apart() error {
	all := s.parts()
	for i, p := range all {
		for _, q := range all[:i] {
			if strings.EqualFold(p.url.Host, q.url.Host) && p.path() == q.path() {
				return fmt.Errorf("%s is the URL of more than one of the core, the vault, the agent tools and the sign-in", p.url)
			}
		}
	}
	return nil
}

// at returns the routes below a configured URL: of its host alone where no
// other URL has the same.
func (s *Server) at(root *mux.Router, u *url.URL) *mux.Router {
	r := root.NewRoute()
	if s.hostAlone(u) {
		r = r.MatcherFunc(func(q *http.Request, _ *mux.RouteMatch) bool { return sameHost(u, q.Host) })
	}
	if path := strings.TrimSuffix(u.Path, "/"); path != "" {
		r = r.PathPrefix(path)
	}
	return r.Subrouter()
}

// hostAlone reports whether a configured URL has a host that no other has.
func (s *Server) hostAlone(u *url.URL) bool {
	shared := 0
	for _, other := range []*url.URL{s.CoreURL, s.VaultURL, s.MCPURL, s.IssuerURL} {
		if strings.EqualFold(other.Host, u.Host) {
			shared++
		}
	}
	return u.Host != "" && shared == 1
}

// sameHost compares a URL's host with a request's, either of which may leave
// out the scheme's own port.
func sameHost(u *url.URL, host string) bool {
	own := ":80"
	if u.Scheme == "https" {
		own = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(u.Host, own), strings.TrimSuffix(host, own))
}

// mount adds a service's routes. Those of the vault answer HEAD like GET, as
// its clients' other servers do; those of the core do not.
func (s *Server) mount(r *mux.Router, d dialect, routes []route, known map[string][]string) {
	var before []*mux.Route
	for _, e := range routes {
		methods := []string{e.method}
		if e.method == "GET" && d.reads {
			methods = append(methods, "HEAD")
		}
		route := r.Handle(e.path, s.guard(d, s.serve(d, d.knowing(e, known), e.effect))).Methods(methods...)
		apartFrom(route, before)
		before = append(before, route)
	}
	s.refuse(r, d)
}

// apartFrom has a route leave alone what an earlier one of another path names
// more closely: /documents/batch is no document, whatever the method.
func apartFrom(route *mux.Route, before []*mux.Route) {
	own, _ := route.GetPathTemplate() // all of these have a path
	pattern := pathPattern(route)
	var closer []*regexp.Regexp
	for _, other := range before {
		path, _ := other.GetPathTemplate()
		if path != own && pattern.MatchString(variables.ReplaceAllString(path, "x")) {
			closer = append(closer, pathPattern(other))
		}
	}
	if len(closer) == 0 {
		return
	}
	route.MatcherFunc(func(q *http.Request, _ *mux.RouteMatch) bool {
		return !slices.ContainsFunc(closer, func(p *regexp.Regexp) bool { return p.MatchString(q.URL.Path) })
	})
}

// variables are those of a route's path.
var variables = regexp.MustCompile(`\{[^}]*\}`)

func pathPattern(route *mux.Route) *regexp.Regexp {
	text, err := route.GetPathRegexp()
	if err != nil {
		panic(err) // it was registered with a path
	}
	return regexp.MustCompile(text)
}

// mountMCP adds the one route of the agent tools, which some clients call with
// a slash behind it.
func (s *Server) mountMCP(r *mux.Router, at *url.URL) {
	paths := []string{"", "/"}
	if strings.TrimSuffix(at.Path, "/") == "" {
		paths = paths[1:]
	}
	for _, path := range paths {
		// Who is not signed in learns where to, whatever the method; for the rest
		// there is no stream to be opened and no session to be ended.
		r.Handle(path, s.MCP).Methods("GET", "POST", "DELETE")
	}
	s.refuse(r, coreDialect, "POST")
}

// refuse answers unknown paths and wrong methods below r. The router's own
// judgement of methods gets lost where routes share a prefix. Where only is
// given, those are the methods that the routes carry out.
func (s *Server) refuse(r *mux.Router, d dialect, only ...string) {
	h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		drain(w, q)
		if allowed := allowed(r, q); len(allowed) > 0 {
			if len(only) > 0 {
				allowed = only
			}
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			d.fail(w, &statusError{http.StatusMethodNotAllowed, "Method Not Allowed"})
			return
		}
		d.fail(w, &statusError{http.StatusNotFound, "Not Found"})
	})
	r.NotFoundHandler, r.MethodNotAllowedHandler = h, h
}

// methods are those that any route answers.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// allowed returns the methods that r's routes have for a request's path.
func allowed(r *mux.Router, q *http.Request) []string {
	return slices.DeleteFunc(slices.Clone(methods), func(method string) bool {
		try := q.Clone(q.Context())
		try.Method = method
		return !hasRoute(r, try)
	})
}

// hasRoute goes by the walk rather than r.Match, which takes the handlers for
// unknown paths for routes as well.
func hasRoute(r *mux.Router, q *http.Request) bool {
	found := false
	_ = r.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		var m mux.RouteMatch
		if route.GetHandler() != nil && route.Match(q, &m) && m.MatchErr == nil {
			found = true
		}
		return nil
	})
	return found
}
