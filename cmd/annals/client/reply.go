package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/cmd/annals/terminal"

	"github.com/cenkalti/backoff/v5"
)

// Reply is a reply with a 2xx status.
type Reply struct {
	Header http.Header
	url    *url.URL
	body   []byte
}

// Decode decodes the JSON of the reply.
func (r *Reply) Decode(into any) error {
	if err := json.Unmarshal(r.body, into); err != nil {
		return fmt.Errorf("read the reply from %s: %w", r.url, err)
	}
	return nil
}

// Refusal is the error for a reply whose status is not 2xx.
type Refusal struct {
	Status int
	detail string
	after  time.Duration // of Retry-After; 0 if the reply has none
}

func (e *Refusal) Error() string {
	if e.detail == "" {
		return fmt.Sprintf("the server responds %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the server responds %d: %s", e.Status, e.detail)
}

// Unwrap returns a backoff.RetryAfterError if the reply has a Retry-After header, and
// nil otherwise. backoff.Retry then waits for the time in that header.
func (e *Refusal) Unwrap() error {
	if e.after <= 0 {
		return nil
	}
	return &backoff.RetryAfterError{Duration: e.after}
}

// IsRefusal reports whether err is a Refusal with one of the given statuses.
func IsRefusal(err error, statuses ...int) bool {
	var r *Refusal
	return errors.As(err, &r) && slices.Contains(statuses, r.Status)
}

// BlamesRequest reports whether err is a Refusal whose cause is the content of the
// request, rather than the state of the server or the credential.
func BlamesRequest(err error) bool {
	return IsRefusal(err, http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
}

// newRefusal returns the Refusal for a reply. The core sends the reason in the JSON
// member detail, the vault in message.
func newRefusal(response *http.Response, body []byte) *Refusal {
	e := &Refusal{Status: response.StatusCode}
	if s, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = min(time.Duration(s)*time.Second, time.Minute)
	}
	var reasons struct{ Detail, Message sentences }
	if json.Unmarshal(body, &reasons) == nil {
		e.detail = terminal.Printable(strings.Join(append(reasons.Detail, reasons.Message...), "; "))
	}
	return e
}

// sentences is the reason in a reply. Its JSON is a string, a list of strings, or a
// list of objects with a string member msg.
type sentences []string

// UnmarshalJSON leaves s empty, without an error, if the JSON has another form.
func (s *sentences) UnmarshalJSON(text []byte) error {
	var (
		one    string
		many   []string
		faults []struct{ Msg string }
	)
	switch {
	case json.Unmarshal(text, &one) == nil:
		*s = sentences{one}
	case json.Unmarshal(text, &many) == nil:
		*s = many
	case json.Unmarshal(text, &faults) == nil:
		for _, f := range faults {
			*s = append(*s, f.Msg)
		}
	}
	return nil
}
