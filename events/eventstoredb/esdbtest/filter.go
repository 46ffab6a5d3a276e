package esdbtest

import (
	"regexp"
	"slices"
	"strings"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// filter selects the events of a read.
type filter func(events.Record) bool

// filterOf returns the filter of a request. Regular expressions must have Go's syntax,
// which is almost that of .NET; a negative lookahead is supported at the beginning.
func filterOf(o *streams.ReadReq_Options_FilterOptions) (filter, error) {
	var by *streams.ReadReq_Options_FilterOptions_Expression
	subject := func(r events.Record) string { return r.Stream }
	switch f := o.GetFilter().(type) {
	case *streams.ReadReq_Options_FilterOptions_StreamIdentifier:
		by = f.StreamIdentifier
	case *streams.ReadReq_Options_FilterOptions_EventType:
		by, subject = f.EventType, func(r events.Record) string { return r.Type }
	default:
		return func(events.Record) bool { return true }, nil
	}
	if prefixes := by.GetPrefix(); len(prefixes) > 0 {
		return func(r events.Record) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(subject(r), p) })
		}, nil
	}
	text, not := strings.CutPrefix(by.GetRegex(), "^(?!")
	if not {
		text = "^(?:" + text
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "compile the filter: %v", err)
	}
	return func(r events.Record) bool { return expression.MatchString(subject(r)) != not }, nil
}
