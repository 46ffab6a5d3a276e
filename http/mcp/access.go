package mcp

import (
	"net/http"

	"annals/events"
	"annals/events/fault"
	httpd "annals/http"
	"annals/queries/accesslog"

	"github.com/google/uuid"
)

// access passes an access by a tool call to h.Accessed, if it is set.
func (h *Handler) access(c call, a accesslog.Access) {
	if h.Accessed == nil {
		return
	}
	a.User, a.Via, a.Correlation, a.Address = c.user, c.user.Via("tools"), httpd.Correlation(c), c.address
	h.Accessed(a)
}

// record records a tool call in the access log: as denied if err says that the user may not
// read the document, and otherwise as an access of the given kind.
func (h *Handler) record(c call, tool string, kind accesslog.Kind, id uuid.UUID, err error) {
	a := accesslog.Access{Kind: kind, Thing: events.DocumentStream(id), Detail: "by the tool " + h.Prefix + tool}
	switch {
	case fault.Is(err, fault.Forbidden), fault.Is(err, fault.NotFound):
		a.Kind = accesslog.Denied
	case err != nil || kind == "":
		return
	}
	h.access(c, a)
}

// recordReads records in the access log that a tool call returned passages of documents.
func (h *Handler) recordReads(c call, tool string, ids ...uuid.UUID) {
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			h.record(c, tool, accesslog.Read, id, nil)
		}
	}
}

// tokenRefused records a request with an invalid token in the access log. Requests without a
// token are not recorded, because every client begins with one to find the sign-in.
func (h *Handler) tokenRefused(r *http.Request) {
	if h.Accessed == nil {
		return
	}
	h.Accessed(accesslog.Access{
		Kind: accesslog.TokenRefused, Via: "tools", Correlation: httpd.Correlation(r.Context()), Address: h.address(r), Detail: r.Method + " " + h.URL.Path,
	})
}

func (h *Handler) address(r *http.Request) string {
	if h.Address != nil {
		return h.Address(r)
	}
	return httpd.PeerAddress(r)
}
