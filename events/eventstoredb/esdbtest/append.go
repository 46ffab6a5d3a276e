package esdbtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"annals/events"
	"annals/events/fault"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// service implements the Streams service.
type service struct {
	streams.UnimplementedStreamsServer
	*Server
}

// Append implements streams.StreamsServer.
func (s *service) Append(call streams.Streams_AppendServer) error {
	f, err := s.begin(call.Context(), Append)
	if err != nil {
		return err
	}
	options, records, err := proposed(call)
	if err != nil {
		return err
	}
	reply, err := s.append(call, string(options.GetStreamIdentifier().GetStreamName()), expectedOf(options), records)
	switch {
	case err != nil:
		return err
	case f.LoseReply:
		return f.error()
	}
	return call.SendAndClose(reply)
}

// proposed receives the options and records of an append request.
func proposed(call streams.Streams_AppendServer) (options *streams.AppendReq_Options, records []events.Record, err error) {
	for {
		request, err := call.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return options, records, nil
		case err != nil:
			return nil, nil, err
		case request.GetOptions() != nil:
			options = request.GetOptions()
			continue
		}
		m := request.GetProposedMessage()
		records = append(records, events.Record{ID: idOf(m.GetId()), Type: m.GetMetadata()["type"], Data: m.GetData(), Metadata: m.GetCustomMetadata()})
	}
}

func expectedOf(o *streams.AppendReq_Options) int64 {
	switch e := o.GetExpectedStreamRevision().(type) {
	case *streams.AppendReq_Options_Revision:
		return int64(e.Revision)
	case *streams.AppendReq_Options_NoStream:
		return events.NoStream
	}
	return events.AnyRevision
}

func (s *service) append(call streams.Streams_AppendServer, stream string, expected int64, records []events.Record) (*streams.AppendResp, error) {
	ctx := call.Context()
	if expected == events.AnyRevision && s.known(stream, records) {
		return s.wasAppended(ctx, stream)
	}
	made, err := s.log.Append(ctx, stream, expected, records)
	switch {
	case fault.Is(err, fault.Conflict):
		return s.wrongVersion(ctx, stream, expected)
	case fault.Is(err, fault.Invalid):
		call.SetTrailer(metadata.Pairs("exception", "maximum-append-size-exceeded"))
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case err != nil:
		return nil, statusOf(err)
	}
	s.remember(stream, records)
	s.truncate(stream, records)
	return success(made), nil
}

// truncate applies an append of stream metadata: its field $tb is the first revision of
// the stream that reads return from now on.
func (s *service) truncate(stream string, records []events.Record) {
	of, ok := strings.CutPrefix(stream, "$$")
	var metadata struct {
		Before int64 `json:"$tb"`
	}
	if last := records[len(records)-1]; !ok || last.Type != "$metadata" || json.Unmarshal(last.Data, &metadata) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begins[of] = metadata.Before
}

// beginOf returns the first revision of a stream after truncation.
func (s *service) beginOf(stream string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begins[stream]
}

func success(made events.Appended) *streams.AppendResp {
	position := uint64(made.Position)
	return &streams.AppendResp{Result: &streams.AppendResp_Success_{Success: &streams.AppendResp_Success{
		CurrentRevisionOption: &streams.AppendResp_Success_CurrentRevision{CurrentRevision: uint64(made.Revision)},
		PositionOption: &streams.AppendResp_Success_Position{
			Position: &streams.AppendResp_Position{CommitPosition: position, PreparePosition: position},
		},
	}}}
}

// known reports whether the stream already contains all the events, at any revisions.
// The real server then ignores an append with AnyRevision.
func (s *service) known(stream string, records []events.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		if s.placed[r.ID] != stream {
			return false
		}
	}
	return true
}

func (s *service) remember(stream string, records []events.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		s.placed[r.ID] = stream
	}
}

func (s *service) wasAppended(ctx context.Context, stream string) (*streams.AppendResp, error) {
	last, err := s.last(ctx, stream)
	if err != nil {
		return nil, statusOf(err)
	}
	return success(events.Appended{Revision: last.Revision, Position: last.Position}), nil
}

func (s *service) wrongVersion(ctx context.Context, stream string, expected int64) (*streams.AppendResp, error) {
	last, err := s.last(ctx, stream)
	if err != nil {
		return nil, statusOf(err)
	}
	wrong := &streams.AppendResp_WrongExpectedVersion{
		CurrentRevisionOption:  &streams.AppendResp_WrongExpectedVersion_CurrentNoStream{CurrentNoStream: &shared.Empty{}},
		ExpectedRevisionOption: &streams.AppendResp_WrongExpectedVersion_ExpectedNoStream{ExpectedNoStream: &shared.Empty{}},
	}
	if last.Revision >= 0 {
		wrong.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentRevision{CurrentRevision: uint64(last.Revision)}
	}
	if expected >= 0 {
		wrong.ExpectedRevisionOption = &streams.AppendResp_WrongExpectedVersion_ExpectedRevision{ExpectedRevision: uint64(expected)}
	}
	return &streams.AppendResp{Result: &streams.AppendResp_WrongExpectedVersion_{WrongExpectedVersion: wrong}}, nil
}

// last returns the last record of a stream, or a record with revision -1 if the stream
// is empty.
func (s *service) last(ctx context.Context, stream string) (events.Record, error) {
	last := events.Record{Revision: events.NoStream}
	for {
		const page = 500
		batch, err := s.log.ReadStream(ctx, stream, last.Revision+1, page)
		if err != nil || len(batch) == 0 {
			return last, err
		}
		last = batch[len(batch)-1]
	}
}

func idOf(id *shared.UUID) (u uuid.UUID) {
	if s := id.GetStructured(); s != nil {
		binary.BigEndian.PutUint64(u[:8], uint64(s.GetMostSignificantBits()))
		binary.BigEndian.PutUint64(u[8:], uint64(s.GetLeastSignificantBits()))
	}
	return u
}

func wireID(id uuid.UUID) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits:  int64(binary.BigEndian.Uint64(id[:8])),
		LeastSignificantBits: int64(binary.BigEndian.Uint64(id[8:])),
	}}}
}

// statusOf converts an error of a driver to a gRPC status.
func statusOf(err error) error {
	if fault.Is(err, fault.Unavailable) {
		return status.Error(codes.Unavailable, err.Error())
	}
	return status.FromContextError(err).Err()
}
