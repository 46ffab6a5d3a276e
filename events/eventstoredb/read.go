package eventstoredb

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"annals/events"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
)

// ReadStream implements events.Driver.
func (d *Driver) ReadStream(ctx context.Context, stream string, from int64, limit int) (batch []events.Record, err error) {
	limit = max(limit, 0)
	err = d.call(ctx, "read stream "+stream+" of", func(ctx context.Context, s *session, alive func()) error {
		p := page{settings: &d.settings, limit: limit, alive: alive}
		if limit == 0 {
			return nil
		}
		_, err := read(ctx, s, ofStream(d.prefix+stream, max(from, 0), limit), p.take)
		batch = p.batch
		return cmp.Or(err, p.err)
	})
	if err != nil {
		return nil, err
	}
	return batch, nil
}

// lastOf returns the revision of the last event of a stream, or NoStream if the stream
// is empty.
func (d *Driver) lastOf(ctx context.Context, stream string) (revision int64, err error) {
	err = d.call(ctx, "read the end of stream "+stream+" of", func(ctx context.Context, s *session, _ func()) error {
		revision = events.NoStream
		_, err := read(ctx, s, lastOfStream(d.prefix+stream), func(e *recorded) bool {
			revision = int64(e.GetStreamRevision())
			return false
		})
		return err
	})
	return revision, err
}

// ReadAll implements events.Driver. The server can filter events either by stream or by
// type. ReadAll itself drops the events that a second filter would exclude.
func (d *Driver) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	var p page
	err := d.scan(ctx, fmt.Sprintf("read after position %d of", after), func(ctx context.Context, s *session, alive func()) error {
		p = page{settings: &d.settings, after: max(after, 0), limit: limit, alive: alive, through: after}
		if limit <= 0 {
			return nil
		}
		head := events.Position(s.seen.Load())
		if head <= after {
			var err error
			if head, err = d.head(ctx, s); err != nil || head <= after {
				return err
			}
		}
		err := p.read(ctx, s, skip)
		if err == nil && !p.cut {
			p.through = max(p.through, head)
		}
		s.saw(p.through)
		return err
	})
	if err != nil {
		return nil, after, err
	}
	return p.batch, p.through, nil
}

// page collects the events of one read.
type page struct {
	settings *settings
	after    events.Position
	limit    int
	alive    func()

	batch    []events.Record
	size     int
	through  events.Position // of the last examined event of this log
	examined events.Position // of the last examined event of any log
	received int             // number of events in the current response
	cut      bool            // there may be more events
	err      error           // error that ended the read
}

// take examines one event, and reports whether to continue.
func (p *page) take(e *recorded) bool {
	p.alive()
	p.received++
	r, ok, err := p.settings.record(e)
	p.examined = max(p.after, events.Position(e.GetCommitPosition()))
	if err != nil || !ok || r.Position <= p.after {
		p.err = err
		return err == nil
	}
	p.through = r.Position // not set for events of other logs, because these may be beyond the head of this log
	if p.batch == nil {
		p.batch = make([]events.Record, 0, min(p.limit, 128))
	}
	p.batch = append(p.batch, r)
	p.size += r.Size()
	p.cut = len(p.batch) == p.limit || p.size >= events.MaxBatchBytes
	return !p.cut
}

// maxExtra is the maximum number of events requested beyond the limit.
const maxExtra = 4096

// read reads the events after a position. The server only accepts positions at which an
// event begins. This is true of every position that Annals has read before, but an
// operator may choose any position. If the server refuses a position, read tries the
// next higher position, and then reads from the beginning. If a response ends at its
// limit because it contains events of other services, read makes another request.
func (p *page) read(ctx context.Context, s *session, skip []string) error {
	f := p.settings.ours()
	if len(skip) > 0 {
		f = without(skip)
	}
	for from, extra := p.after, 1; ; extra = min(2*extra, maxExtra) {
		count := p.limit + extra // plus one for the event at p.after, which the response includes
		if from < p.after {
			count = math.MaxInt64
		}
		o := ofAll(from, f)
		o.CountOption = &streams.ReadReq_Options_Count{Count: uint64(count)}
		p.received = 0
		ended, err := read(ctx, s, o, p.take)
		refused := err != nil && refuses(err)
		switch {
		case refused && from > 0 && from == p.after:
			from++
		case refused && from > p.after:
			from = 0
		case ended && p.received == count:
			p.after, from = p.examined, p.examined
		default:
			return cmp.Or(err, p.err)
		}
	}
}

// Head implements events.Driver.
func (d *Driver) Head(ctx context.Context) (head events.Position, err error) {
	err = d.scan(ctx, "read the head of", func(ctx context.Context, s *session, _ func()) (err error) {
		head, err = d.head(ctx, s)
		return err
	})
	return head, err
}

// head returns after the first event of the response. It does not wait for the end of
// the response, because the server first searches for another event, possibly among many
// events of other services.
func (d *Driver) head(ctx context.Context, s *session) (head events.Position, err error) {
	_, err = read(ctx, s, lastOfAll(d.ours()), func(e *recorded) bool {
		head = events.Position(e.GetCommitPosition())
		return false
	})
	if err != nil {
		return 0, err
	}
	s.saw(head)
	d.heads.advance(head)
	return head, nil
}
