// Package memory keeps a log in memory, for tests of packages that use a log. It
// passes the same conformance tests as the durable drivers. It imports events and
// events/fault only.
package memory

import (
	"bytes"
	"context"
	"slices"
	"sort"
	"sync"

	"annals/events"
	"annals/events/fault"
)

// step is the difference between consecutive positions. It is not 1, so that tests
// notice code that relies on positions without gaps.
const step = 3

// Driver is an events.Driver in memory. Create one with New.
type Driver struct {
	mu      sync.RWMutex
	log     []events.Record  // ordered by position; Stream is empty in removed records
	streams map[string][]int // indexes in log, by revision
	moved   chan struct{}    // closed and replaced when the head moves
	closed  chan struct{}
}

// New returns an empty log.
func New() *Driver {
	return &Driver{
		streams: make(map[string][]int),
		moved:   make(chan struct{}),
		closed:  make(chan struct{}),
	}
}

// Append implements events.Driver.
func (d *Driver) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if err := events.CheckAppend(stream, expected, records); err != nil {
		return events.Appended{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(ctx); err != nil {
		return events.Appended{}, err
	}
	stored := d.streams[stream]
	last := int64(len(stored)) - 1
	if expected != events.AnyRevision && expected != last {
		return d.repeated(stream, expected, records)
	}
	for _, r := range records {
		last++
		r.Stream, r.Revision, r.Position = stream, last, d.head()+step
		d.streams[stream] = append(d.streams[stream], len(d.log))
		d.log = append(d.log, clone(r))
	}
	close(d.moved)
	d.moved = make(chan struct{})
	return events.Appended{Revision: last, Position: d.head()}, nil
}

// repeated returns the result of an append whose records are already in the stream,
// directly after the expected revision. If they are not, the error is fault.Conflict.
func (d *Driver) repeated(stream string, expected int64, records []events.Record) (events.Appended, error) {
	stored := d.streams[stream]
	last := expected + int64(len(records))
	if last >= int64(len(stored)) {
		return events.Appended{}, events.WrongRevision(stream, int64(len(stored))-1, expected)
	}
	for i, r := range records {
		if d.log[stored[expected+1+int64(i)]].ID != r.ID {
			return events.Appended{}, events.WrongRevision(stream, int64(len(stored))-1, expected)
		}
	}
	return events.Appended{Revision: last, Position: d.log[stored[last]].Position}, nil
}

// ReadStream implements events.Driver.
func (d *Driver) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.usable(ctx); err != nil {
		return nil, err
	}
	var batch []events.Record
	stored := d.streams[stream]
	for i, size := max(from, 0), 0; i < int64(len(stored)) && len(batch) < limit && size < events.MaxBatchBytes; i++ {
		r := clone(d.log[stored[i]])
		batch = append(batch, r)
		size += r.Size()
	}
	return batch, nil
}

// ReadAll implements events.Driver.
func (d *Driver) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.usable(ctx); err != nil {
		return nil, after, err
	}
	if limit <= 0 {
		return nil, after, nil
	}
	return d.readAll(after, limit, func(r *events.Record) bool { return slices.Contains(skip, r.Type) })
}

// readAll is ReadAll with a function skip, which returns true for the records to leave
// out. The lock must be held.
func (d *Driver) readAll(after events.Position, limit int, skip func(*events.Record) bool) ([]events.Record, events.Position, error) {
	var batch []events.Record
	size := 0
	start := sort.Search(len(d.log), func(i int) bool { return d.log[i].Position > after })
	for _, r := range d.log[start:] {
		if r.Stream == "" || skip(&r) {
			continue
		}
		batch = append(batch, clone(r))
		if size += r.Size(); len(batch) == limit || size >= events.MaxBatchBytes {
			return batch, r.Position, nil
		}
	}
	return batch, max(after, d.head()), nil
}

// Remove implements events.Driver.
func (d *Driver) Remove(ctx context.Context, streams []string, check func(events.AllReader) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(ctx); err != nil {
		return err
	}
	if n := len(d.log); n > 0 && slices.Contains(streams, d.log[n-1].Stream) {
		return fault.Errorf(fault.Conflict, "remove stream %s: it holds the last event of the log", d.log[n-1].Stream)
	}
	if check != nil {
		if err := check(without{d, streams}); err != nil {
			return err
		}
	}
	for _, stream := range streams {
		for _, i := range d.streams[stream] {
			d.log[i] = events.Record{Position: d.log[i].Position}
		}
		delete(d.streams, stream)
	}
	return nil
}

// without reads the log of d without some streams. The lock of d must be held.
type without struct {
	d       *Driver
	streams []string
}

// ReadAll implements events.AllReader.
func (w without) ReadAll(ctx context.Context, after events.Position, limit int, skip []string) ([]events.Record, events.Position, error) {
	if err := ctx.Err(); err != nil || limit <= 0 {
		return nil, after, err
	}
	return w.d.readAll(after, limit, func(r *events.Record) bool {
		return slices.Contains(skip, r.Type) || slices.Contains(w.streams, r.Stream)
	})
}

// Head implements events.Driver.
func (d *Driver) Head(ctx context.Context) (events.Position, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.head(), d.usable(ctx)
}

func (d *Driver) head() events.Position { return events.Position(len(d.log) * step) }

// Wait implements events.Driver.
func (d *Driver) Wait(ctx context.Context, after events.Position) error {
	for {
		d.mu.RLock()
		head, moved, err := d.head(), d.moved, d.usable(ctx)
		d.mu.RUnlock()
		if err != nil || head > after {
			return err
		}
		select {
		case <-moved:
		case <-d.closed:
		case <-ctx.Done():
		}
	}
}

// Close implements events.Driver. It discards the log.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.closed:
	default:
		close(d.closed)
		d.log, d.streams = nil, nil
	}
	return nil
}

// usable returns an error if the driver is closed or ctx has ended.
func (d *Driver) usable(ctx context.Context) error {
	select {
	case <-d.closed:
		return fault.Errorf(fault.Unavailable, "the log is closed")
	default:
		return ctx.Err()
	}
}

// clone copies the data and metadata of a record, because the caller may change the
// original bytes.
func clone(r events.Record) events.Record {
	r.Data, r.Metadata = bytes.Clone(r.Data), bytes.Clone(r.Metadata)
	return r
}
