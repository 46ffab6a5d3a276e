// Package problem turns errors into replies: the status code of each kind of fault, and
// its body in the dialect of each service. Details of internal errors are never sent. It imports commands, events/fault and events/nearest.
package problem

import (
	"errors"
	"net/http"

	"annals/events/fault"
)

// statuses are the HTTP status codes for each kind of fault.
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

// Error is an error in the HTTP request itself: an unknown path, a wrong method, an unreadable
// body. Unlike other errors it has no kind of fault.
type Error struct {
	Status int
	Text   string
}

func (e *Error) Error() string { return e.Text }

// Describe returns the status code for an error and the text that clients may see: the message
// of its outermost fault.Error, or only the status text for an internal error.
func Describe(err error) (status int, text string) {
	var (
		own      *Error
		invalid  *Invalid
		rejected Rejected
		known    *fault.Error
		tooLong  *http.MaxBytesError
	)
	switch {
	case errors.As(err, &own):
		return own.Status, own.Text
	case errors.As(err, &invalid), errors.As(err, &rejected):
		return http.StatusUnprocessableEntity, err.Error()
	case errors.As(err, &known) && known.Kind != fault.Internal:
		return statuses[known.Kind], known.Error()
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge, "the body is too large"
	}
	status = statuses[fault.KindOf(err)]
	return status, http.StatusText(status)
}
