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
// called and not changed after. If a field names a default, its zero value means that.
type Server struct {
	// Verify returns the user of a bearer token and when it expires. Its errors
	// are of kind fault.Unauthenticated or fault.Unavailable.
	Verify    func(ctx context.Context, token string) (events.User, time.Time, error)
	Queries   Queries
	Commands  Commands
	Originals originals.Store
	// SignIn answers below IssuerURL's path, which requests carry in full.
	// There is no built-in issuer if it is nil.
	SignIn http.Handler
	// SignInDocuments answers what OAuth has at the root of hosts, below
	// /.well-known/. Nothing does if it is nil.
	SignInDocuments http.Handler
	// Reader returns the user signed in at the browser that requests a document; false
	// for none. If it is nil, links to documents need a token.
	Reader func(*http.Request) (events.User, bool, error)
	// MCP answers agents at MCPURL. It verifies tokens itself.
	// There are no agent tools if it is nil.
	MCP http.Handler

	// Metrics answers GET /metrics, for everyone. Nothing does if it is nil.
	Metrics http.Handler
	// AccessLog logs every request at level info, and not at debug alone.
	AccessLog bool
	// Observe is called after every request. May be nil.
	Observe func(Answered)
	// Accessed is called for refused requests and for documents that were read. It
	// must not block. May be nil.
	Accessed func(accesslog.Access)
	// Address returns the address of a request's client: that of its connection
	// if nil.
	Address func(*http.Request) string

	// CoreURL, VaultURL, MCPURL and IssuerURL are what clients call. Without them the
	// paths are /core, /vault, /mcp and /signin. If one has a different host, requests
	// are also routed by host.
	CoreURL, VaultURL, MCPURL, IssuerURL *url.URL

	// LinkURL is the root of the addresses by which people open documents in a
	// browser. Sources have none if it is nil.
	LinkURL *url.URL

	Limits Limits
	// UserExists reports whether a user of this name may exist. If it is nil, all may.
	UserExists func(context.Context, events.Principal) (bool, error)
	// Quotas returns the limits of a user. There are none if it is nil.
	Quotas func(context.Context, events.User) (quota.Limits, error)
	// Changes counts users' recent changes, for GET /usage. May be nil.
	Changes *quota.Changes
	// Reads charges users for the time of searches, questions and listings.
	// Nothing is charged if it is nil.
	Reads *ratelimit.Limiter
	// Brake slows down users who continue after refusals. May be nil.
	Brake   *ratelimit.Brake
	Origins []string // whose web pages may call, as "https://app.example"; "*" is everyone's
	Version string   // of the program
	Disks   disk.Folders

	KeepAlive time.Duration // between comments in a progress stream; 15 s
	Stall     time.Duration // without progress, until a progress stream ends; 60 s
	Await     time.Duration // for a write to show in all read models, until 202; 5 s
	Revise    time.Duration // for new content to be imported, until 202; 30 s
	Silence   time.Duration // without a byte from or to a client, until its connection is closed; 60 s
	Linger    time.Duration // how long a stopping server still serves, not ready, so load balancers leave it; 0
	Drain     time.Duration // for requests in flight to end after that; 30 s

	Logger *slog.Logger // slog.Default if nil

	once     sync.Once
	handler  http.Handler
	stopping atomic.Bool // it still serves, but reports not ready
}

// Limits bound what one request may carry. A zero field means its default.
type Limits struct {
	FileBytes     int64 // of one uploaded file: 1 GiB
	Files         int   // in one upload: 10,000
	UploadBytes   int64 // of a whole upload: 64 GiB
	MetadataBytes int64 // of file_metadata: 8 MiB
	JSONBytes     int64 // of any other body: 1 MiB
	QueryLength   int   // characters of a question: 100,000
	Tags          int   // in a search: 64
	PageSize      int   // entries of a listing's page: 1,000
	HeaderBytes   int   // of a request's headers: 64 KiB
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

// Serve answers requests from l until ctx ends. Then it serves on for s.Linger, reports
// not ready, and closes connections after each reply. After that it takes no new
// requests, ends progress streams, waits up to s.Drain for other requests, cuts off the
// rest, and returns nil. It closes l. The core, the vault, the agent tools and the
// sign-in must have different URLs.
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
		s.Logger.Warn("requests were cut off at the end", "after", s.Drain)
		err = srv.Close()
	}
	<-failed
	return err
}

// linger serves on, not ready, for Linger.
func (s *Server) linger(failed <-chan error) error {
	if s.Linger <= 0 {
		return nil
	}
	s.stopping.Store(true)
	s.Logger.Info("stops soon, and is not ready any more", "after", s.Linger)
	select {
	case err := <-failed:
		return err
	case <-time.After(s.Linger):
		return nil
	}
}

// closingKey is the key of the context that ends when the server begins to stop.
type closingKey struct{}

// closing returns the context that ends when the server that answers ctx's
// request begins to stop.
func closing(ctx context.Context) context.Context {
	if c, ok := ctx.Value(closingKey{}).(context.Context); ok {
		return c
	}
	return context.Background()
}
