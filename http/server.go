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

	"annals/commands/quota"
	"annals/events"
	"annals/events/disk"
	"annals/events/originals"
	"annals/http/problem"
	"annals/http/ratelimit"
	"annals/queries/accesslog"
)

// Server serves the core and the vault. Its fields are set before Handler or Serve is
// called and not changed after. If the comment of a field names a default, the zero
// value selects it.
type Server struct {
	// Verify returns the user of a bearer token and when it expires. Its errors
	// are of kind fault.Unauthenticated or fault.Unavailable.
	Verify    func(ctx context.Context, token string) (events.User, time.Time, error)
	Queries   Queries
	Commands  Commands
	Originals originals.Store
	// SignIn handles requests below IssuerURL, with their full paths. If it is nil,
	// there is no built-in issuer.
	SignIn http.Handler
	// SignInDocuments serves OAuth's metadata below /.well-known/ at the root of the
	// host. May be nil.
	SignInDocuments http.Handler
	// Reader returns the user who is signed in at the browser that requests a document;
	// false if none is. If it is nil, deep links need a token.
	Reader func(*http.Request) (events.User, bool, error)
	// MCP serves agents at MCPURL. It verifies tokens itself. If it is nil, there are no
	// agent tools.
	MCP http.Handler

	// Metrics serves GET /metrics, without a token. May be nil.
	Metrics http.Handler
	// AccessLog logs every request at level info instead of debug.
	AccessLog bool
	// Observe is called after every request. May be nil.
	Observe func(Answered)
	// Accessed is called for refused requests and for documents that were read. It
	// must not block. May be nil.
	Accessed func(accesslog.Access)
	// Address returns the address of a request's client. If it is nil, that is the
	// connection's address.
	Address func(*http.Request) string

	// CoreURL, VaultURL, MCPURL and IssuerURL are the URLs that clients use; the
	// defaults are the paths /core, /vault, /mcp and /signin. If one has a host of its
	// own, requests are also routed by host.
	CoreURL, VaultURL, MCPURL, IssuerURL *url.URL

	// LinkURL is the base of the URLs by which people open documents in a browser. If it
	// is nil, sources have no url.
	LinkURL *url.URL

	Limits Limits
	// UserExists reports whether there may be a user of this name. If it is nil, any
	// name is accepted.
	UserExists func(context.Context, events.Principal) (bool, error)
	// Quotas returns the limits of a user. If it is nil, there are none.
	Quotas func(context.Context, events.User) (quota.Limits, error)
	// Changes counts users' recent changes, for GET /usage. May be nil.
	Changes *quota.Changes
	// Reads charges users for the time of searches, questions and listings. If it is
	// nil, nothing is charged.
	Reads *ratelimit.Limiter
	// Brake delays replies to users who keep sending requests that are refused. May be
	// nil.
	Brake   *ratelimit.Brake
	Origins []string // of web pages that may send requests, such as "https://app.example"; "*" means all
	Version string   // of the program
	Disks   disk.Folders

	KeepAlive time.Duration // interval of comments in a progress stream; default 15 s
	Stall     time.Duration // a progress stream ends after this time without progress; default 60 s
	Await     time.Duration // the reply to a write is 202 if the read models take longer; default 5 s
	Revise    time.Duration // the reply to new content is 202 if its import takes longer; default 30 s
	Silence   time.Duration // a connection is closed after this time without a byte sent or received; default 60 s
	Linger    time.Duration // a stopping server reports not ready, but still serves for this time, so that load balancers notice; default 0
	Drain     time.Duration // a stopping server then waits this long for requests in flight; default 30 s

	Logger *slog.Logger // slog.Default if nil

	once     sync.Once
	handler  http.Handler
	stopping atomic.Bool // it still serves, but reports not ready
}

// Limits are the maximum sizes of requests. A zero field means the default in its comment.
type Limits struct {
	FileBytes     int64 // of one uploaded file; 1 GiB
	Files         int   // in one upload; 10,000
	UploadBytes   int64 // of a whole upload; 64 GiB
	MetadataBytes int64 // of file_metadata; 8 MiB
	JSONBytes     int64 // of any other body; 1 MiB
	QueryLength   int   // characters of a question; 100,000
	Tags          int   // in a search; 64
	PageSize      int   // entries in a page of a listing; 1,000
	HeaderBytes   int   // of a request's headers; 64 KiB
}

// WithDefaults returns l with the defaults in place of zeros.
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
	return l
}

// orElse sets *v to def if it is zero.
func orElse[T comparable](v *T, def T) {
	if *v == *new(T) {
		*v = def
	}
}

// Handler returns the server's routes. It sets the defaults of s.
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

// Serve serves requests from l until ctx ends. Then it continues for s.Linger, but reports
// that it is not ready and closes each connection after its reply. After that it accepts
// no new requests, ends progress streams, waits up to s.Drain for other requests, closes
// the remaining connections, and returns nil. It always closes l. The core, the vault, the
// agent tools and the sign-in must have different URLs.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	handler := s.Handler()
	if err := s.checkURLs(); err != nil {
		return errors.Join(err, l.Close())
	}
	closing, stop := context.WithCancel(context.Background())
	defer stop()
	srv := &http.Server{
		Handler: handler,
		// Requests in flight outlive ctx; only progress streams end with closing.
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

// linger keeps the server serving for Linger, while it reports that it is not ready.
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

// closingKey is the key of the context that ends when the server begins to stop.
type closingKey struct{}

// closing returns a context that ends when the server that handles ctx's request begins
// to stop.
func closing(ctx context.Context) context.Context {
	if c, ok := ctx.Value(closingKey{}).(context.Context); ok {
		return c
	}
	return context.Background()
}
