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

// Reply is a successful reply.
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

// Refusal is returned for a reply without a status of success.
type Refusal struct {
	Status int
	detail string
	after  time.Duration // after which to retry; 0 if the server does not say
}

func (e *Refusal) Error() string {
	if e.detail == "" {
		return fmt.Sprintf("the server answers %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the server answers %d: %s", e.Status, e.detail)
}

// Unwrap makes the backoff wait for as long as the server asks.
func (e *Refusal) Unwrap() error {
	if e.after <= 0 {
		return nil
	}
	return &backoff.RetryAfterError{Duration: e.after}
}

// IsRefusal reports whether err is a reply with one of the given statuses.
func IsRefusal(err error, statuses ...int) bool {
	var r *Refusal
	return errors.As(err, &r) && slices.Contains(statuses, r.Status)
}

// BlamesRequest reports whether err is a reply that rejects the content of the request,
// rather than because of the server's state or the credential.
func BlamesRequest(err error) bool {
	return IsRefusal(err, http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
}

// newRefusal reads the reason of a refusal: the core has it in the field detail, the
// vault in message.
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

// sentences is one sentence or a list of them, each a string or the msg of an object.
type sentences []string

// UnmarshalJSON leaves s empty if the JSON has no known form.
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
