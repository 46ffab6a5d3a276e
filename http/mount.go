package http

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"annals/http/form"
	"annals/http/problem"

	"github.com/gorilla/mux"
)

// Routes returns all routes, for comparison with the OpenAPI documents. Call Handler
// first.
func (s *Server) Routes() *mux.Router {
	root := mux.NewRouter().SkipClean(true) // a redirect would lose an upload
	root.Handle("/healthz", http.HandlerFunc(s.health)).Methods("GET", "HEAD")
	root.Handle("/readyz", http.HandlerFunc(s.ready)).Methods("GET", "HEAD")
	root.Handle("/version", http.HandlerFunc(s.version)).Methods("GET", "HEAD")
	root.Handle(deepLink, s.guard(problem.Vault, s.forBrowsers(s.serve(problem.Vault, (*Server).deepLink, reads)))).Methods("GET", "HEAD")
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
	s.refuse(root, problem.Core)
	return root
}

// part is what is served below one configured URL.
type part struct {
	url   *url.URL
	mount func(*mux.Router)
}

// parts returns the parts of s, the longest path first, because the path of one may be
// below that of another.
func (s *Server) parts() []part {
	all := []part{
		{s.CoreURL, func(r *mux.Router) {
			s.mount(r, problem.Core, coreRoutes, form.QueryParameters("core.openapi.yaml"))
			r.Handle("/openapi.yaml", openAPI("core.openapi.yaml")).Methods("GET", "HEAD")
		}},
		{s.VaultURL, func(r *mux.Router) {
			s.mount(r, problem.Vault, vaultRoutes, form.QueryParameters("vault.openapi.yaml"))
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

// checkURLs returns an error if two parts have the same URL.
func (s *Server) checkURLs() error {
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

// at returns a router for the paths below a configured URL. It matches only requests to
// the URL's host if no other configured URL has that host.
func (s *Server) at(root *mux.Router, u *url.URL) *mux.Router {
	r := root.NewRoute()
	if s.ownHost(u) {
		r = r.MatcherFunc(func(q *http.Request, _ *mux.RouteMatch) bool { return sameHost(u, q.Host) })
	}
	if path := strings.TrimSuffix(u.Path, "/"); path != "" {
		r = r.PathPrefix(path)
	}
	return r.Subrouter()
}

// ownHost reports whether a configured URL has a host that no other has.
func (s *Server) ownHost(u *url.URL) bool {
	shared := 0
	for _, other := range []*url.URL{s.CoreURL, s.VaultURL, s.MCPURL, s.IssuerURL} {
		if strings.EqualFold(other.Host, u.Host) {
			shared++
		}
	}
	return u.Host != "" && shared == 1
}

// sameHost reports whether a URL and a request have the same host. Either may omit the
// default port of the scheme.
func sameHost(u *url.URL, host string) bool {
	port := ":80"
	if u.Scheme == "https" {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}

// mount adds a service's routes. The vault supports HEAD wherever it supports GET, like
// NestJS. The core does not support HEAD, like FastAPI.
func (s *Server) mount(r *mux.Router, d problem.Dialect, routes []route, known map[string][]string) {
	var before []*mux.Route
	for _, e := range routes {
		methods := []string{e.method}
		if e.method == "GET" && d.Tagged {
			methods = append(methods, "HEAD")
		}
		route := r.Handle(e.path, s.guard(d, s.serve(d, strict(d, e, known), e.effect))).Methods(methods...)
		exclude(route, before)
		before = append(before, route)
	}
	s.refuse(r, d)
}

// exclude stops a route from matching the paths of earlier, more specific routes.
// Otherwise GET /documents/batch would look for a document with the id "batch".
func exclude(route *mux.Route, before []*mux.Route) {
	own, _ := route.GetPathTemplate() // all of these have a path
	pattern := pathPattern(route)
	var specific []*regexp.Regexp
	for _, other := range before {
		path, _ := other.GetPathTemplate()
		if path != own && pattern.MatchString(variables.ReplaceAllString(path, "x")) {
			specific = append(specific, pathPattern(other))
		}
	}
	if len(specific) == 0 {
		return
	}
	route.MatcherFunc(func(q *http.Request, _ *mux.RouteMatch) bool {
		return !slices.ContainsFunc(specific, func(p *regexp.Regexp) bool { return p.MatchString(q.URL.Path) })
	})
}

// variables matches the variables in a route's path.
var variables = regexp.MustCompile(`\{[^}]*\}`)

func pathPattern(route *mux.Route) *regexp.Regexp {
	text, err := route.GetPathRegexp()
	if err != nil {
		panic(err) // it was registered with a path
	}
	return regexp.MustCompile(text)
}

// mountMCP adds the route of the agent tools, which some clients call with a trailing
// slash.
func (s *Server) mountMCP(r *mux.Router, at *url.URL) {
	paths := []string{"", "/"}
	if strings.TrimSuffix(at.Path, "/") == "" {
		paths = paths[1:]
	}
	for _, path := range paths {
		// All methods go to the handler, because its 401 names the sign-in. It replies
		// 405 to GET and DELETE: there are neither streams nor sessions.
		r.Handle(path, s.MCP).Methods("GET", "POST", "DELETE")
	}
	s.refuse(r, problem.Core, "POST")
}

// refuse replies 404 to unknown paths below r, and 405 to wrong methods. The router's own
// handling of methods fails if routes share a prefix. If only is given, the header Allow
// lists those methods.
func (s *Server) refuse(r *mux.Router, d problem.Dialect, only ...string) {
	h := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		drain(w, q)
		if allowed := allowed(r, q); len(allowed) > 0 {
			if len(only) > 0 {
				allowed = only
			}
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			d.Fail(w, &problem.Error{Status: http.StatusMethodNotAllowed, Text: "Method Not Allowed"})
			return
		}
		d.Fail(w, &problem.Error{Status: http.StatusNotFound, Text: "Not Found"})
	})
	r.NotFoundHandler, r.MethodNotAllowedHandler = h, h
}

// methods are the methods of all routes.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// allowed returns the methods that r's routes have for a request's path.
func allowed(r *mux.Router, q *http.Request) []string {
	return slices.DeleteFunc(slices.Clone(methods), func(method string) bool {
		try := q.Clone(q.Context())
		try.Method = method
		return !hasRoute(r, try)
	})
}

// hasRoute walks the routes, because r.Match also matches the handlers for unknown paths.
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
