// Package http serves the two services over HTTP: the core, which imports,
// searches and answers, and the vault, which holds folders and documents;
// beside them the deep links, the health of the program, and the sign-in
// that is given to it. Inside this package http.X is always net/http.
//
// It writes through commands and reads through queries alone; it imports both,
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
	"annals/http/ratelimit"
	"annals/queries/accesslog"
)

// Server serves the core and the vault. Its fields are set before Handler or
// Serve is called and not changed after. Where a field says so, its zero value
// means the default named there.
type Server struct {
	// Verify tells whose a bearer token is and until when it holds. Its errors
	// are of kind fault.Unauthenticated or fault.Unavailable.
	Verify    func(ctx context.Context, token string) (events.User, time.Time, error)
	Queries   Queries
	Commands  Commands
	Originals originals.Store
	// SignIn answers below IssuerURL's path, which requests carry in full.
	// There is no built-in issuer where it is nil.
	SignIn http.Handler
	// SignInDocuments answers what OAuth has at the root of hosts, below
	// /.well-known/. Nothing does where it is nil.
	SignInDocuments http.Handler
	// Reader returns the user who is signed in in the browser that a request for a
	// document comes from; false for none. Links to documents open for programs
	// alone where it is nil.
	Reader func(*http.Request) (events.User, bool, error)
	// MCP answers agents at MCPURL, whoever asks: it verifies tokens itself.
	// There are no agent tools where it is nil.
	MCP http.Handler

	// Metrics answers GET /metrics, for everyone. Nothing does where it is nil.
	Metrics http.Handler
	// AccessLog logs every request at level info, and not at debug alone.
	AccessLog bool
	// Observe is told of every request once it is answered. May be nil.
	Observe func(Answered)
	// Accessed is told of refusals, and of documents that were read. It is not
	// waited for. May be nil.
	Accessed func(accesslog.Access)
	// Address returns the address of a request's client: that of its connection
	// if nil.
	Address func(*http.Request) string

	// CoreURL, VaultURL, MCPURL and IssuerURL are what clients call. Without
	// them the paths are /core, /vault, /mcp and /signin. Where one has another
	// host than the rest, requests are routed by host as well.
	CoreURL, VaultURL, MCPURL, IssuerURL *url.URL

	// LinkURL is the root of the addresses by which people open documents in a
	// browser. Sources have none where it is nil.
	LinkURL *url.URL

	Limits Limits
	// UserExists reports whether a principal may be a user's, as far as that
	// can be known. All are where it is nil.
	UserExists func(context.Context, events.Principal) (bool, error)
	// Quotas returns the limits of a user. There are none where it is nil.
	Quotas func(context.Context, events.User) (quota.Limits, error)
	// Changes is what users have changed lately, for GET /usage. May be nil.
	Changes *quota.Changes
	// Reads charges users for the time of searches, questions and listings.
	// Nothing is charged where it is nil.
	Reads *ratelimit.Limiter
	// Brake slows down users who go on after refusals. Nobody is slowed down
	// where it is nil.
	Brake   *ratelimit.Brake
	Origins []string // whose web pages may call, as "https://app.example"; "*" is everyone's
	Version string   // of the program
	Disks   disk.Folders

	KeepAlive time.Duration // between comments in a progress stream; 15 s
	Stall     time.Duration // without progress, until a progress stream ends; 60 s
	Await     time.Duration // for a reader to see its own write, until 202; 5 s
	Revise    time.Duration // for a document's new content to be read, until 202; 30 s
	Silence   time.Duration // without a byte from or to a client, until its connection is cut; 60 s
	Linger    time.Duration // for whoever sends requests to go elsewhere, once the server is told to stop; none
	Drain     time.Duration // for requests in flight after that; 30 s

	Logger *slog.Logger // slog.Default if nil

	once     sync.Once
	handler  http.Handler
	stopping atomic.Bool // told to stop: it serves, and says that it is not ready
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

// orElse sets *v to def where it is zero.
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
		s.handler = s.connect(s.cors(s.guard(coreDialect, s.Routes())))
	})
	return s.handler
}

// Serve answers requests from l until ctx ends. For as long as s.Linger it then
// goes on and says that it is not ready, and that connections are not to be
// used again. After that it takes no new requests,
// ends the progress streams, lets the other requests finish for as long as
// s.Drain, cuts off the rest, and returns nil. It closes l. The core, the vault,
// the agent tools and the sign-in must have URLs of their own.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	handler := s.Handler()
	if err := s.apart(); err != nil {
		return errors.Join(err, l.Close())
	}
	closing, stop := context.WithCancel(context.Background())
	defer stop()
	srv := &http.Server{
		Handler: handler,
		// Requests in flight outlive ctx; only progress streams heed closing.
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

// linger serves for a while as one that is about to go.
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

// closingKey finds the context that ends when the server begins to stop.
type closingKey struct{}

// closing returns the context that ends when the server that answers ctx's
// request begins to stop.
func closing(ctx context.Context) context.Context {
	if c, ok := ctx.Value(closingKey{}).(context.Context); ok {
		return c
	}
	return context.Background()
}
