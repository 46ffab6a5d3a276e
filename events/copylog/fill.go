package copylog

import (
	"context"
	"fmt"
	"sync"

	"annals/events"
	"annals/events/fault"
)

// fill appends what the source holds after what was compared, up to a
// position. While a batch is appended the next one is read.
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
			n := together(rest)
			if err := c.append(ctx, rest[:n]); err != nil {
				return err
			}
			c.report(Copying, rest[n-1].Position, head)
			rest = rest[n:]
		}
	}
	return ctx.Err()
}

// batch is what was read of the source at once.
type batch struct {
	records []events.Record
	err     error
}

// readAhead gives out the source from after a position up to another, until
// ctx ends or reading fails.
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

// maxTogether bounds the records of an append: engines add to each what
// MaxAppendBytes does not count.
const maxTogether = 500

// together returns how many of the records, from the first on, fit into one
// append: they are of one stream, so that all of them or none keeps the order.
func together(records []events.Record) int {
	size := records[0].Size()
	for i := 1; i < min(len(records), maxTogether); i++ {
		size += records[i].Size()
		if records[i].Stream != records[0].Stream || size > events.MaxAppendBytes {
			return i
		}
	}
	return min(len(records), maxTogether)
}

// append adds records of one stream at the revision that they have.
func (c *Copy) append(ctx context.Context, records []events.Record) error {
	first := &records[0]
	if _, err := c.To.Append(ctx, first.Stream, first.Revision-1, records); err != nil {
		if fault.Is(err, fault.Conflict) {
			if gone, unread := c.removed(ctx, first); gone || unread != nil {
				return unread // the source holds its last events until it is scavenged
			}
		}
		return fmt.Errorf("append %s to the target: %w", name(first), err)
	}
	c.appended += int64(len(records))
	return nil
}
