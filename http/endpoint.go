package http

import (
	"net/http"
	"runtime/debug"
	"strings"

	"annals/commands"
	"annals/events"
	"annals/events/fault"
	"annals/http/ratelimit"

	"github.com/gorilla/mux"
)

// call is one request of a known user.
type call struct {
	*http.Request
	user  events.User
	page  bool            // a person asks, in a browser
	named []string        // things that its body names, for the record of a refusal
	turn  *ratelimit.Turn // of what is charged to the user; nil for none
}

// begin waits for the caller's turn to read, and charges him for the time that
// the answer takes; length is that of his question.
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

// endpoint answers a call with a value to be sent as JSON, or with a reply
// that writes itself.
type endpoint func(s *Server, c *call) (any, error)

// reply is an answer other than 200 with JSON.
type reply func(w http.ResponseWriter, r *http.Request) error

// withStatus answers with JSON under another status than 200.
func (d dialect) withStatus(status int, value any) reply {
	return func(w http.ResponseWriter, r *http.Request) error { return d.write(w, status, value) }
}

// serve makes a handler of an endpoint: it knows the user before anything of
// the body is read, and reports every fault in the service's dialect.
func (s *Server) serve(d dialect, answer endpoint, does effect) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.answer(w, r, d, answer, does); err != nil {
			s.log(r, err)
			if w.Header().Get("Connection") != "close" {
				drain(w, r)
			}
			d.fail(w, err)
		}
	})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect, answer endpoint, does effect) error {
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

// answerTo is answer to a user who is known.
func (s *Server) answerTo(w http.ResponseWriter, r *http.Request, user events.User, d dialect, answer endpoint) error {
	c := &call{Request: r, user: user}
	defer func() { c.turn.End() }()
	value, err := answer(s, c)
	if err != nil {
		s.denied(r, user, err, c.named...)
		c.turn.End() // what follows is no work
		if !s.Brake.Refused(r.Context(), user.Principal, err) {
			w.Header().Set("Connection", "close")
		}
		return err
	}
	defer s.recordRead(w, c) // also of what the client leaves before its end
	w = c.turn.Writer(w)
	write, ok := value.(reply)
	switch {
	case ok:
	case d.reads && isRead(r):
		write = d.tagged(http.StatusOK, weakTag, value)
	default:
		write = d.withStatus(http.StatusOK, value)
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

// log tells operators what clients are not told.
func (s *Server) log(r *http.Request, err error) {
	status, _ := describe(err)
	if status < 500 || r.Context().Err() != nil {
		s.Logger.DebugContext(r.Context(), "request refused", "path", r.URL.Path, "error", err, "correlation_id", Correlation(r.Context()))
		return
	}
	s.Logger.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "error", err, "correlation_id", Correlation(r.Context()))
}

// guard answers 500 for a panic below it, or cuts the connection where a reply
// has begun, and goes on serving.
func (s *Server) guard(d dialect, next http.Handler) http.Handler {
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
			d.fail(w, &statusError{http.StatusInternalServerError, http.StatusText(http.StatusInternalServerError)})
		}()
		next.ServeHTTP(w, r)
	})
}
