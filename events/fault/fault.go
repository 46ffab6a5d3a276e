// Package fault gives every error a kind. The kind determines how the error is reported:
// to an HTTP client as a status, to an agent as a tool error, to an operator as an exit
// code. Any package may import it; it imports no other package of this module.
package fault

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error, independent of its cause.
type Kind uint8

// The kinds. Internal is the zero value: an error without a kind counts as a
// fault of the service, and its text is never sent to clients.
const (
	Internal Kind = iota
	Invalid
	Unauthenticated
	Forbidden
	NotFound
	Conflict
	TooLarge
	Unavailable
	Canceled
	Exhausted // a limit is used up: RetryAfter says when to try again
)

var names = [...]string{"internal", "invalid", "unauthenticated", "forbidden", "not found", "conflict", "too large", "unavailable", "canceled", "exhausted"}

// String returns the kind's name, in lower case.
func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is an error with a kind. Its message may be shown to the person who
// made the request, unless the kind is Internal.
type Error struct {
	Kind  Kind
	text  string
	err   error
	hides bool // text does not include err
	limit string
	after time.Duration
}

func (e *Error) Error() string { return e.text }

// Unwrap returns the errors that were wrapped with %w, or the hidden cause.
func (e *Error) Unwrap() error { return e.err }

// Errorf formats an error of the given kind. The verb %w wraps an error, as in
// fmt.Errorf; the new kind takes precedence over the kind of the wrapped error.
func Errorf(kind Kind, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, text: err.Error(), err: err}
}

// Hide returns an error of the given kind whose message is text. The cause is wrapped,
// but only Detail, which is for operators, includes its text.
func Hide(kind Kind, text string, cause error) error {
	return &Error{Kind: kind, text: text, err: cause, hides: true}
}

// Later formats an error of kind Exhausted: the limit is used up, and the request may
// be retried after the given time.
func Later(limit string, after time.Duration, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: Exhausted, text: err.Error(), err: err, limit: limit, after: after}
}

// Limit returns the name of the limit that is used up, or "" if err does not come from
// Later.
func Limit(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.limit
}

// RetryAfter returns how long to wait before retrying after an error of kind Exhausted,
// in full seconds and at least one.
func RetryAfter(err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) {
		return time.Second
	}
	return max(time.Second, (e.after + time.Second - 1).Truncate(time.Second))
}

// Detail returns the message of err followed by the causes that Hide left out of the
// message. Use it for logs, never for clients.
func Detail(err error) string {
	text := err.Error()
	for e := (*Error)(nil); errors.As(err, &e); err = e.err {
		if e.hides && e.err != nil {
			text += ": " + e.err.Error()
		}
	}
	return text
}

// KindOf returns the kind of the outermost error with a kind in err's tree. If there is
// none, it returns Canceled for errors of an ended context, and Internal for all others.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Canceled
	}
	return Internal
}

// Is reports whether err has the given kind. A nil error has no kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
