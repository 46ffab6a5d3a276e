package http

import (
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
	page  bool            // a person asks, in a browser
	named []string        // things that its body names, recorded if it is refused
	turn  *ratelimit.Turn // charged to the user; nil if nothing is
}

// begin waits for the caller's turn to read, and charges the caller for the time of the
// reply; length is that of the question.
func (s *Server) begin(c *call, length int) (err error) {
	c.turn, err = s.Reads.Begin(c.Context(), c.user, length)
	return err
}

// metered is an endpoint without a body whose time is charged to the caller.
func metered(answer endpoint) endpoint {
	return func(s *Server, c *call) (any, error) {
		if err := s.begin(c, 0); err != nil {
			return nil, err
		}
		return answer(s, c)
	}
}

// path returns a variable of the route's path.
func (c *call) path(name string) string { return mux.Vars(c.Request)[name] }

// endpoint answers a call with a value to send as JSON, or with a reply that writes
// itself.
type endpoint func(s *Server, c *call) (any, error)

// byID returns the endpoint of what the id in the path names.
func byID(answer func(s *Server, c *call, id uuid.UUID) (any, error)) endpoint {
	return func(s *Server, c *call) (any, error) {
		id, err := c.pathID()
		if err != nil {
			return nil, err
		}
		return answer(s, c, id)
	}
}

// reply is an answer other than 200 with JSON.
type reply func(w http.ResponseWriter, r *http.Request) error

// withStatus replies with JSON.
func withStatus(d problem.Dialect, status int, value any) reply {
	return func(w http.ResponseWriter, r *http.Request) error { return d.Write(w, status, value) }
}

// tagged replies with a value and its ETag, as the vault does, or with 304 to a
// read by a client that has the value.
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

// serve returns a handler for an endpoint. It authenticates the user before it reads
// the body, and sends errors in the service's dialect.
func (s *Server) serve(d problem.Dialect, answer endpoint, does effect) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.answer(w, r, d, answer, does); err != nil {
			s.log(r, err)
			if w.Header().Get("Connection") != "close" {
				drain(w, r)
			}
			d.Fail(w, err)
		}
	})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, d problem.Dialect, answer endpoint, does effect) error {
	user, err := s.caller(r)
	if err == nil && user.ReadOnly && does != reads {
		err = commands.ErrReadOnly
	}
	if err != nil {
		s.denied(r, user, err)
		return err
	}
	return s.answerTo(w, r, user, d, answer)
}

// answerTo is answer for an authenticated user.
func (s *Server) answerTo(w http.ResponseWriter, r *http.Request, user events.User, d problem.Dialect, answer endpoint) error {
	c := &call{Request: r, user: user}
	defer func() { c.turn.End() }()
	value, err := answer(s, c)
	if err != nil {
		s.denied(r, user, err, c.named...)
		c.turn.End() // sending the error is not charged
		if !s.Brake.Refused(r.Context(), user.Principal, err) {
			w.Header().Set("Connection", "close")
		}
		return err
	}
	defer s.recordRead(w, c) // also if the client leaves before the end
	w = c.turn.Writer(w)
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

// caller returns whose request it is.
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

// Bearer returns the token of a request's Authorization header.
func Bearer(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return "", fault.Errorf(fault.Unauthenticated, "there must be one Authorization header")
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fault.Errorf(fault.Unauthenticated, "the Authorization header must carry a bearer token")
	}
	return token, nil
}

// log logs an error with details that clients must not see.
func (s *Server) log(r *http.Request, err error) {
	status, _ := problem.Describe(err)
	if status < 500 || r.Context().Err() != nil {
		s.Logger.DebugContext(r.Context(), "request refused", "path", r.URL.Path, "error", err, "correlation_id", Correlation(r.Context()))
		return
	}
	s.Logger.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err, "correlation_id", Correlation(r.Context()))
}

// guard recovers from a panic: it answers 500, or cuts the connection if a reply has
// begun.
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

// knowing makes an endpoint refuse unknown query parameters. Links to documents are
// exempt: mail programs and the like may add their own.
func knowing(d problem.Dialect, e route, known map[string][]string) endpoint {
	if e.path == deepLink {
		return e.answer
	}
	names := known[e.method+" "+e.path]
	return func(s *Server, c *call) (any, error) {
		if err := form.UnknownParameters(d, c.URL.Query(), names); err != nil {
			return nil, err
		}
		return e.answer(s, c)
	}
}
