package eventstoredb

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"

	"annals/events"
	"annals/events/fault"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
)

// Append implements events.Driver. The server recognises an append that is repeated at
// the same revision, so a retry after a lost response does not append twice.
func (d *Driver) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if err := events.CheckAppend(stream, expected, records); err != nil {
		return events.Appended{}, err
	}
	if d.prefix == "" && strings.HasPrefix(stream, "$") {
		return events.Appended{}, fault.Errorf(fault.Invalid, "append to %s: names that begin with $ are reserved by the server", stream)
	}
	if expected != events.AnyRevision {
		return d.appendAt(ctx, stream, expected, records)
	}
	// With AnyRevision the server would take records whose ids are already in the stream
	// for a repetition, and ignore them. With the last revision of the stream as the
	// expected revision, it appends them again.
	last, err := d.lastOf(ctx, stream)
	for err == nil {
		var appended events.Appended
		appended, err = d.appendAt(ctx, stream, last, records)
		var at *endsAt
		if !errors.As(err, &at) {
			return appended, err
		}
		last, err = at.revision, nil // retry at the reported revision: a removed stream reads as empty, but keeps its last revision
	}
	return events.Appended{}, err
}

// endsAt is the error of an append to a stream that ends at revision and not at the
// expected one.
type endsAt struct {
	error
	revision int64
}

func (e *endsAt) Unwrap() error { return e.error }

func (d *Driver) appendAt(ctx context.Context, stream string, expected int64, records []events.Record) (made events.Appended, err error) {
	err = d.call(ctx, "append to "+stream+" in", func(ctx context.Context, s *session, _ func()) (err error) {
		made, err = d.append(ctx, s, d.prefix+stream, expected, records)
		return err
	})
	if err != nil || made.Position > 0 {
		d.heads.advance(made.Position)
		return made, err
	}
	// The response has no position if the append repeats records that the server has not
	// indexed yet. Read the position from the stream.
	batch, err := d.ReadStream(ctx, stream, made.Revision, 1)
	if err == nil && len(batch) > 0 {
		made.Position = batch[0].Position
	}
	return made, err
}

// append makes one attempt to append to a stream.
func (d *Driver) append(ctx context.Context, s *session, stream string, expected int64, records []events.Record) (events.Appended, error) {
	call, err := s.streams.Append(requireLeader(ctx))
	if err != nil {
		return events.Appended{}, err
	}
	err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: appendOptions(stream, expected)}})
	for i := 0; i < len(records) && err == nil; i++ {
		err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: proposed(&records[i])}})
	}
	// If sending the records failed, the response has the reason.
	response, err := call.CloseAndRecv()
	if err != nil {
		return events.Appended{}, explained(err, call.Trailer())
	}
	switch result := response.GetResult().(type) {
	case *streams.AppendResp_Success_:
		return events.Appended{
			Revision: int64(result.Success.GetCurrentRevision()),
			Position: events.Position(result.Success.GetPosition().GetCommitPosition()),
		}, nil
	case *streams.AppendResp_WrongExpectedVersion_:
		last := int64(events.NoStream)
		if at, ok := result.WrongExpectedVersion.GetCurrentRevisionOption().(*streams.AppendResp_WrongExpectedVersion_CurrentRevision); ok {
			last = int64(at.CurrentRevision)
		}
		return events.Appended{}, &endsAt{events.WrongRevision(stream, last, expected), last}
	}
	return events.Appended{}, errors.New("the server sent an unknown response to an append")
}

func appendOptions(stream string, expected int64) *streams.AppendReq_Options {
	o := &streams.AppendReq_Options{StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)}}
	switch expected {
	case events.AnyRevision:
		o.ExpectedStreamRevision = &streams.AppendReq_Options_Any{Any: &shared.Empty{}}
	case events.NoStream:
		o.ExpectedStreamRevision = &streams.AppendReq_Options_NoStream{NoStream: &shared.Empty{}}
	default:
		o.ExpectedStreamRevision = &streams.AppendReq_Options_Revision{Revision: uint64(expected)}
	}
	return o
}

func proposed(r *events.Record) *streams.AppendReq_ProposedMessage {
	return &streams.AppendReq_ProposedMessage{
		Id: &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
			MostSignificantBits:  int64(binary.BigEndian.Uint64(r.ID[:8])),
			LeastSignificantBits: int64(binary.BigEndian.Uint64(r.ID[8:])),
		}}},
		Metadata:       map[string]string{"type": r.Type, "content-type": "application/json"},
		CustomMetadata: r.Metadata,
		Data:           r.Data,
	}
}

// idOf decodes an event's id, which the server sends as two numbers.
func idOf(id *shared.UUID) (u uuid.UUID) {
	s := id.GetStructured()
	binary.BigEndian.PutUint64(u[:8], uint64(s.GetMostSignificantBits()))
	binary.BigEndian.PutUint64(u[8:], uint64(s.GetLeastSignificantBits()))
	return u
}
