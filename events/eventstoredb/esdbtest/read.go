package esdbtest

import (
	"math"
	"slices"
	"strconv"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// page is the maximum number of records per read of the driver.
const page = 500

// reading is one call of Read.
type reading struct {
	*service
	call  streams.Streams_ReadServer
	fault Fault
	sent  int
}

// Read implements streams.StreamsServer.
func (s *service) Read(request *streams.ReadReq, call streams.Streams_ReadServer) error {
	o := request.GetOptions()
	method := Read
	if o.GetSubscription() != nil {
		method = Subscribe
	}
	f, err := s.begin(call.Context(), method)
	if err != nil {
		return err
	}
	r := &reading{service: s, call: call, fault: f}
	if err := r.respond(o); err != nil || !f.Hang {
		return err
	}
	<-call.Context().Done()
	return call.Context().Err()
}

func (r *reading) respond(o *streams.ReadReq_Options) error {
	backwards := o.GetReadDirection() == streams.ReadReq_Options_Backwards
	switch {
	case o.GetSubscription() != nil:
		return r.subscription(o)
	case o.GetStream() != nil && backwards:
		return r.streamBackwards(o)
	case o.GetStream() != nil:
		return r.stream(o)
	case backwards:
		return r.allBackwards(o)
	}
	return r.all(o)
}

func (r *reading) send(response *streams.ReadResp) error {
	if r.sent++; r.fault.After > 0 && r.sent > r.fault.After {
		return r.fault.error()
	}
	return r.call.Send(response)
}

func (r *reading) event(e events.Record) error {
	position := uint64(e.Position)
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_Event{Event: &streams.ReadResp_ReadEvent{
		Event: &streams.ReadResp_ReadEvent_RecordedEvent{
			Id: wireID(e.ID), StreamIdentifier: name(e.Stream), StreamRevision: uint64(e.Revision),
			PreparePosition: position, CommitPosition: position,
			Metadata:       map[string]string{"type": e.Type, "content-type": "application/json", "created": ticks},
			CustomMetadata: e.Metadata, Data: e.Data,
		},
		Position: &streams.ReadResp_ReadEvent_CommitPosition{CommitPosition: position},
	}}})
}

// ticks is the creation time that the server reports for all events, in units of 100 ns
// since 1970. Drivers store no creation times.
var ticks = strconv.FormatInt(1_767_225_600*10_000_000, 10)

func name(stream string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(stream)}
}

func (r *reading) events(batch []events.Record) error {
	for _, e := range batch {
		if err := r.event(e); err != nil {
			return err
		}
	}
	return nil
}

// stream sends the records of a stream, beginning at the requested revision.
func (r *reading) stream(o *streams.ReadReq_Options) error {
	stream, left := string(o.GetStream().GetStreamIdentifier().GetStreamName()), o.GetCount()
	from := int64(min(o.GetStream().GetRevision(), math.MaxInt64))
	if o.GetStream().GetEnd() != nil {
		from = math.MaxInt64
	}
	if err := r.exists(stream); err != nil || r.sent > 0 {
		return err
	}
	from = max(from, r.beginOf(stream))
	for left > 0 {
		batch, err := r.log.ReadStream(r.call.Context(), stream, from, int(min(left, page)))
		if err != nil {
			return statusOf(err)
		}
		if len(batch) == 0 {
			return nil
		}
		if err := r.events(batch); err != nil {
			return err
		}
		from, left = batch[len(batch)-1].Revision+1, left-uint64(len(batch))
	}
	return nil
}

// exists sends StreamNotFound if the stream does not exist.
func (r *reading) exists(stream string) error {
	first, err := r.log.ReadStream(r.call.Context(), stream, 0, 1)
	if err != nil {
		return statusOf(err)
	}
	if len(first) > 0 {
		return nil
	}
	return r.send(&streams.ReadResp{Content: &streams.ReadResp_StreamNotFound_{
		StreamNotFound: &streams.ReadResp_StreamNotFound{StreamIdentifier: name(stream)},
	}})
}

// streamBackwards sends the records of a stream in reverse order, beginning at the
// requested revision or at the end.
func (r *reading) streamBackwards(o *streams.ReadReq_Options) error {
	stream := string(o.GetStream().GetStreamIdentifier().GetStreamName())
	if err := r.exists(stream); err != nil || r.sent > 0 {
		return err
	}
	last, err := r.last(r.call.Context(), stream)
	if err != nil {
		return statusOf(err)
	}
	from := last.Revision
	if at, ok := o.GetStream().GetRevisionOption().(*streams.ReadReq_Options_StreamOptions_Revision); ok {
		from = min(from, int64(min(at.Revision, math.MaxInt64)))
	}
	for left := o.GetCount(); left > 0 && from >= r.beginOf(stream); left-- {
		one, err := r.log.ReadStream(r.call.Context(), stream, from, 1)
		if err != nil {
			return statusOf(err)
		}
		if err := r.events(one); err != nil {
			return err
		}
		from--
	}
	return nil
}

// all sends the records of the log, beginning at the requested position.
func (r *reading) all(o *streams.ReadReq_Options) error {
	match, err := filterOf(o.GetFilter())
	if err != nil {
		return err
	}
	var after events.Position
	if at := o.GetAll().GetPosition(); at != nil {
		after = events.Position(at.GetCommitPosition()) - 1
		if err := r.checkPosition(after + 1); err != nil {
			return err
		}
	}
	left := o.GetCount()
	for left > 0 && o.GetAll().GetEnd() == nil {
		batch, through, err := r.log.ReadAll(r.call.Context(), after, page, nil)
		if err != nil {
			return statusOf(err)
		}
		if through == after {
			return nil
		}
		matching := slices.DeleteFunc(batch, func(e events.Record) bool { return !match(e) })
		matching = matching[:min(uint64(len(matching)), left)]
		if err := r.events(matching); err != nil {
			return err
		}
		after, left = through, left-uint64(len(matching))
	}
	return nil
}

// checkPosition returns an error if there is no record at position p, as the real server
// does for filtered reads.
func (r *reading) checkPosition(p events.Position) error {
	batch, _, err := r.log.ReadAll(r.call.Context(), p-1, 1, nil)
	switch {
	case err != nil:
		return statusOf(err)
	case p != 0 && (len(batch) == 0 || batch[0].Position != p):
		return status.Error(codes.Unknown, "Unexpected FilteredReadAllResult: InvalidPosition")
	}
	return nil
}

// end is the cached result of a backward read of the whole log.
type end struct {
	last    events.Record   // last matching record
	through events.Position // position up to which the log was searched
}

// allBackwards sends the last matching record of the log. Other backward reads are not
// supported.
func (r *reading) allBackwards(o *streams.ReadReq_Options) error {
	if o.GetCount() != 1 || o.GetAll().GetEnd() == nil {
		return status.Error(codes.Unimplemented, "only backward reads of one event from the end are supported")
	}
	match, err := filterOf(o.GetFilter())
	if err != nil {
		return err
	}
	key := o.GetFilter().String()
	r.mu.Lock()
	e := r.ends[key]
	r.mu.Unlock()
	for {
		batch, through, err := r.log.ReadAll(r.call.Context(), e.through, page, nil)
		if err != nil {
			return statusOf(err)
		}
		if through == e.through {
			break
		}
		e.through = through
		for _, record := range batch {
			if match(record) {
				e.last = record
			}
		}
	}
	r.mu.Lock()
	if e.through > r.ends[key].through {
		r.ends[key] = e
	}
	r.mu.Unlock()
	if e.last.Position == 0 {
		return nil
	}
	return r.event(e.last)
}
