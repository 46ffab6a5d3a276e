// Package http serves the two services over HTTP: the core, which imports, searches and
// answers, and the vault, which holds folders and documents. It also serves deep links,
// health checks and the configured sign-in. Inside this package http.X is always
// net/http.
//
// It writes only through commands and reads only through queries. It imports both,
// events, events/fault, events/originals and schema.
package http

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/quota"
	"annals/events"
	"annals/events/disk"
	"annals/events/originals"
	"annals/http/admin"
	"annals/http/problem"
	"annals/http/progress"
	"annals/http/ratelimit"
	"annals/queries/accesslog"

	"github.com/gorilla/mux"
)

// Server serves the core and the vault. Set its fields before calling Handler or Serve, and do
// not change them afterwards. If the comment of a field names a default, the zero value
// selects it.
type Server struct {
	// Verify returns the user of a bearer token and the time at which the token expires. Its
	// errors are of kind fault.Unauthenticated or fault.Unavailable.
	Verify    func(ctx context.Context, token string) (events.User, time.Time, error)
	Queries   Queries
	Commands  Commands
	Originals originals.Store
	// Pages shows pages of documents. If it is nil, requests for them are refused.
	Pages Pages
	// SignIn handles requests below IssuerURL, with their full paths. It is nil if there is no
	// built-in sign-in.
	SignIn http.Handler
	// SignInDocuments serves the OAuth metadata below /.well-known/ at the root of the host.
	// May be nil.
	SignInDocuments http.Handler
	// Reader returns the user who is signed in in the browser that requests a document. It
	// reports false if no user is. If Reader is nil, deep links need a token.
	Reader func(*http.Request) (events.User, bool, error)
	// Console adds web pages for people to the routes. rest handles calls of the core and the
	// vault. May be nil.
	Console interface {
		Mount(root *mux.Router, rest http.Handler)
		// NotFound replies to browsers that ask for a page that does not exist.
		NotFound(w http.ResponseWriter, r *http.Request)
	}
	// MCP serves the agents' tools at MCPURL. It verifies tokens itself. It is nil if there
	// are no agents' tools.
	MCP http.Handler

	// Admin answers the requests of administrators. If it is nil, there is nothing for them.
	Admin *admin.Service
	// Metrics serves GET /metrics, without a token. May be nil.
	Metrics http.Handler
	// AccessLog logs every request at level info instead of debug.
	AccessLog bool
	// Observe is called after every request. May be nil.
	Observe func(Answered)
	// Accessed is called for refused requests and for documents that were read, for the access
	// log. It must not block. May be nil.
	Accessed func(accesslog.Access)
	// Address returns the address of the client that sent a request. If it is nil, the address
	// of the connection is used.
	Address func(*http.Request) string

	// CoreURL, VaultURL, MCPURL and IssuerURL are the public URLs. The defaults are the paths
	// /core, /vault, /mcp and /signin. If a URL has a host that no other URL has, its routes
	// are served only at that host.
	CoreURL, VaultURL, MCPURL, IssuerURL *url.URL

	// LinkURL is the public URL of the deep links with which people open documents in a
	// browser. If it is nil, sources have no url.
	LinkURL *url.URL

	Limits Limits
	// UserExists reports whether there may be a user of this name. If it is nil, every name is
	// accepted.
	UserExists func(context.Context, events.Principal) (bool, error)
	// Quotas returns the limits of a user. If it is nil, users have no limits.
	Quotas func(context.Context, events.User) (quota.Limits, error)
	// Changes counts the bytes that each user's recent changes added to the log, for GET
	// /usage. May be nil.
	Changes *quota.Changes
	// Reads charges users for the duration of searches, questions and listings. If it is nil,
	// all reads are free.
	Reads *ratelimit.Limiter
	// Brake delays replies to users who keep sending requests that are refused. May be
	// nil.
	Brake   *ratelimit.Brake
	Origins []string // origins of web pages that may send requests, such as "https://app.example"; "*" means all
	Version string   // version of the program
	Disks   disk.Folders
	// Unrecognised says why the server does not recognise text in pictures, and what its
	// operator can do: "install Tesseract". It is "" if the server recognises text.
	Unrecognised string

	KeepAlive time.Duration // interval of keep-alive comments in a progress stream; default 15 s
	Stall     time.Duration // a progress stream ends if there is no progress for this time; default 60 s
	Await     time.Duration // how long the reply to a write waits for the read models before it is 202; default 5 s
	Revise    time.Duration // how long the reply to new content waits for its import before it is 202; default 30 s
	Silence   time.Duration // a connection is closed if no byte is transferred for this time; default 60 s
	Linger    time.Duration // how long a stopping server reports not ready but still serves, so that load balancers notice; default 0
	Drain     time.Duration // how long a stopping server then waits for requests in flight; default 30 s

	Logger *slog.Logger // default slog.Default()

	once     sync.Once
	handler  http.Handler
	stopping atomic.Bool // the server is stopping: it reports not ready, but still serves
	streams  progress.Places
}

