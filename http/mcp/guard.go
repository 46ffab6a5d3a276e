package mcp

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"annals/commands"
	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
)

// Headers of MCP.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// sessionless is the first protocol version that has no sessions.
const sessionless = "2026-07-28"

// call is a request to the protocol's server and its user.
type call struct {
	context.Context // ends when the client disconnects
	user            events.User
	batch           *batch
	address         string // of the client
	// idle is called while the call waits for a language model, see ratelimit.Read.Idle; nil if the call is free.
	idle func() (resume func())
}

type callKey struct{}

// ServeHTTP checks the origin, the token and the session id of a request, and then handles its
// calls.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.foreign(r) {
		refuse(w, http.StatusForbidden, "requests from this web page or to this host are not allowed; the operator allows them with --cors-origin and --mcp-url")
		return
	}
	token, err := httpd.Bearer(r)
	if err != nil {
		h.challenge(w, "", "sign in first: the document at resource_metadata in the WWW-Authenticate header says where to get a token")
		return
	}
	user, _, err := h.Verify(r.Context(), token)
	if err != nil {
		h.unverified(w, r, err)
		return
	}
	if !h.bounded(w, r) {
		// bounded has replied. The reply is sent when this function returns, so Refused delays
		// it.
		h.Brake.Refused(r.Context(), user.Principal, errBatch)
		return
	}
	switch session := r.Header.Get(sessionHeader); {
	case session != "" && !ownSession(session, user):
		// The protocol prescribes 404. Clients then start a new session.
		refuse(w, http.StatusNotFound, "you have no such session: start a new one with initialize")
		return
	case session == "" && r.Method == http.MethodPost && r.Header.Get(versionHeader) < sessionless:
		w.Header().Set(sessionHeader, newSession(user))
	}
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "*/*") // the meaning of a missing header in RFC 9110 12.5.1
	}
	ctx := commands.Through(r.Context(), "tools")
	ctx = context.WithValue(ctx, callKey{}, call{r.Context(), user, new(batch), h.address(r), nil})
	h.next.ServeHTTP(w, r.WithContext(ctx))
}

// foreign reports whether a web page of another site may have sent the request: its origin is
// not allowed, or it reached this machine by DNS rebinding.
func (h *Handler) foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && !slices.Contains(h.Origins, origin) && !slices.Contains(h.Origins, "*") {
		from, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(from.Scheme, h.URL.Scheme) || !strings.EqualFold(from.Host, h.URL.Host) {
			return true
		}
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && loopback(local.String()) && !loopback(r.Host) && !strings.EqualFold(r.Host, h.URL.Host)
}

// loopback reports whether a host, with or without a port, is localhost or a loopback address.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// newSession returns a new session id: a random part, and a digest of that part and the user's
// name. The server stores no sessions. Access depends only on the token of each request; the
// id only detects clients that confuse their users.
func newSession(user events.User) string {
	random := rand.Text()
	return random + "." + sessionDigest(random, user)
}

func ownSession(id string, user events.User) bool {
	random, digest, _ := strings.Cut(id, ".")
	return digest == sessionDigest(random, user)
}

func sessionDigest(random string, user events.User) string {
	sum := sha256.Sum256([]byte(random + " " + string(user.Principal)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// unverified replies to a request with an invalid token, or one that cannot be verified now.
func (h *Handler) unverified(w http.ResponseWriter, r *http.Request, err error) {
	if fault.Is(err, fault.Unauthenticated) {
		h.tokenRefused(r)
		h.challenge(w, "invalid_token", "the token is not valid here, or has expired")
		return
	}
	h.Logger.ErrorContext(r.Context(), "a token cannot be verified", "error", fault.Detail(err), "correlation_id", httpd.Correlation(r.Context()))
	w.Header().Set("Retry-After", "5")
	refuse(w, http.StatusServiceUnavailable, "your token cannot be verified at the moment")
}

// challenge sets the WWW-Authenticate header (RFC 6750) with the URL of the resource metadata.
// code is the OAuth error code, or "" if the request has no token.
func (h *Handler) challenge(w http.ResponseWriter, code, why string) {
	header := "Bearer "
	if code != "" {
		header += fmt.Sprintf("error=%q, error_description=%q, ", code, why)
	} else {
		code = "unauthenticated"
	}
	w.Header().Set("WWW-Authenticate", header+fmt.Sprintf("resource_metadata=%q", h.ResourceMetadata))
	send(w, http.StatusUnauthorized, map[string]string{"error": code, "error_description": why})
}

// refuse replies with a JSON-RPC error. The error has no id because it concerns the whole
// request, not a single call.
func refuse(w http.ResponseWriter, status int, why string) { refuseWith(w, status, -32000, why) }

func refuseWith(w http.ResponseWriter, status int, code int64, why string) {
	send(w, status, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why}})
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has disconnected
}
