package eventstoredb

import (
	"context"
	"fmt"
	"math"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"annals/events"
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
		return joined(err, p.err)
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

// ReadAll implements events.Driver. The server filters; what it cannot filter
// out is looked at and left out here.
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
	through events.Position // of the last event of the log that was looked at
	looked  events.Position // the same, whosever event it was
	came    int             // events of one answer
	cut     bool            // there may be more
	err     error           // ends the read
}

// take looks at one event, and tells whether to go on.
func (p *page) take(e *recorded) bool {
	p.alive()
	p.came++
	r, ok, err := p.settings.record(e)
	p.looked = max(p.after, events.Position(e.GetCommitPosition()))
	if err != nil || !ok || r.Position <= p.after {
		p.err = err
		return err == nil
	}
	p.through = r.Position // never another's, which the log's head does not count
	if p.batch == nil {
		p.batch = make([]events.Record, 0, min(p.limit, 128))
	}
	p.batch = append(p.batch, r)
	p.size += r.Size()
	p.cut = len(p.batch) == p.limit || p.size >= events.MaxBatchBytes
	return !p.cut
}

// mostMore is by how much an answer may be longer than what is wanted.
const mostMore = 4096

// read reads what lies behind after. The server reads from the beginning of an
// event, and refuses other positions. Those that Annals goes on after are such;
// one that an operator names is mostly the one before an event; any other is
// met by reading all. Where other services' events fill an answer, the next one
// is asked for, which may be twice as long: there may be many of them.
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
			return joined(err, p.err)
		}
	}
}

// joined returns the first error that is one.
func joined(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// Head implements events.Driver.
func (d *Driver) Head(ctx context.Context) (head events.Position, err error) {
	err = d.scan(ctx, "read the head of", func(ctx context.Context, s *session, _ func()) (err error) {
		head, err = d.head(ctx, s)
		return err
	})
	return head, err
}

// head does not wait for the end of the answer: before it, the server looks for
// one event more than it was asked for, which may lie far behind others'.
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