// Limits are what requests may contain. A zero field selects the default in its comment.
type Limits struct {
	FileBytes     int64 // bytes of one uploaded file; 1 GiB
	Files         int   // files in one upload; 10,000
	UploadBytes   int64 // bytes of a whole upload; 64 GiB
	MetadataBytes int64 // bytes of file_metadata; 8 MiB
	JSONBytes     int64 // bytes of any other body; 1 MiB
	QueryLength   int   // characters of a question; 100,000
	Tags          int   // tags in a search; 64
	PageSize      int   // entries in a page of a listing; 1,000
	HeaderBytes   int   // bytes of the headers of a request; 64 KiB

	Formats extract.Formats // formats of files that may be imported; extract.StandardFormats
}

// WithDefaults returns l with its zero fields replaced by the defaults.
func (l Limits) WithDefaults() Limits {
	orElse(&l.FileBytes, 1<<30)
	orElse(&l.Files, 10_000)
	orElse(&l.UploadBytes, 64<<30)
	orElse(&l.MetadataBytes, 8<<20)
	orElse(&l.JSONBytes, 1<<20)
	orElse(&l.QueryLength, 100_000)
	orElse(&l.Tags, 64)
	orElse(&l.PageSize, 1_000)
	orElse(&l.HeaderBytes, 64<<10)
	if len(l.Formats) == 0 {
		l.Formats = extract.StandardFormats()
	}
	return l
}

// orElse sets *v to def if it is zero.
func orElse[T comparable](v *T, def T) {
	if *v == *new(T) {
		*v = def
	}
}

// Handler returns a handler for all routes. It sets the defaults in s.
func (s *Server) Handler() http.Handler {
	s.once.Do(func() {
		s.Limits = s.Limits.WithDefaults()
		orElse(&s.CoreURL, &url.URL{Path: "/core"})
		orElse(&s.VaultURL, &url.URL{Path: "/vault"})
		orElse(&s.MCPURL, &url.URL{Path: "/mcp"})
		orElse(&s.IssuerURL, &url.URL{Path: "/signin"})
		orElse(&s.KeepAlive, 15*time.Second)
		orElse(&s.Stall, time.Minute)
		orElse(&s.Await, 5*time.Second)
		orElse(&s.Revise, 30*time.Second)
		orElse(&s.Silence, time.Minute)
		orElse(&s.Drain, 30*time.Second)
		if s.Logger == nil {
			s.Logger = slog.Default()
		}
		s.handler = s.connect(s.cors(s.guard(problem.Core, s.Routes())))
	})
	return s.handler
}

// Serve serves requests from l until ctx ends, and then stops in two steps. For s.Linger it
// continues to serve, but reports not ready and closes each connection after its reply. Then
// it accepts no new requests, ends progress streams, waits up to s.Drain for all other
// requests, closes the remaining connections, and returns nil. It always closes l. CoreURL,
// VaultURL, MCPURL and IssuerURL must differ.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	handler := s.Handler()
	if err := s.checkURLs(); err != nil {
		return errors.Join(err, l.Close())
	}
	closing, stop := context.WithCancel(context.Background())
	defer stop()
	srv := &http.Server{
		Handler: handler,
		// Requests in flight continue after ctx ends. Progress streams end when closing ends.
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), closingKey{}, closing)
		},
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    s.Limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	if err := s.linger(failed); err != nil {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	stop()
	drain, cancel := context.WithTimeout(context.Background(), s.Drain)
	defer cancel()
	err := srv.Shutdown(drain)
	if errors.Is(err, context.DeadlineExceeded) {
		s.Logger.Warn("connections with unfinished requests were closed", "after", s.Drain)
		err = srv.Close()
	}
	<-failed
	return err
}

// linger lets the server serve for s.Linger while it reports not ready. It returns early if
// the server fails.
func (s *Server) linger(failed <-chan error) error {
	if s.Linger <= 0 {
		return nil
	}
	s.stopping.Store(true)
	s.Logger.Info("the server is no longer ready, and stops soon", "after", s.Linger)
	select {
	case err := <-failed:
		return err
	case <-time.After(s.Linger):
		return nil
	}
}

// closingKey is the context key of the context that closing returns.
type closingKey struct{}

// closing returns a context that ends when the server that handles the request of ctx begins
// to stop.
func closing(ctx context.Context) context.Context {
	if c, ok := ctx.Value(closingKey{}).(context.Context); ok {
		return c
	}
	return context.Background()
}
