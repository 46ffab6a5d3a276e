// Package console serves the web pages on which people ask, browse and import. It is a
// client of the REST interface in the same process: every page consists of calls of its
// routes with the token of the visitor. Rights, limits, the access log and the sentences
// of errors are therefore those of REST.
//
// Of this module it imports only the packages below it and http/webpage.
package console

import (
	"log/slog"
	"net/http"
	"net/url"

	"annals/http/console/assets"
	"annals/http/console/session"

	"github.com/gorilla/mux"
)

// Sessions signs browsers in and out. *session.Manager implements it, and describes the
// methods.
type Sessions interface {
	Of(w http.ResponseWriter, r *http.Request) (session.Session, bool, error)
	Login(w http.ResponseWriter, r *http.Request)
	Callback(w http.ResponseWriter, r *http.Request)
	Logout(w http.ResponseWriter, r *http.Request)
	CSRF(w http.ResponseWriter, r *http.Request) string
	CheckCSRF(r *http.Request) bool
}

// Options configures a Console.
type Options struct {
	Sessions Sessions
	// CoreURL, VaultURL and IssuerURL are the public URLs of the REST interface and of the
	// sign-in.
	CoreURL, VaultURL, IssuerURL *url.URL
	// Composes reports that a language model writes the answers. They then take seconds, so
	// pages do not wait for them.
	Composes bool
	Logger   *slog.Logger
}

// Console serves the pages.
type Console struct {
	Options
	rest   http.Handler // the router of the REST interface; set by Mount
	origin http.CrossOriginProtection

	comparing chan struct{} // a place for each comparison of texts at a time
}

// New returns a console. Mount adds it to the routes of a server.
func New(o Options) *Console {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Console{Options: o, comparing: make(chan struct{}, maxComparing)}
}

// Mount adds the routes of the pages to those of a server. rest handles calls of the REST
// interface.
func (c *Console) Mount(root *mux.Router, rest http.Handler) {
	c.rest = rest
	for _, e := range pages {
		methods := []string{e.method}
		if e.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		root.Handle(e.path, c.visit(e.handle)).Methods(methods...)
	}
	assets.Mount(root)
	root.HandleFunc(session.LoginPath, c.Sessions.Login).Methods(http.MethodGet, http.MethodHead)
	root.HandleFunc(session.CallbackPath, c.Sessions.Callback).Methods(http.MethodGet)
	root.HandleFunc(session.LogoutPath, c.Sessions.Logout).Methods(http.MethodGet, http.MethodHead, http.MethodPost)
	root.Handle("/console/renew", c.visit((*Console).renew)).Methods(http.MethodPost)
	root.PathPrefix(handThrough).Handler(c.visit((*Console).forward))
}

// pages are the routes of the pages. Handlers are in the file of their page.
var pages = []struct {
	method, path string
	handle       func(*Console, *visit) error
}{
	{"GET", "/", (*Console).ask},
	{"GET", "/folders", (*Console).folders},
	{"GET", "/folders/new", (*Console).askNewFolder},
	{"POST", "/folders/new", (*Console).createFolder},
	{"GET", "/folders/" + id, (*Console).folder},
	{"GET", "/folders/" + id + "/change", (*Console).askFolderChange},
	{"POST", "/folders/" + id + "/change", (*Console).changeFolder},
	{"GET", "/folders/" + id + "/share", (*Console).askShare},
	{"POST", "/folders/" + id + "/share", (*Console).share},
	{"POST", "/invitations/" + id, (*Console).answerInvitation},
	{"GET", "/documents/" + id + "/change", orDeleted((*Console).askDocumentChange)},
	{"POST", "/documents/" + id + "/change", (*Console).changeDocument},
	{"GET", "/account", (*Console).account},
	{"POST", "/account/unblock", (*Console).unblock},
	{"POST", "/console/answer", (*Console).renderAnswer},
	{"GET", "/documents/" + id, orDeleted((*Console).showDocument)},
	{"GET", "/documents/" + id + "/history", orDeleted((*Console).versions)},
	{"POST", "/documents/" + id + "/restore", (*Console).restore},
	{"GET", "/admin", administrators((*Console).admin)},
	{"POST", "/admin/rebuild", administrators((*Console).rebuild)},
	{"POST", "/admin/retry", administrators((*Console).retryParked)},
	{"GET", "/admin/users", administrators((*Console).adminUsers)},
	{"GET", "/admin/events", administrators((*Console).adminEvents)},
	{"GET", "/history", (*Console).history},
	{"GET", "/import", (*Console).askImport},
	{"POST", "/import", (*Console).importFiles},
	{"GET", "/import/" + id, (*Console).showImport},
}

// id is the pattern of an id in a path.
const id = "{id:[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}}"

// renew does nothing: any request that is not a GET renews a session that ends soon. Scripts
// of pages that stay open for hours send it.
func (c *Console) renew(v *visit) error {
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}

// NotFound replies to browsers that ask for a page that does not exist.
func (c *Console) NotFound(w http.ResponseWriter, r *http.Request) {
	c.visit(func(*Console, *visit) error {
		return &problem{Status: http.StatusNotFound, Sentence: "There is no such page."}
	}).ServeHTTP(w, r)
}

// redirect lets the browser load another page with GET.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}
