package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"annals/commands"
	"annals/events/fault"
)

// Dialect is the format in which the core or the vault writes replies and errors.
type Dialect struct {
	contentType string
	// Tagged is true if replies to GET have an ETag and HEAD is supported.
	Tagged bool
	// fault returns the JSON value for an error reply. text is the part of err that clients
	// may see.
	fault func(status int, text string, err error) any
}

// Core is the dialect of the core: errors look like those of FastAPI.
var Core = Dialect{"application/json", false, func(status int, text string, err error) any {
	type detail struct {
		Detail    any        `json:"detail"`
		RateLimit *rateLimit `json:"rate_limit,omitempty"`
	}
	var invalid *Invalid
	switch {
	case status == http.StatusUnauthorized:
		return detail{Detail: "Not authenticated"}
	case errors.As(err, &invalid):
		return detail{Detail: invalid.Fields}
	case status == http.StatusUnprocessableEntity:
		return detail{Detail: []Field{ValueError([]any{"body"}, text, nil)}}
	}
	return detail{text, rateLimitOf(status, err)}
}}

// Vault is the dialect of the vault: errors look like those of NestJS.
var Vault = Dialect{"application/json; charset=utf-8", true, func(status int, text string, err error) any {
	type failure struct {
		StatusCode int        `json:"statusCode"`
		Message    any        `json:"message"`
		Error      string     `json:"error"`
		RateLimit  *rateLimit `json:"rate_limit,omitempty"`
	}
	var rejected Rejected
	switch {
	case status == http.StatusUnauthorized:
		return struct {
			Error string `json:"error"`
		}{"unauthenticated"}
	case status == http.StatusNotFound:
		return failure{status, "not_found", http.StatusText(status), nil}
	case errors.As(err, &rejected):
		return failure{status, []string(rejected), http.StatusText(status), nil}
	case status == http.StatusUnprocessableEntity:
		return failure{status, []string{text}, http.StatusText(status), nil}
	case status == http.StatusRequestedRangeNotSatisfiable:
		return failure{status, text, RangeNotSatisfiable, nil}
	}
	return failure{status, text, http.StatusText(status), rateLimitOf(status, err)}
}}

// RangeNotSatisfiable is the reason phrase for status 416 in RFC 9110. http.StatusText returns
// an older one.
const RangeNotSatisfiable = "Range Not Satisfiable"

// rateLimit is the part of a 429 reply that names the limit and says when to try again.
type rateLimit struct {
	Limit      string `json:"limit"`
	RetryAfter int    `json:"retry_after"` // seconds, as in the header
}

func rateLimitOf(status int, err error) *rateLimit {
	if status != http.StatusTooManyRequests {
		return nil
	}
	return &rateLimit{fault.Limit(err), retryAfter(err)}
}

func retryAfter(err error) int { return int(fault.RetryAfter(err) / time.Second) }

// Write sends status and a value as JSON.
func (d Dialect) Write(w http.ResponseWriter, status int, value any) error {
	body, err := Encode(value)
	if err != nil {
		return err
	}
	d.Send(w, status, body)
	return nil
}

// Encode returns the JSON of a value, without escaping HTML.
func Encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // replies are never HTML, and texts stay readable
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Send sends status and a body that is JSON already.
func (d Dialect) Send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", d.contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has disconnected
}

// Fail sends an error with the status for its kind.
func (d Dialect) Fail(w http.ResponseWriter, err error) {
	status, text := Describe(err)
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusForbidden:
		if errors.Is(err, commands.ErrReadOnly) { // RFC 6750 §3.1
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", error_description="the token may only read", scope="write"`)
		}
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter(err)))
	}
	_ = d.Write(w, status, d.fault(status, text, err)) // these values can always be encoded
}
