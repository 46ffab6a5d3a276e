package http

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"annals/events"
	"annals/http/form"
	"annals/http/problem"
	"annals/queries/accesslog"
	"annals/queries/vault"

	"github.com/google/uuid"
	"github.com/gorilla/mux"
)

// routeOf returns the path template of the route that matched a request, or "" if none
// matched.
func routeOf(r *http.Request) string {
	if route := mux.CurrentRoute(r); route != nil {
		return template(route)
	}
	return ""
}

// access passes an access by a request to s.Accessed, if it is set.
func (s *Server) access(r *http.Request, user events.User, a accesslog.Access) {
	if s.Accessed == nil {
		return
	}
	a.User, a.Correlation, a.Address = user, Correlation(r.Context()), s.address(r)
	if a.Via == "" {
		a.Via, _, _ = strings.Cut(strings.TrimPrefix(routeOf(r), "/"), "/")
	}
	a.Via = user.Via(a.Via)
	s.Accessed(a)
}

// address returns the address of the client that sent a request.
func (s *Server) address(r *http.Request) string {
	if s.Address != nil {
		return s.Address(r)
	}
	return PeerAddress(r)
}

// PeerAddress returns the address, without the port, from which the connection of a request
// comes.
func PeerAddress(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// denied records in the access log that a request failed because its user lacks access. named
// are further streams, such as document-<id>: those of the ids in the request's body.
func (s *Server) denied(r *http.Request, user events.User, err error, named ...string) {
	status, _ := problem.Describe(err)
	detail := r.Method + " " + routeOf(r)
	switch status {
	case http.StatusUnauthorized:
		s.access(r, user, accesslog.Access{Kind: accesslog.TokenRefused, Detail: detail})
	case http.StatusForbidden, http.StatusNotFound:
		things := append(thingsOf(r), named...)
		for _, thing := range things {
			s.access(r, user, accesslog.Access{Kind: accesslog.Denied, Thing: thing, Detail: detail})
		}
		if len(things) == 0 && status == http.StatusForbidden {
			s.access(r, user, accesslog.Access{Kind: accesslog.Denied, Detail: detail})
		}
	}
}

// thingsOf returns the streams, such as document-<id>, of the documents, folders and jobs of
// which the ids are in the path or query of a request.
func thingsOf(r *http.Request) (things []string) {
	add := func(kind, text string) {
		if id, ok := form.ParseID(text); ok {
			things = append(things, kind+"-"+id.String())
		}
	}
	vars := mux.Vars(r)
	switch route := routeOf(r); {
	case strings.Contains(route, "/documents/"):
		add("document", vars["id"])
	case strings.Contains(route, "/folders/"):
		add("folder", vars["id"])
	case strings.Contains(route, "/jobs/"):
		add("job", vars["job_id"])
	}
	query := r.URL.Query()
	add("document", query.Get("document"))
	for _, name := range []string{"folder", "folderId", "parentFolderId"} {
		add("folder", query.Get(name))
	}
	return things
}

// readKind returns the kind of access that a GET of a route records for its document. reads is
// false if the route does not return a document's content.
func readKind(route string) (kind accesslog.Kind, reads bool) {
	switch _, below, ok := strings.Cut(route, "/documents/"); {
	case !ok:
		return "", false
	case below == "{id}.{ext}", strings.HasSuffix(below, "/content"), below == "{id}/markdown", strings.Contains(below, "/pages/"):
		return accesslog.Exported, true
	case below == "{id}", below == "{id}/versions/{version}":
		return accesslog.Read, true
	}
	return "", false
}

// recordRead records in the access log that a document was sent, completely or partly.
func (s *Server) recordRead(w http.ResponseWriter, c *call) {
	out, ok := w.(*response)
	if !ok || s.Accessed == nil || c.Method != http.MethodGet || out.status != http.StatusOK && out.status != http.StatusPartialContent {
		return
	}
	kind, ok := readKind(routeOf(c.Request))
	if !ok {
		return
	}
	for _, thing := range thingsOf(c.Request) {
		s.access(c.Request, c.user, accesslog.Access{Kind: kind, Thing: thing})
	}
}

// recordReads records in the access log that parts of some documents were sent.
func (s *Server) recordReads(c *call, how string, ids ...uuid.UUID) {
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			s.access(c.Request, c.user, accesslog.Access{Kind: accesslog.Read, Thing: events.DocumentStream(id), Detail: how})
		}
	}
}

// recordBatch records in the access log which of the requested documents were sent. The others
// are recorded as denied.
func (s *Server) recordBatch(c *call, requested []uuid.UUID, sent []vault.Document) {
	if s.Accessed == nil {
		return
	}
	ids := each(sent, func(d vault.Document) uuid.UUID { return d.ID })
	s.recordReads(c, "in a batch", ids...)
	for _, id := range requested {
		if !slices.Contains(ids, id) {
			s.access(c.Request, c.user, accesslog.Access{Kind: accesslog.Denied, Thing: events.DocumentStream(id), Detail: "POST " + routeOf(c.Request)})
		}
	}
}
