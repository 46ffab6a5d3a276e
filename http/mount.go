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

// Routes returns a router with all routes, so that tests can compare them with the OpenAPI
// documents. Call Handler first.
func (s *Server) Routes() *mux.Router {
	root := mux.NewRouter().SkipClean(true) // cleaning a path redirects the client, which would lose the body of an upload
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
	if s.Console != nil {
		s.Console.Mount(root, root)
	}
	s.refuse(root, problem.Core)
	if s.Console != nil {
		refuse := root.NotFoundHandler
		root.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if (r.Method == http.MethodGet || r.Method == http.MethodHead) && wantsPage(r) && r.Header.Get("Authorization") == "" {
				s.Console.NotFound(w, r)
				return
			}
			refuse.ServeHTTP(w, r)
		})
	}
	return root
}

// part is a group of routes below one configured URL.
type part struct {
	url   *url.URL
	mount func(*mux.Router)
}

// parts returns the parts of s. The part with the longest path is first, because a URL may be
// below the URL of another part.
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

// at returns a router for the paths below a configured URL. If no other configured URL has the
// same host, the router matches only requests to that host.
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

// ownHost reports whether u has a host that no other configured URL has.
func (s *Server) ownHost(u *url.URL) bool {
	shared := 0
	for _, other := range []*url.URL{s.CoreURL, s.VaultURL, s.MCPURL, s.IssuerURL} {
		if strings.EqualFold(other.Host, u.Host) {
			shared++
		}
	}
	return u.Host != "" && shared == 1
}

// sameHost reports whether a URL and a Host header name the same host. Both may omit the
// default port of the URL's scheme.
func sameHost(u *url.URL, host string) bool {
	port := ":80"
	if u.Scheme == "https" {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
}

// mount adds the routes of the core or the vault. The vault supports HEAD for every route that
// supports GET, like NestJS. The core does not support HEAD, like FastAPI.
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

// exclude prevents a route from matching paths that match an earlier, more specific route.
// Otherwise GET /documents/batch would be a read of the document with the id "batch".
func exclude(route *mux.Route, before []*mux.Route) {
	own, _ := route.GetPathTemplate() // never fails: all routes here have a path
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

var variables = regexp.MustCompile(`\{[^}]*\}`)

func pathPattern(route *mux.Route) *regexp.Regexp {
	text, err := route.GetPathRegexp()
	if err != nil {
		panic(err) // unreachable, because the router compiled the same path
	}
	return regexp.MustCompile(text)
}

// mountMCP adds the route of the agents' tools, with and without a trailing slash, which some
// clients send.
func (s *Server) mountMCP(r *mux.Router, at *url.URL) {
	paths := []string{"", "/"}
	if strings.TrimSuffix(at.Path, "/") == "" {
		paths = paths[1:]
	}
	for _, path := range paths {
		// The handler also receives methods that it does not support, because its 401 tells
		// clients where to sign in. It replies 405 to GET and DELETE, which the protocol uses
		// for streams and sessions.
		r.Handle(path, s.MCP).Methods("GET", "POST", "DELETE")
	}
	s.refuse(r, problem.Core, "POST")
}

// refuse replies to requests below r that match no route: 404 for an unknown path, 405 for a
// wrong method. The router's own handling of wrong methods fails if routes share a prefix. If
// only is not empty, it is the list of methods in the Allow header.
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

// methods are all methods that any route supports.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// allowed returns the methods that the routes of r support for the path of a request.
func allowed(r *mux.Router, q *http.Request) []string {
	return slices.DeleteFunc(slices.Clone(methods), func(method string) bool {
		try := q.Clone(q.Context())
		try.Method = method
		return !hasRoute(r, try)
	})
}

// hasRoute reports whether a route of r matches a request. r.Match would also match the
// handlers for unknown paths.
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
