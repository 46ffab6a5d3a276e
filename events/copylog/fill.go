package copylog

import (
	"context"
	"fmt"
	"sync"

	"annals/events"
	"annals/events/fault"
)

// fill appends to the target the events of the source after the compared part, up to
// position head. It reads the next batch while it appends the current one.
func (c *Copy) fill(ctx context.Context, head events.Position) error {
	reading, stop := context.WithCancel(ctx)
	ahead, from := make(chan batch), c.source.at
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(ahead)
		c.readAhead(reading, from, head, ahead)
	})
	defer reader.Wait()
	defer stop()
	for b := range ahead {
		if b.err != nil {
			return fmt.Errorf("read the source: %w", b.err)
		}
		for rest := b.records; len(rest) > 0; {
			n := appendSize(rest)
			if err := c.append(ctx, rest[:n]); err != nil {
				return err
			}
			c.report(stepCopy, rest[n-1].Position, head)
			rest = rest[n:]
		}
	}
	return ctx.Err()
}

// batch is the result of one read of the source.
type batch struct {
	records []events.Record
	err     error
}

// readAhead sends the events of the source after position after up to position to. It
// ends early if ctx ends or a read fails.
func (c *Copy) readAhead(ctx context.Context, after, to events.Position, out chan<- batch) {
	for more := after < to; more; {
		records, through, err := c.From.ReadAll(ctx, after, page, nil)
		for len(records) > 0 && records[len(records)-1].Position > to {
			records = records[:len(records)-1]
		}
		more = err == nil && through > after && through < to
		after = through
		select {
		case out <- batch{records, err}:
		case <-ctx.Done():
			return
		}
	}
}

// maxRecords is the maximum number of records in one append. It bounds the overhead per
// record, which MaxAppendBytes does not count.
const maxRecords = 500

// appendSize returns how many records, counted from the first, fit into one append.
// These records all belong to one stream, so that the append is atomic.
func appendSize(records []events.Record) int {
	size := records[0].Size()
	for i := 1; i < min(len(records), maxRecords); i++ {
		size += records[i].Size()
		if records[i].Stream != records[0].Stream || size > events.MaxAppendBytes {
			return i
		}
	}
	return min(len(records), maxRecords)
}

// append appends records of one stream at their revisions.
func (c *Copy) append(ctx context.Context, records []events.Record) error {
	first := &records[0]
	if _, err := c.To.Append(ctx, first.Stream, first.Revision-1, records); err != nil {
		if fault.Is(err, fault.Conflict) {
			if removed, err := c.removed(ctx, first); removed || err != nil {
				return err // a removed stream is not empty in EventStoreDB: its last event stays
			}
		}
		return fmt.Errorf("append %s to the target: %w", name(first), err)
	}
	c.appended += int64(len(records))
	return nil
}
