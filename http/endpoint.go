package http

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"annals/commands"
	"annals/events"
	"annals/events/fault"
	"annals/http/conditional"
	"annals/http/form"
	"annals/http/problem"
	"annals/http/ratelimit"

	"github.com/google/uuid"
	"github.com/gorilla/mux"
)

// call is one request of an authenticated user.
type call struct {
	*http.Request
	user  events.User
	page  bool            // the request comes from a browser
	named []string        // streams of the ids in the body, for the access log if the call is denied
	read  *ratelimit.Read // the time that is charged to the user; nil for free calls
}

// begin waits for one of the caller's slots for concurrent reads, and charges the caller for
// the time until the reply. length is the length of the question in bytes.
func (s *Server) begin(c *call, length int) (err error) {
	c.read, err = s.Reads.Begin(c.Context(), c.user, length)
	return err
}

// metered returns an endpoint for requests without a body, of which the duration is charged to
// the caller's limit on read time.
func metered(handle endpoint) endpoint {
	return func(s *Server, c *call) (any, error) {
		if err := s.begin(c, 0); err != nil {
			return nil, err
		}
		return handle(s, c)
	}
}

// path returns a variable of the route's path.
func (c *call) path(name string) string { return mux.Vars(c.Request)[name] }

// endpoint handles a call. It returns a value to send as JSON, or a reply.
type endpoint func(s *Server, c *call) (any, error)

// byID returns an endpoint that passes the id in the path to handle.
func byID(handle func(s *Server, c *call, id uuid.UUID) (any, error)) endpoint {
	return func(s *Server, c *call) (any, error) {
		id, err := c.pathID()
		if err != nil {
			return nil, err
		}
		return handle(s, c, id)
	}
}

// reply writes a response. An endpoint returns one if the response is not status 200 with
// JSON.
type reply func(w http.ResponseWriter, r *http.Request) error

// withStatus replies with a status and a value as JSON.
func withStatus(d problem.Dialect, status int, value any) reply {
	return func(w http.ResponseWriter, r *http.Request) error { return d.Write(w, status, value) }
}

// tagged replies with a value as JSON, in the format of the vault, and with its ETag. It
// replies 304 if the request is a GET or HEAD and its If-None-Match contains that ETag.
func tagged(status int, tag conditional.Tag, value any) reply {
	return func(w http.ResponseWriter, r *http.Request) error {
		body, err := problem.Encode(value)
		if err != nil {
			return err
		}
		if conditional.Unchanged(w, r, tag(body)) {
			return nil
		}
		problem.Vault.Send(w, status, body)
		return nil
	}
}

// serve returns a handler for an endpoint. It authenticates the user before it reads the body,
// and sends errors in the format of the dialect.
func (s *Server) serve(d problem.Dialect, handle endpoint, does effect) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.handle(w, r, d, handle, does); err != nil {
			s.log(r, err)
			if w.Header().Get("Connection") != "close" {
				drain(w, r)
			}
			d.Fail(w, err)
		}
	})
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request, d problem.Dialect, handle endpoint, does effect) error {
	user, err := s.caller(r)
	if err == nil && user.ReadOnly && does != reads {
		err = commands.ErrReadOnly
	}
	if err != nil {
		s.denied(r, user, err)
		return err
	}
	return s.handleFor(w, r, user, d, handle)
}

// handleFor handles the request of an authenticated user.
func (s *Server) handleFor(w http.ResponseWriter, r *http.Request, user events.User, d problem.Dialect, handle endpoint) error {
	c := &call{Request: r, user: user}
	defer func() { c.read.End() }()
	value, err := handle(s, c)
	if err != nil {
		s.refused(w, c, err)
		return err
	}
	defer s.recordRead(w, c) // record the read even if the client disconnects meanwhile
	w = c.read.Writer(w)
	write, ok := value.(reply)
	switch {
	case ok:
	case d.Tagged && conditional.IsRead(r):
		write = tagged(http.StatusOK, conditional.Weak, value)
	default:
		write = withStatus(d, http.StatusOK, value)
	}
	return write(w, r)
}

// refused records that a call failed, ends its charge, and delays the reply if the user keeps
// sending calls that are refused.
func (s *Server) refused(w http.ResponseWriter, c *call, err error) {
	s.denied(c.Request, c.user, err, c.named...)
	c.read.End() // the time for sending the error is not charged
	if !s.Brake.Refused(c.Context(), c.user.Principal, err) {
		w.Header().Set("Connection", "close")
	}
}

// caller authenticates the user of a request.
func (s *Server) caller(r *http.Request) (events.User, error) {
	token, err := Bearer(r)
	if err != nil {
		return events.User{}, err
	}
	user, _, err := s.Verify(r.Context(), token)
	if err == nil {
		NoteUser(r.Context(), user)
	}
	return user, err
}

// Bearer returns the bearer token in the Authorization header of a request.
func Bearer(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", fault.Errorf(fault.Unauthenticated, "send exactly one Authorization header")
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fault.Errorf(fault.Unauthenticated, "the Authorization header must carry a bearer token")
	}
	return token, nil
}

// log logs an error of a request with the details that are hidden from clients.
func (s *Server) log(r *http.Request, err error) {
	status, _ := problem.Describe(err)
	if status < 500 || r.Context().Err() != nil {
		s.Logger.DebugContext(r.Context(), "request refused", "path", r.URL.Path, "error", err, "correlation_id", Correlation(r.Context()))
		return
	}
	level := slog.LevelError
	if status == http.StatusServiceUnavailable { // the server is busy, or something that it needs is unreachable: the client should try again
		level = slog.LevelWarn
	}
	s.Logger.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "error", err, "correlation_id", Correlation(r.Context()))
}

// guard recovers from a panic of next. It replies 500, or closes the connection if a part of
// the reply was already sent.
func (s *Server) guard(d problem.Dialect, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.Logger.ErrorContext(r.Context(), "request panicked", "method", r.Method, "path", r.URL.Path,
				"panic", v, "stack", string(debug.Stack()), "correlation_id", Correlation(r.Context()))
			if out, ok := w.(*response); !ok || out.status != 0 {
				panic(http.ErrAbortHandler)
			}
			d.Fail(w, &problem.Error{Status: http.StatusInternalServerError, Text: http.StatusText(http.StatusInternalServerError)})
		}()
		next.ServeHTTP(w, r)
	})
}

// strict returns a route's endpoint, wrapped so that it refuses unknown query parameters. Only
// deep links accept them, because mail programs and other software add their own parameters to
// links.
func strict(d problem.Dialect, e route, known map[string][]string) endpoint {
	if e.path == deepLink {
		return e.handle
	}
	names := known[e.method+" "+e.path]
	return func(s *Server, c *call) (any, error) {
		if err := form.UnknownParameters(d, c.URL.Query(), names); err != nil {
			return nil, err
		}
		return e.handle(s, c)
	}
}
