// Package oauth has what the endpoints of OAuth 2.1 share: errors and parameters (RFC 6749)
// and the names of grant types.
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

// Error is an error response (RFC 6749 §5.2). Its description is ASCII without quotes, as §5.2
// demands.
type Error struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`

	Status int           `json:"-"`
	Wait   time.Duration `json:"-"` // until it is worth another try
}

func (r *Error) Error() string { return r.Code + ": " + r.Description }

// Errorf returns an error with the status that belongs to the code.
func Errorf(code, format string, args ...any) *Error {
	status := http.StatusBadRequest
	if code == "invalid_client" {
		status = http.StatusUnauthorized
	}
	return &Error{Code: code, Description: fmt.Sprintf(format, args...), Status: status}
}

// TooMany returns the error for requests that come too often, for which neither RFC 6749 nor
// RFC 7591 has a code.
func TooMany(wait time.Duration) *Error {
	return &Error{
		Code: "temporarily_unavailable", Description: fmt.Sprintf("too many requests; try again in %d s", Seconds(wait)),
		Status: http.StatusTooManyRequests, Wait: wait,
	}
}

// WriteHeaders sets the headers that belong to an error.
func (r *Error) WriteHeaders(w http.ResponseWriter) {
	if r.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="annals"`)
	}
	switch {
	case r.Wait > 0:
		w.Header().Set("Retry-After", strconv.Itoa(Seconds(r.Wait)))
	case r.Status == http.StatusTooManyRequests: // as soon as the proof is there
		w.Header().Set("Retry-After", "1")
	}
}

// Seconds rounds up, so that clients that wait as long do not come back too early.
func Seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// The grant types (RFC 6749, RFC 8628).
const (
	GrantCode    = "authorization_code"
	GrantRefresh = "refresh_token"
	GrantClient  = "client_credentials"
	GrantDevice  = "urn:ietf:params:oauth:grant-type:device_code"
)
