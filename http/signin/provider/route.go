package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"annals/events/fault"
	"annals/http/signin/provider/oauth"
)

// unavailableRetry is the Retry-After header of a response if the account store cannot be
// reached.
const unavailableRetry = 5 * time.Second

// route holds the handlers of a path.
type route struct {
	get, post   http.HandlerFunc // nil if the method is not allowed
	crossOrigin bool             // web pages of every origin may send requests
}

func (e route) serve(w http.ResponseWriter, r *http.Request) {
	allow := "POST"
	if e.get != nil {
		allow = "GET, HEAD"
		if e.post != nil {
			allow += ", POST"
		}
	}
	if e.crossOrigin && allowCrossOrigin(w, r, allow) {
		return
	}
	switch {
	case e.get != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		e.get(w, r)
	case e.post != nil && r.Method == http.MethodPost:
		e.post(w, r)
	default:
		w.Header().Set("Allow", allow)
		http.Error(w, "this path allows only "+allow, http.StatusMethodNotAllowed)
	}
}

// allowCrossOrigin allows requests from web pages of every origin. That is safe for the
// endpoints that use it, because they use no cookies. If the request is a preflight request,
// it replies and returns true.
func allowCrossOrigin(w http.ResponseWriter, r *http.Request, methods string) (done bool) {
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

// endpoint returns the HTTP handler of an endpoint for clients. Errors have the format of RFC
// 6749 §5.2.
func (p *Provider) endpoint(endpoint func(http.ResponseWriter, *http.Request) (status int, body any, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.sweep(r.Context())
		w.Header().Set("Cache-Control", "no-store")
		status, body, err := endpoint(w, r)
		if err != nil {
			reply := p.oauthError(r.Context(), err)
			reply.WriteHeaders(w)
			status, body = reply.Status, reply
		}
		writeJSON(w, status, body)
	}
}

// public returns the HTTP handler of a public document, which read returns.
func (p *Provider) public(read func(context.Context) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := read(r.Context())
		if err != nil {
			p.logger.ErrorContext(r.Context(), "a public document of the sign-in service is unavailable", "path", r.URL.Path, "error", err)
			(&oauth.Error{Wait: unavailableRetry}).WriteHeaders(w)
			http.Error(w, "the sign-in service is temporarily unavailable; try again later", http.StatusServiceUnavailable)
			return
		}
		// The time is short, so that clients soon use a new signing key.
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
		panic(err) // unreachable, because all of these values can be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body)
}

// redirect redirects the browser to another page. The browser requests that page with GET,
// even after a form.
func redirect(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// oauthError returns err as clients see it. It logs internal errors.
func (p *Provider) oauthError(ctx context.Context, err error) *oauth.Error {
	var known *oauth.Error
	if errors.As(err, &known) {
		return known
	}
	if ctx.Err() == nil {
		p.logger.ErrorContext(ctx, "a request to the sign-in service failed", "error", err)
	}
	if fault.Is(err, fault.Unavailable) {
		return &oauth.Error{Code: "temporarily_unavailable", Description: "the sign-in service is temporarily unavailable", Status: http.StatusServiceUnavailable, Wait: unavailableRetry}
	}
	return &oauth.Error{Code: "server_error", Description: "the sign-in service failed", Status: http.StatusInternalServerError}
}
