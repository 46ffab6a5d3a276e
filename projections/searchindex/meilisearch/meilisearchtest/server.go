// Package meilisearchtest is a small Meilisearch server in memory, for tests. It has the
// tasks, documents, filters and searches that package meilisearch uses. It ignores how
// close words are together, and does not find prefixes. It can fail like a real server or
// like the network in front of it. The package may import projections/searchindex.
package meilisearchtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/mux"
)

// Key is the API key of the server.
const Key = "key-of-the-stub"

// Server is a Meilisearch on the loopback interface.
type Server struct {
	http  *httptest.Server
	fault atomic.Pointer[Fault]

	mu      sync.Mutex
	indexes map[string]*index
	tasks   []*task
	held    bool     // tasks stay in the queue
	failing []string // error codes of the next tasks that add documents
}

// Fault is a handler in front of the server. It may respond instead of the server, or
// drop the server's response.
type Fault func(w http.ResponseWriter, r *http.Request, server http.Handler)

// New starts a server that runs until the test ends.
func New(t testing.TB) *Server {
	s := &Server{indexes: make(map[string]*index)}
	routes := s.routes()
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := s.fault.Load(); fault != nil {
			(*fault)(w, r, routes)
			return
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.Answer()
		s.http.Close()
	})
	return s
}

// URL returns the URL of the server, with a prefix for the names of indexes.
func (s *Server) URL(prefix string) string {
	u := url.URL{Scheme: "meilisearch", User: url.User(Key), Host: s.http.Listener.Addr().String(), RawQuery: url.Values{"prefix": {prefix}}.Encode()}
	return u.String()
}

// Break puts a fault in front of the server until Answer is called.
func (s *Server) Break(f Fault) { s.fault.Store(&f) }

// Answer ends the fault.
func (s *Server) Answer() { s.fault.Store(nil) }

// Vanish drops all connections until Answer is called, as if nothing listened.
func (s *Server) Vanish() {
	s.Break(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { Drop(w) })
}

// Drop closes the connection without a response.
func Drop(w http.ResponseWriter) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		connection.Close()
	}
}

func (s *Server) routes() http.Handler {
	r := mux.NewRouter()
	r.Use(s.authorize)
	r.HandleFunc("/version", s.version).Methods("GET")
	r.HandleFunc("/indexes", s.createIndex).Methods("POST")
	r.HandleFunc("/indexes/{uid}", s.getIndex).Methods("GET")
	r.HandleFunc("/indexes/{uid}", s.deleteIndex).Methods("DELETE")
	r.HandleFunc("/indexes/{uid}/settings", s.updateSettings).Methods("PATCH")
	r.HandleFunc("/indexes/{uid}/settings/filterable-attributes", s.updateFilterable).Methods("PUT")
	r.HandleFunc("/indexes/{uid}/documents", s.addDocuments).Methods("POST")
	r.HandleFunc("/indexes/{uid}/documents/delete", s.deleteDocuments).Methods("POST")
	r.HandleFunc("/indexes/{uid}/documents/fetch", s.fetchDocuments).Methods("POST")
	r.HandleFunc("/indexes/{uid}/documents/{id}", s.getDocument).Methods("GET")
	r.HandleFunc("/multi-search", s.multiSearch).Methods("POST")
	r.HandleFunc("/tasks/{id:[0-9]+}", s.getTask).Methods("GET")
	r.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, "not_found", r.Method+" "+r.URL.Path+" is not implemented")
	})
	return r
}

func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); key {
		case Key:
			next.ServeHTTP(w, r)
		case "":
			fail(w, http.StatusUnauthorized, "missing_authorization_header", "The Authorization header is missing.")
		default:
			fail(w, http.StatusForbidden, "invalid_api_key", "The provided API key is invalid.")
		}
	})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]string{"commitSha": "unknown", "commitDate": "unknown", "pkgVersion": "1.50.0"})
}

// index returns the index whose name is in the path, or replies that it does not exist.
// The caller holds mu.
func (s *Server) index(w http.ResponseWriter, r *http.Request) *index {
	uid := mux.Vars(r)["uid"]
	x := s.indexes[uid]
	if x == nil {
		fail(w, http.StatusNotFound, "index_not_found", fmt.Sprintf("Index `%s` not found.", uid))
	}
	return x
}

func (s *Server) getIndex(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.index(w, r); x != nil {
		reply(w, http.StatusOK, map[string]any{"uid": mux.Vars(r)["uid"], "createdAt": x.created, "updatedAt": x.created, "primaryKey": "id"})
	}
}

func (s *Server) getDocument(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.index(w, r)
	if x == nil {
		return
	}
	d, ok := x.documents[mux.Vars(r)["id"]]
	if !ok {
		fail(w, http.StatusNotFound, "document_not_found", "Document not found.")
		return
	}
	reply(w, http.StatusOK, x.shown(d, nil))
}

func (s *Server) fetchDocuments(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Filter        string
		Fields        []string
		Offset, Limit int
	}
	if !read(w, r, &q) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.index(w, r)
	if x == nil {
		return
	}
	pass, err := x.filter(q.Filter)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_document_filter", err.Error())
		return
	}
	var found []any
	for _, id := range x.ids() {
		if d := x.documents[id]; pass(d) {
			found = append(found, x.shown(d, q.Fields))
		}
	}
	page := found[min(q.Offset, len(found)):min(q.Offset+q.Limit, len(found))]
	if page == nil {
		page = []any{}
	}
	reply(w, http.StatusOK, map[string]any{"results": page, "offset": q.Offset, "limit": q.Limit, "total": len(found)})
}

// Indexes returns the names of all indexes.
func (s *Server) Indexes() (uids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.indexes {
		uids = append(uids, uid)
	}
	return uids
}

// Documents returns the number of all documents in an index, including those that are not
// passages.
func (s *Server) Documents(uid string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexes[uid] == nil {
		return 0
	}
	return len(s.indexes[uid].documents)
}

// Exchange replaces an index by a new, empty one.
func (s *Server) Exchange(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes[uid] = newIndex()
}

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		fail(w, http.StatusBadRequest, "malformed_payload", err.Error())
		return false
	}
	return true
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the client is gone
}

func fail(w http.ResponseWriter, status int, code, message string) {
	reply(w, status, problem{message, code, "invalid_request", "https://docs.meilisearch.com/errors#" + code})
}

type problem struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	Type    string `json:"type"`
	Link    string `json:"link"`
}

// now returns a later time at every call. time.Now may return the same time twice,
// because the clocks of some machines are coarser than the times that Meilisearch
// reports.
var now = func() func() time.Time {
	var mu sync.Mutex
	var last time.Time
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if t := time.Now().UTC(); t.After(last) {
			last = t
		} else {
			last = last.Add(time.Microsecond)
		}
		return last
	}
}()
