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

// Headers of the protocol.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// sessionless is the first version of the protocol that knows no sessions.
const sessionless = "2026-07-28"

// call is what is known of the request that an agent's call came with.
type call struct {
	context.Context // ends when the client leaves
	user            events.User
}

type callKey struct{}

// ServeHTTP lets requests of signed-in users through, each with a token and,
// if any, a session id of that user.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.foreign(r) {
		refuse(w, http.StatusForbidden, "this address or web page may not call the tools; see --mcp-url and --cors-origin")
		return
	}
	token, err := httpd.Bearer(r)
	var user events.User
	if err == nil {
		user, _, err = h.Verify(r.Context(), token)
	}
	if err != nil {
		h.unauthenticated(w, r, err)
		return
	}
	switch session := r.Header.Get(sessionHeader); {
	case session != "" && !ownSession(session, user):
		// The standard's answer, upon which clients begin a new one.
		refuse(w, http.StatusNotFound, "there is no such session of yours: begin a new one by initialize")
		return
	case session == "" && r.Method == http.MethodPost && r.Header.Get(versionHeader) < sessionless:
		w.Header().Set(sessionHeader, newSession(user))
	}
	if r.Header.Get("Accept") == "" {
		r.Header.Set("Accept", "*/*") // as RFC 9110 12.5.1 has it
	}
	ctx := commands.Through(r.Context(), "tools")
	ctx = context.WithValue(ctx, callKey{}, call{r.Context(), user})
	h.next.ServeHTTP(w, r.WithContext(ctx))
}

// foreign reports whether a web page that has no business here may have sent a
// request: from another origin, or through a name that it has made to mean
// this machine.
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

// loopback reports whether a host, with or without a port, means the machine
// itself.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// newSession returns the id of a new session: a random part, and a digest of
// it with the user's name. Nothing is kept of it: each request proves by its
// token what it may do, and the id, that the client has not mixed up its users.
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

// unauthenticated answers a request whose user is not known, and says where
// its client can sign in.
func (h *Handler) unauthenticated(w http.ResponseWriter, r *http.Request, err error) {
	if !fault.Is(err, fault.Unauthenticated) {
		h.Logger.ErrorContext(r.Context(), "a token cannot be verified", "error", fault.Detail(err), "correlation_id", httpd.Correlation(r.Context()))
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, "who you are cannot be told at the moment")
		return
	}
	challenge := fmt.Sprintf("Bearer resource_metadata=%q", h.ResourceMetadata)
	body := map[string]string{"error": "unauthenticated", "error_description": "sign in first: resource_metadata says where"}
	if r.Header.Get("Authorization") != "" {
		body = map[string]string{"error": "invalid_token", "error_description": "the token is not valid here, or has expired"}
		challenge = fmt.Sprintf("Bearer error=%q, error_description=%q, resource_metadata=%q", body["error"], body["error_description"], h.ResourceMetadata)
	}
	w.Header().Set("WWW-Authenticate", challenge)
	send(w, http.StatusUnauthorized, body)
}

// refuse answers with an error of the protocol that belongs to no call.
func refuse(w http.ResponseWriter, status int, why string) {
	send(w, status, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32000, "message": why}})
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
