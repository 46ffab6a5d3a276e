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

// lastOf returns the revision of a stream's last event.
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

// ReadAll implements events.Driver. The server filters the events; those that it cannot
// filter out are dropped here.
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

// page gathers the events of one read.
type page struct {
	settings *settings
	after    events.Position
	limit    int
	alive    func()

	batch   []events.Record
	size    int
	through events.Position // of the last event of this log that was examined
	looked  events.Position // of the last event that was examined, of any log
	came    int             // events in one response
	cut     bool            // there may be more
	err     error           // ends the read
}

// take adds one event, and reports whether to continue.
func (p *page) take(e *recorded) bool {
	p.alive()
	p.came++
	r, ok, err := p.settings.record(e)
	p.looked = max(p.after, events.Position(e.GetCommitPosition()))
	if err != nil || !ok || r.Position <= p.after {
		p.err = err
		return err == nil
	}
	p.through = r.Position // never that of another log's event, which may be beyond this log's head
	if p.batch == nil {
		p.batch = make([]events.Record, 0, min(p.limit, 128))
	}
	p.batch = append(p.batch, r)
	p.size += r.Size()
	p.cut = len(p.batch) == p.limit || p.size >= events.MaxBatchBytes
	return !p.cut
}

// mostMore bounds how many more events than needed are requested.
const mostMore = 4096

// read reads the events after a position. The server only reads from positions at which
// an event begins. The positions after which Annals continues are of this kind. If the
// server refuses one, which an operator chose, read tries the next one, and then reads
// the whole log. If a response is full of other services' events, read requests
// another one of up to twice the length.
func (p *page) read(ctx context.Context, s *session, skip []string) error {
	f := p.settings.ours()
	if len(skip) > 0 {
		f = without(skip)
	}
	for from, more := p.after, 1; ; more = min(2*more, mostMore) {
		count := p.limit + more // the event at after comes as well
		if from < p.after {
			count = math.MaxInt64
		}
		o := ofAll(from, f)
		o.CountOption = &streams.ReadReq_Options_Count{Count: uint64(count)}
		p.came = 0
		ended, err := read(ctx, s, o, p.take)
		refused := err != nil && refuses(err)
		switch {
		case refused && from > 0 && from == p.after:
			from++
		case refused && from > p.after:
			from = 0
		case ended && p.came == count:
			p.after, from = p.looked, p.looked
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

// head does not wait for the end of the response: before that the server searches for
// one event more than requested, possibly among many of other services.
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
