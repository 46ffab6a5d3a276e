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

// moment is a time as the vault writes it: ISO 8601, UTC, milliseconds.
type moment time.Time

// MarshalJSON writes the time as a string.
func (m moment) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Time(m).UTC().Format("2006-01-02T15:04:05.000Z"))
}

// errNoID is the error for a malformed id in a path: nothing has it.
var errNoID = fault.Errorf(fault.NotFound, "there is nothing with an id of this form")

// errNoVersion is the error for a malformed version in a path.
var errNoVersion = fault.Errorf(fault.NotFound, "there is no version of this form")

// pathID returns the id in a call's path.
func (c *call) pathID() (uuid.UUID, error) {
	id, ok := form.ParseID(c.path("id"))
	if !ok {
		return id, errNoID
	}
	return id, nil
}

// listing answers with an array, and with a link to the next page if there
// is one.
func (s *Server) listing(c *call, list any, next string) any {
	if next == "" {
		return list
	}
	q := c.URL.Query()
	q.Set("cursor", next)
	// The path of the request, on the public host.
	u := url.URL{Scheme: s.VaultURL.Scheme, Host: s.VaultURL.Host, Path: c.URL.Path, RawQuery: q.Encode()}
	return reply(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Link", "<"+u.String()+`>; rel="next"`)
		return tagged(http.StatusOK, conditional.Weak, list)(w, r)
	})
}
