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

// Dialect is how one of the two services writes replies and errors.
type Dialect struct {
	contentType string
	// Tagged says that replies to GET have an ETag, and that HEAD is supported.
	Tagged bool
	// fault returns the body of the reply to an error. text is the part of err that
	// clients may see.
	fault func(status int, text string, err error) any
}

// Core is the dialect of the core, in the style of FastAPI.
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

// Vault is the dialect of the vault, in the style of NestJS.
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

// RangeNotSatisfiable is the reason phrase of a 416 in RFC 9110; net/http has an
// older one.
const RangeNotSatisfiable = "Range Not Satisfiable"

// rateLimit says, in a 429, which limit is used up and when to try again.
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

// Write sends a value as JSON.
func (d Dialect) Write(w http.ResponseWriter, status int, value any) error {
	body, err := Encode(value)
	if err != nil {
		return err
	}
	d.Send(w, status, body)
	return nil
}

// Encode returns a value as JSON.
func Encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // replies are not HTML, and texts stay readable
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Send sends JSON.
func (d Dialect) Send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", d.contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// Fail sends an error.
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
	_ = d.Write(w, status, d.fault(status, text, err)) // these bodies can always be encoded
}
