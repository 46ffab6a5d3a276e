package http

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"annals/events"

	"github.com/google/uuid"
)

// connect wraps every request: it gives it an id, watches that its bytes keep
// moving, and tells the access log how it ended.
func (s *Server) connect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := requestID(r.Header.Get("X-Request-Id"))
		w.Header().Set("X-Request-Id", id)
		// What is no page of its own is not shown as one, whoever wrote what is in
		// it; pages and files set policies of their own.
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if s.stopping.Load() {
			w.Header().Set("Connection", "close") // the next request goes elsewhere
		}
		out := &response{ResponseWriter: w, control: http.NewResponseController(w), silence: s.Silence}
		about := &requestInfo{id: id}
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, about))
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &body{ReadCloser: r.Body, out: out}
		}
		defer func() {
			s.observe(out, r, time.Since(began))
			s.logRequest(out, r, about, time.Since(began))
		}()
		next.ServeHTTP(out, r)
		orElse(&out.status, http.StatusOK) // which net/http sends then
	})
}

// logRequest logs how a request was answered. At level info nothing is logged
// that is of any length a client likes, or that may be private.
func (s *Server) logRequest(out *response, r *http.Request, about *requestInfo, took time.Duration) {
	level := slog.LevelDebug
	if s.AccessLog {
		level = slog.LevelInfo
	}
	if !s.Logger.Enabled(r.Context(), level) {
		return
	}
	a, user := answered(out, r, took), about.signedIn()
	attrs := []slog.Attr{
		slog.String("user", string(user.Principal)), slog.String("method", a.Method), slog.String("route", a.Route), slog.Int("status", a.Status),
		slog.Int64("bytes", out.written), slog.Duration("took", took), slog.String("correlation_id", about.id),
	}
	if user.Token != "" {
		attrs = append(attrs, slog.String("token", user.Token))
	}
	if s.Logger.Enabled(r.Context(), slog.LevelDebug) {
		attrs = append(attrs, slog.String("path", r.URL.Path))
	}
	s.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}

type requestKey struct{}

// requestInfo is what is known of a request beside what it says.
type requestInfo struct {
	id string

	mu   sync.Mutex
	user events.User
}

func (a *requestInfo) signedIn() events.User {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.user
}

// Correlation returns the id of the request that ctx belongs to.
func Correlation(ctx context.Context) string {
	if about, ok := ctx.Value(requestKey{}).(*requestInfo); ok {
		return about.id
	}
	return ""
}

// NoteUser notes who makes the request that ctx belongs to, for its log.
func NoteUser(ctx context.Context, user events.User) {
	if about, ok := ctx.Value(requestKey{}).(*requestInfo); ok {
		about.mu.Lock()
		about.user = user
		about.mu.Unlock()
	}
}

// requestID returns the client's own id for a request where it is a plain
// token, since it goes into logs and events, and a new one otherwise.
func requestID(given string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+="
	if given != "" && len(given) <= 128 && strings.Trim(given, plain) == "" {
		return given
	}
	return uuid.NewString()
}

// response remembers what was written, and gives every write the time that
// silence allows: a whole download may take hours, a client that takes nothing
// may not.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	silence time.Duration
	status  int
	written int64
	route   string // template of the route that answers; "" for none
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.allow()
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.allow()
	n, err := w.ResponseWriter.Write(p)
	w.written += int64(n)
	return n, err
}

// allow is best effort: writers of tests have no connection.
func (w *response) allow() { _ = w.control.SetWriteDeadline(time.Now().Add(w.silence)) }

// Unwrap lets an http.ResponseController find the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// body gives every read of an upload the time that silence allows.
type body struct {
	io.ReadCloser
	out     *response
	touched time.Time
	err     error // of the last read
}

func (b *body) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.touched) > time.Second {
		b.touched = now
		_ = b.out.control.SetReadDeadline(now.Add(b.out.silence))
	}
	n, err := b.ReadCloser.Read(p)
	b.err = err
	if err == io.EOF {
		// From here on net/http reads ahead to notice that the client left;
		// an old deadline would look like that.
		_ = b.out.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// drain reads what is left of a body whose request is answered early, within
// bounds: many clients read no reply before they have sent everything. One
// that waits for "100 Continue" sends nothing and is not asked to.
func drain(w http.ResponseWriter, r *http.Request) {
	const bytes, patience = 32 << 20, 5 * time.Second
	if r.Header.Get("Expect") != "" || r.Body == nil || r.Body == http.NoBody {
		return
	}
	if b, ok := r.Body.(*body); ok {
		if b.err != nil {
			return
		}
		b.touched = time.Now().Add(patience) // so that the deadline below holds
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
	_, _ = io.CopyN(io.Discard, r.Body, bytes)
}
