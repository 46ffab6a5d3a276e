package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"annals/events/fault"
)

// notLeader is the error of a call to a node that does not lead the cluster.
type notLeader struct {
	leader string // the address of the node that does
	err    error
}

func (e *notLeader) Error() string { return "the leader is now " + e.leader }
func (e *notLeader) Unwrap() error { return e.err }

// What servers call their exceptions, in the trailer of a call.
const (
	isNotLeader = "not-leader"
	isTooLarge  = "maximum-append-" // how it begins: size-exceeded, or event-size-exceeded
)

// lacksLeader is how a node answers during an election, with no code that says
// so.
const lacksLeader = "No leader info available"

// explained returns the error of a call with what its trailer says of it.
func explained(err error, trailer metadata.MD) error {
	first := func(key string) string {
		if values := trailer.Get(key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	switch exception := first("exception"); {
	case exception == isNotLeader:
		return &notLeader{net.JoinHostPort(first("leader-endpoint-host"), first("leader-endpoint-port")), err}
	case strings.HasPrefix(exception, isTooLarge):
		return fault.Errorf(fault.Invalid, "the append is larger than the server takes: %w", err)
	}
	return err
}

// passes reports whether a call may succeed when it is repeated, on another
// connection. One that was cut off by its own context may not, but that is for
// the caller to know.
func passes(err error) bool {
	if errors.Is(err, errSilent) || errors.Is(err, errNoLeader) || errors.As(err, new(*notLeader)) {
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled, codes.Internal:
		return true
	case codes.Unknown:
		return strings.Contains(err.Error(), lacksLeader)
	}
	return false
}

// misplaced is how servers say that no event begins where a filtered read of the
// whole log is to begin. There is no code that says so, and what they find in
// the middle of an event may be any other failure to them, too.
const misplaced = "Unexpected FilteredReadAllResult: "

// refuses reports whether a server does not read from a position.
func refuses(err error) bool {
	switch codeOf(err) {
	case codes.InvalidArgument:
		return true
	case codes.Unknown:
		return strings.Contains(err.Error(), misplaced+"InvalidPosition") || strings.Contains(err.Error(), misplaced+"Error")
	}
	return false
}

// codeOf returns the protocol's code of an error.
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

// theLog is what calls are about, in the words of their errors.
const theLog = "the log at EventStoreDB"

// told gives an error its kind, and the words for clients.
func told(doing string, err error) error {
	var known *fault.Error
	cause := fmt.Errorf("%s %s: %w", doing, theLog, err)
	switch {
	case errors.As(err, &known):
		return err
	case passes(err):
		return fault.Hide(fault.Unavailable, "the log does not answer at the moment", cause)
	}
	switch codeOf(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return fault.Hide(fault.Unavailable, "the log refuses the user and password that it is given", cause)
	}
	return cause
}
