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

// connect wraps every request: it sets the request id, closes the connection if no bytes are
// transferred for longer than Silence, and logs the outcome.
func (s *Server) connect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := requestID(r.Header.Get("X-Request-Id"))
		w.Header().Set("X-Request-Id", id)
		// Without these headers a browser could run scripts in stored content. Pages and
		// files set their own policies.
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if s.stopping.Load() {
			w.Header().Set("Connection", "close") // the next request goes to another node
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
		orElse(&out.status, http.StatusOK) // net/http sends 200 if a handler sets no status
	})
}

// logRequest logs the outcome of a request. At level info it omits everything that may be
// private or very long.
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

// requestInfo is what the log line of a request contains besides the response.
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

// NoteUser sets the user in the log line of the request that ctx belongs to.
func NoteUser(ctx context.Context, user events.User) {
	if about, ok := ctx.Value(requestKey{}).(*requestInfo); ok {
		about.mu.Lock()
		about.user = user
		about.mu.Unlock()
	}
}

// requestID returns the request id that the client sent, if it is up to 128 harmless
// characters; it is written to logs and events. Otherwise it returns a new id.
func requestID(given string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/+="
	if given != "" && len(given) <= 128 && strings.Trim(given, plain) == "" {
		return given
	}
	return uuid.NewString()
}

// response counts the bytes written, and extends the write deadline before every write. A
// download may therefore take hours, but it must not stall.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	silence time.Duration
	status  int
	written int64
	route   string // template of the matching route; "" for none
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

// allow extends the write deadline. It ignores errors, because the writers in tests have no
// connection.
func (w *response) allow() { _ = w.control.SetWriteDeadline(time.Now().Add(w.silence)) }

// Unwrap lets an http.ResponseController find the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// body extends the read deadline whenever bytes of an upload arrive.
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
		// From now on net/http reads ahead to detect a disconnect of the client. It would
		// mistake an expired deadline for a disconnect.
		_ = b.out.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// drain reads up to 32 MiB of the rest of a request's body before an early reply, because many
// clients read the reply only after they have sent everything. It does nothing for clients
// that wait for "100 Continue", because they have sent no body yet.
func drain(w http.ResponseWriter, r *http.Request) {
	const limit, timeout = 32 << 20, 5 * time.Second
	if r.Header.Get("Expect") != "" || r.Body == nil || r.Body == http.NoBody {
		return
	}
	if b, ok := r.Body.(*body); ok {
		if b.err != nil {
			return
		}
		b.touched = time.Now().Add(timeout) // keeps Read from extending the deadline set below
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
	_, _ = io.CopyN(io.Discard, r.Body, limit)
}
