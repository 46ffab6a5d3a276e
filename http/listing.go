package http

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"annals/events/fault"
	"annals/http/conditional"
	"annals/http/form"

	"github.com/google/uuid"
)

// moment is a time in the JSON of the vault: ISO 8601 in UTC, with milliseconds.
type moment time.Time

// MarshalJSON returns the time as a JSON string.
func (m moment) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(m).UTC().Format("2006-01-02T15:04:05.000Z"))
}

// errNoID is the error for a malformed id in a path.
var errNoID = fault.Errorf(fault.NotFound, "the id in the path is not a UUID, so there is no such thing")

// errNoVersion is the error for a malformed version in a path.
var errNoVersion = fault.Errorf(fault.NotFound, "the version in the path is not a positive integer, so there is no such version")

// pathID returns the id in a call's path.
func (c *call) pathID() (uuid.UUID, error) {
	id, ok := form.ParseID(c.path("id"))
	if !ok {
		return id, errNoID
	}
	return id, nil
}

// listing replies with a list as JSON, and adds a Link header with the URL of the next page if
// there is one.
func (s *Server) listing(c *call, list any, next string) reply {
	if next == "" {
		return tagged(http.StatusOK, conditional.Weak, list)
	}
	q := c.URL.Query()
	q.Set("cursor", next)
	// The URL of the next page: the path of the request on the public host.
	u := url.URL{Scheme: s.VaultURL.Scheme, Host: s.VaultURL.Host, Path: c.URL.Path, RawQuery: q.Encode()}
	return withHeader("Link", "<"+u.String()+`>; rel="next"`, tagged(http.StatusOK, conditional.Weak, list))
}

// withHeader returns a reply with a further header.
func withHeader(name, value string, send reply) reply {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set(name, value)
		return send(w, r)
	}
}
