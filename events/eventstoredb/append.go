package eventstoredb

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"

	"annals/events"
	"annals/events/fault"
)

// Append implements events.Driver. The server recognises an append that is
// repeated at the same revision, so that one whose answer was lost is made once.
func (d *Driver) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if err := events.CheckAppend(stream, expected, records); err != nil {
		return events.Appended{}, err
	}
	if d.prefix == "" && strings.HasPrefix(stream, "$") {
		return events.Appended{}, fault.Errorf(fault.Invalid, "append to %s: names that begin with $ are the server's own", stream)
	}
	if expected != events.AnyRevision {
		return d.appendAt(ctx, stream, expected, records)
	}
	// The server takes an append of known ids at any revision for a repetition,
	// and one at the end of the stream for new.
	last, err := d.lastOf(ctx, stream)
	for err == nil {
		var made events.Appended
		made, err = d.appendAt(ctx, stream, last, records)
		var at *endsAt
		if !errors.As(err, &at) {
			return made, err
		}
		last, err = at.revision, nil // of a stream that was removed nothing is read, and it goes on all the same
	}
	return events.Appended{}, err
}

// endsAt is the error of an append to a stream that ends at another revision.
type endsAt struct {
	error
	revision int64
}

func (e *endsAt) Unwrap() error { return e.error }

func (d *Driver) appendAt(ctx context.Context, stream string, expected int64, records []events.Record) (made events.Appended, err error) {
	err = d.call(ctx, "append to "+stream+" in", func(ctx context.Context, s *session, _ func()) (err error) {
		made, err = d.append(ctx, s, stream, expected, records)
		return err
	})
	if err != nil || made.Position > 0 {
		d.heads.advance(made.Position)
		return made, err
	}
	// A repetition that overtakes the server's index is answered without it.
	batch, err := d.ReadStream(ctx, stream, made.Revision, 1)
	if err == nil && len(batch) > 0 {
		made.Position = batch[0].Position
	}
	return made, err
}

// append makes one attempt.
func (d *Driver) append(ctx context.Context, s *session, stream string, expected int64, records []events.Record) (events.Appended, error) {
	return d.appendTo(ctx, s, d.prefix+stream, expected, records)
}

// appendTo is append to a stream by its name at the server.
func (d *Driver) appendTo(ctx context.Context, s *session, stream string, expected int64, records []events.Record) (events.Appended, error) {
	call, err := s.streams.Append(leading(ctx))
	if err != nil {
		return events.Appended{}, err
	}
	err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: appendOptions(stream, expected)}})
	for i := 0; i < len(records) && err == nil; i++ {
		err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: proposed(&records[i])}})
	}
	// Where sending has failed, the answer says why.
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
		return events.Appended{}, &endsAt{fault.Errorf(fault.Conflict, "append to %s: it ends at revision %d, not %d", stream, last, expected), last}
	}
	return events.Appended{}, errors.New("the server's answer to an append is not known")
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

// idOf reads an event's id, which is asked for in two numbers.
func idOf(id *shared.UUID) (u uuid.UUID) {
	s := id.GetStructured()
	binary.BigEndian.PutUint64(u[:8], uint64(s.GetMostSignificantBits()))
	binary.BigEndian.PutUint64(u[8:], uint64(s.GetLeastSignificantBits()))
	return u
}
