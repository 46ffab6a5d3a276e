package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"annals/events/fault"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// notLeader is returned by a node that is not the leader of its cluster.
type notLeader struct {
	leader string // address of the leader
	err    error
}

func (e *notLeader) Error() string { return "the leader is now " + e.leader }
func (e *notLeader) Unwrap() error { return e.err }

// Names of exceptions in the trailer of a call.
const (
	exceptionNotLeader = "not-leader"
	exceptionTooLarge  = "maximum-append-" // prefix of two exceptions
)

// noLeaderMessage is a part of the server's error message while a leader is being elected.
// The error has no code.
const noLeaderMessage = "No leader info available"

// explained returns the error of a call with the details from the trailer of the
// response.
func explained(err error, trailer metadata.MD) error {
	first := func(key string) string {
		if values := trailer.Get(key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	switch exception := first("exception"); {
	case exception == exceptionNotLeader:
		return &notLeader{net.JoinHostPort(first("leader-endpoint-host"), first("leader-endpoint-port")), err}
	case strings.HasPrefix(exception, exceptionTooLarge):
		return fault.Errorf(fault.Invalid, "the append exceeds the server's size limit: %w", err)
	}
	return err
}

// isTransient reports whether a retry on another connection may succeed. The caller
// checks whether its own context has ended.
func isTransient(err error) bool {
	if errors.Is(err, errTimeout) || errors.Is(err, errNoLeader) || errors.As(err, new(*notLeader)) {
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled, codes.Internal:
		return true
	case codes.Unknown:
		return strings.Contains(err.Error(), noLeaderMessage)
	}
	return false
}

// badPosition is the beginning of the server's error message for a filtered read of the
// whole log from a position at which no event begins. The error has no code.
const badPosition = "Unexpected FilteredReadAllResult: "

// refuses reports whether the server refused to read from a position.
func refuses(err error) bool {
	switch codeOf(err) {
	case codes.InvalidArgument:
		return true
	case codes.Unknown:
		return strings.Contains(err.Error(), badPosition+"InvalidPosition") || strings.Contains(err.Error(), badPosition+"Error")
	}
	return false
}

// codeOf returns the gRPC code of an error.
func codeOf(err error) codes.Code {
	var s interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &s):
		return s.GRPCStatus().Code()
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return codes.Unknown
}

// theLog names the log in errors.
const theLog = "the log in EventStoreDB"

// classify returns err with its kind, and with a message for clients.
func classify(doing string, err error) error {
	var known *fault.Error
	cause := fmt.Errorf("%s %s: %w", doing, theLog, err)
	switch {
	case errors.As(err, &known):
		return err
	case isTransient(err):
		return fault.Hide(fault.Unavailable, "the log does not respond at the moment", cause)
	}
	switch codeOf(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return fault.Hide(fault.Unavailable, "the log server rejects the user and password in the URL of the log", cause)
	}
	return cause
}
