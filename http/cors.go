package http

import (
	"net/http"
	"slices"
	"strings"
)

// cors allows requests from web pages of the origins in s.Origins. It does not allow
// credentials: tokens are sent in a header, never in a cookie.
func (s *Server) cors(next http.Handler) http.Handler {
	if len(s.Origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !slices.Contains(s.Origins, origin) && !slices.Contains(s.Origins, "*") {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Accept-Ranges, Allow, Content-Disposition, Content-Range, ETag, Link, Location, Mcp-Session-Id, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-Id, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id, Range, X-Request-Id")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}
