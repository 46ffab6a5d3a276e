package http

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

// statuses is where kinds of errors meet status codes, for both services.
var statuses = map[fault.Kind]int{
	fault.Internal:        http.StatusInternalServerError,
	fault.Invalid:         http.StatusUnprocessableEntity,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.Conflict:        http.StatusConflict,
	fault.TooLarge:        http.StatusRequestEntityTooLarge,
	fault.Unavailable:     http.StatusServiceUnavailable,
	fault.Canceled:        http.StatusServiceUnavailable,
	fault.Exhausted:       http.StatusTooManyRequests,
}

// statusError is an error that HTTP itself knows and fault does not: an
// unknown path, a wrong method, an unreadable body.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// dialect is how one of the services writes a fault.
type dialect struct {
	contentType string
	// reads says that GET is answered with an ETag, and HEAD like GET.
	reads bool
	// fault returns the body that tells err, whose status is given. text is
	// the part of err that may be shown.
	fault func(status int, text string, err error) any
}

// coreDialect is that of FastAPI.
var coreDialect = dialect{"application/json", false, func(status int, text string, err error) any {
	type detail struct {
		Detail    any        `json:"detail"`
		RateLimit *rateLimit `json:"rate_limit,omitempty"`
	}
	var invalid *invalid
	switch {
	case status == http.StatusUnauthorized:
		return detail{Detail: "Not authenticated"}
	case errors.As(err, &invalid):
		return detail{Detail: invalid.faults}
	case status == http.StatusUnprocessableEntity:
		return detail{Detail: []validationFault{valueError([]any{"body"}, text, nil)}}
	}
	return detail{text, rateLimitOf(status, err)}
}}

// vaultDialect is that of NestJS.
var vaultDialect = dialect{"application/json; charset=utf-8", true, func(status int, text string, err error) any {
	type failure struct {
		StatusCode int        `json:"statusCode"`
		Message    any        `json:"message"`
		Error      string     `json:"error"`
		RateLimit  *rateLimit `json:"rate_limit,omitempty"`
	}
	var rejected rejected
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
		return failure{status, text, rangeNotSatisfiable, nil}
	}
	return failure{status, text, http.StatusText(status), rateLimitOf(status, err)}
}}

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

// describe returns the status of an error and the text of it that may be
// shown: the words of its outermost fault, and none of an internal one.
func describe(err error) (status int, text string) {
	var (
		own      *statusError
		invalid  *invalid
		rejected rejected
		told     *fault.Error
		tooLong  *http.MaxBytesError
	)
	switch {
	case errors.As(err, &own):
		return own.status, own.text
	case errors.As(err, &invalid), errors.As(err, &rejected):
		return http.StatusUnprocessableEntity, err.Error()
	case errors.As(err, &told) && told.Kind != fault.Internal:
		return statuses[told.Kind], told.Error()
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge, "the body is too large"
	}
	status = statuses[fault.KindOf(err)]
	return status, http.StatusText(status)
}

// write sends a value as JSON.
func (d dialect) write(w http.ResponseWriter, status int, value any) error {
	body, err := encode(value)
	if err != nil {
		return err
	}
	d.send(w, status, body)
	return nil
}

// encode returns a value's JSON.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // nothing here is HTML, and texts stay readable
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// send sends JSON.
func (d dialect) send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", d.contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// fail sends an error.
func (d dialect) fail(w http.ResponseWriter, err error) {
	status, text := describe(err)
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
	_ = d.write(w, status, d.fault(status, text, err)) // faults can always be encoded
}
