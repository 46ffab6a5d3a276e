// Package oauth contains the parts of OAuth 2.1 that endpoints share: error responses,
// parameters (RFC 6749) and the names of grant types.
//
// It may import the standard library alone.
package oauth

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Error is an OAuth error response (RFC 6749 §5.2). As §5.2 demands, the description is ASCII
// without double quotes.
type Error struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`

	Status int           `json:"-"`
	Wait   time.Duration `json:"-"` // after which the client should retry; 0 if unknown
}

func (r *Error) Error() string { return r.Code + ": " + r.Description }

// Errorf returns an error with a code and a description. Its HTTP status follows from the
// code.
func Errorf(code, format string, args ...any) *Error {
	status := http.StatusBadRequest
	if code == "invalid_client" {
		status = http.StatusUnauthorized
	}
	return &Error{Code: code, Description: fmt.Sprintf(format, args...), Status: status}
}

// TooMany returns the error for too many requests. wait is the time after which the client may
// try again. RFC 6749 and RFC 7591 define no code for it.
func TooMany(wait time.Duration) *Error {
	return &Error{
		Code: "temporarily_unavailable", Description: fmt.Sprintf("too many requests; try again in %d s", Seconds(wait)),
		Status: http.StatusTooManyRequests, Wait: wait,
	}
}

// WriteHeaders sets the headers that belong to an error: WWW-Authenticate and Retry-After.
func (r *Error) WriteHeaders(w http.ResponseWriter) {
	if r.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="annals"`)
	}
	switch {
	case r.Wait > 0:
		w.Header().Set("Retry-After", strconv.Itoa(Seconds(r.Wait)))
	case r.Status == http.StatusTooManyRequests: // a proof of work is missing
		w.Header().Set("Retry-After", "1")
	}
}

// Seconds returns a duration in seconds. It rounds up, so that clients do not retry too early.
func Seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// The grant types (RFC 6749, RFC 8628).
const (
	GrantCode    = "authorization_code"
	GrantRefresh = "refresh_token"
	GrantClient  = "client_credentials"
	GrantDevice  = "urn:ietf:params:oauth:grant-type:device_code"
)
