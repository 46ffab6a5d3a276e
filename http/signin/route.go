package signin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"annals/events/fault"
)

// awayPause is when another try is worth while if the accounts cannot be read.
const awayPause = 5 * time.Second

// route is what answers a path.
type route struct {
	get, post http.HandlerFunc
	open      bool // to the web pages of every origin
}

func (e route) serve(w http.ResponseWriter, r *http.Request) {
	allow := "POST"
	if e.get != nil {
		allow = "GET, HEAD"
		if e.post != nil {
			allow += ", POST"
		}
	}
	if e.open && allowAll(w, r, allow) {
		return
	}
	switch {
	case e.get != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		e.get(w, r)
	case e.post != nil && r.Method == http.MethodPost:
		e.post(w, r)
	default:
		w.Header().Set("Allow", allow)
		http.Error(w, "this address takes "+allow, http.StatusMethodNotAllowed)
	}
}

// allowAll lets the web pages of every origin call: nothing here goes by a
// cookie. It reports whether the request only asked for that.
func allowAll(w http.ResponseWriter, r *http.Request, methods string) (answered bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// answer makes a handler of an endpoint that programs call. Its errors are told
// as RFC 6749 §5.2 has it.
func (p *Provider) answer(endpoint func(http.ResponseWriter, *http.Request) (status int, body any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.sweep(r.Context())
		w.Header().Set("Cache-Control", "no-store")
		status, body, err := endpoint(w, r)
		if err != nil {
			refused := p.refusalOf(r.Context(), err)
			refused.head(w)
			status, body = refused.status, refused
		}
		writeJSON(w, status, body)
	}
}

// public makes a handler of a document that everyone may read.
func (p *Provider) public(read func(context.Context) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := read(r.Context())
		if err != nil {
			p.logger.ErrorContext(r.Context(), "the sign-in service cannot answer", "path", r.URL.Path, "error", err)
			(&refusal{wait: awayPause}).head(w)
			http.Error(w, "the sign-in service cannot answer at the moment", http.StatusServiceUnavailable)
			return
		}
		// Short enough for a new key to be seen soon, long enough to spare calls.
		w.Header().Set("Cache-Control", "public, max-age=300")
		writeJSON(w, http.StatusOK, value)
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	if value == nil {
		w.WriteHeader(status)
		return
	}
	body, err := json.Marshal(value)
	if err != nil {
		panic(err) // they are all of our own making
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body)
}

// redirect sends a browser on, with a GET.
func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// refusalOf returns what a program is told of an error, and tells operators of
// those that are faults of this service.
func (p *Provider) refusalOf(ctx context.Context, err error) *refusal {
	var known *refusal
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() == nil {
		p.logger.ErrorContext(ctx, "a sign-in failed", "error", err)
	}
	if fault.Is(err, fault.Unavailable) {
		return &refusal{Code: "temporarily_unavailable", Description: "the sign-in service cannot answer at the moment", status: http.StatusServiceUnavailable, wait: awayPause}
	}
	return &refusal{Code: "server_error", Description: "the sign-in service failed", status: http.StatusInternalServerError}
}
