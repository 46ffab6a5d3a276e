package eventstoredb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/metadata"

	"annals/events"
)

type (
	options  = streams.ReadReq_Options
	filter   = streams.ReadReq_Options_FilterOptions
	recorded = streams.ReadResp_ReadEvent_RecordedEvent
)

// leading asks that the node which answers be the leader: others may lack what
// was appended last.
func leading(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "requires-leader", "true")
}

// read gives take the events that a request is answered with until it returns
// false. ended tells that there were no more.
func read(ctx context.Context, s *session, o *options, take func(*recorded) bool) (ended bool, err error) {
	ctx, cancel := context.WithCancel(ctx) // ends what the server still sends
	defer cancel()
	o.UuidOption = &streams.ReadReq_Options_UUIDOption{Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}}}
	if o.FilterOption == nil {
		o.FilterOption = &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}}
	}
	call, err := s.streams.Read(leading(ctx), &streams.ReadReq{Options: o})
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
		// Other answers tell of the stream's state, or that it is not there.
		if e := response.GetEvent().GetEvent(); e != nil && !take(e) {
			return false, nil
		}
	}
}

// ofStream asks for a stream's events from a revision on.
func ofStream(stream string, from int64, limit int) *options {
	return &options{
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Revision{Revision: uint64(from)},
		}},
		CountOption: &streams.ReadReq_Options_Count{Count: uint64(limit)},
	}
}

// lastOfStream asks for a stream's last event.
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

// ofAll asks for the log's events at a position and behind it, or behind it
// alone in a subscription; 0 is where the log begins.
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

// lastOfAll asks for the log's last event.
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

// window is how many events the server looks at before it says how far it has
// come, where none of them matches.
const window = 1000

// ours filters by stream: it lets all events of the log through, and no others.
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

// without filters by type: it leaves out what is to be skipped and the server's
// own events. A server takes one filter, so that other services' events pass it.
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

// record returns an event of the server as one of the log; ok is false for
// those that are not ours.
func (s *settings) record(e *recorded) (r events.Record, ok bool, err error) {
	stream, ok := strings.CutPrefix(string(e.GetStreamIdentifier().GetStreamName()), s.prefix)
	if !ok || s.prefix == "" && strings.HasPrefix(stream, "$") {
		return events.Record{}, false, nil
	}
	if e.GetCommitPosition() > math.MaxInt64 {
		return events.Record{}, false, fmt.Errorf("the server does not tell the positions of a stream's events: it is too old")
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
