package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/metadata"
)

type (
	options  = streams.ReadReq_Options
	filter   = streams.ReadReq_Options_FilterOptions
	recorded = streams.ReadResp_ReadEvent_RecordedEvent
)

// requireLeader makes all nodes except the leader refuse the request, because they may
// lack the latest events.
func requireLeader(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "requires-leader", "true")
}

// read calls take with the events of a response until take returns false. ended reports
// whether the response was read completely.
func read(ctx context.Context, s *session, o *options, take func(*recorded) bool) (ended bool, err error) {
	ctx, cancel := context.WithCancel(ctx) // cancel ends the response
	defer cancel()
	o.UuidOption = &streams.ReadReq_Options_UUIDOption{Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}}}
	if o.FilterOption == nil {
		o.FilterOption = &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}}
	}
	call, err := s.streams.Read(requireLeader(ctx), &streams.ReadReq{Options: o})
	if err != nil {
		return false, err
	}
	for {
		response, err := call.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, explained(err, call.Trailer())
		}
		// Skip other messages: they describe the state of the stream.
		if e := response.GetEvent().GetEvent(); e != nil && !take(e) {
			return false, nil
		}
	}
}

// ofStream requests a stream's events from a revision on.
func ofStream(stream string, from int64, limit int) *options {
	return &options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Revision{Revision: uint64(from)},
		}},
		CountOption: &streams.ReadReq_Options_Count{Count: uint64(limit)},
	}
}

// lastOfStream requests a stream's last event.
func lastOfStream(stream string) *options {
	return &options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_End{End: &shared.Empty{}},
		}},
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
}

// ofAll requests the events of the log from a position on; 0 is the beginning. A read
// includes the event at the position, a subscription does not.
func ofAll(from events.Position, f *filter) *options {
	o := &options{FilterOption: &streams.ReadReq_Options_Filter{Filter: f}}
	at := &streams.ReadReq_Options_AllOptions{AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}}}
	if from > 0 {
		at.AllOption = &streams.ReadReq_Options_AllOptions_Position{
			Position: &streams.ReadReq_Options_Position{CommitPosition: uint64(from), PreparePosition: uint64(from)},
		}
	}
	o.StreamOption = &streams.ReadReq_Options_All{All: at}
	return o
}

// lastOfAll requests the log's last event.
func lastOfAll(f *filter) *options {
	o := &options{
		StreamOption: &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_End{End: &shared.Empty{}},
		}},
		ReadDirection: streams.ReadReq_Options_Backwards,
		CountOption:   &streams.ReadReq_Options_Count{Count: 1},
	}
	if f != nil {
		o.FilterOption = &streams.ReadReq_Options_Filter{Filter: f}
	}
	return o
}

// window is the number of events without a match after which the server reports its
// progress.
const window = 1000

// ours returns a filter by stream name that matches exactly the events of this log.
func (s *settings) ours() *filter {
	expression := &streams.ReadReq_Options_FilterOptions_Expression{Regex: `^[^\$]`}
	if s.prefix != "" {
		expression = &streams.ReadReq_Options_FilterOptions_Expression{Prefix: []string{s.prefix}}
	}
	return &filter{
		Filter:                       &streams.ReadReq_Options_FilterOptions_StreamIdentifier{StreamIdentifier: expression},
		Window:                       &streams.ReadReq_Options_FilterOptions_Max{Max: window},
		CheckpointIntervalMultiplier: 1,
	}
}

// without returns a filter by type that excludes the types in skip and system events.
// The filter also matches events of other services, because the server accepts only one
// filter.
func without(skip []string) *filter {
	names := make([]string, len(skip))
	for i, name := range skip {
		names[i] = regexp.QuoteMeta(name)
	}
	return &filter{
		Filter: &streams.ReadReq_Options_FilterOptions_EventType{EventType: &streams.ReadReq_Options_FilterOptions_Expression{
			Regex: `^(?!\$|(?:` + strings.Join(names, "|") + `)$)`,
		}},
		Window:                       &streams.ReadReq_Options_FilterOptions_Max{Max: window},
		CheckpointIntervalMultiplier: 1,
	}
}

// record converts an event of the server to a record; ok is false if the event does not
// belong to this log.
func (s *settings) record(e *recorded) (r events.Record, ok bool, err error) {
	stream, ok := strings.CutPrefix(string(e.GetStreamIdentifier().GetStreamName()), s.prefix)
	if !ok || s.prefix == "" && strings.HasPrefix(stream, "$") {
		return events.Record{}, false, nil
	}
	if e.GetCommitPosition() > math.MaxInt64 {
		return events.Record{}, false, fmt.Errorf("the server does not return the positions of events in streams: use a newer version of the server")
	}
	return events.Record{
		Position: events.Position(e.GetCommitPosition()),
		ID:       idOf(e.GetId()),
		Stream:   stream,
		Revision: int64(e.GetStreamRevision()),
		Type:     e.GetMetadata()["type"],
		Data:     e.GetData(),
		Metadata: e.GetCustomMetadata(),
	}, true, nil
}
