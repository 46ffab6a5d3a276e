package eventstoredb

import (
	"context"
	"fmt"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Remove implements events.Driver. It sets metadata that truncates the streams. The
// events stay in $all until the server is scavenged. The last event of each stream
// always stays, because the server needs the revision of that event.
//
// The server has no transactions over several streams. Therefore check reads the
// unchanged log before the removal. To verify the result, read the log again after the
// removal.
func (d *Driver) Remove(ctx context.Context, streams []string, check func(events.AllReader) error) error {
	var last string
	err := d.scan(ctx, "read the end of", func(ctx context.Context, s *session, _ func()) error {
		_, err := read(ctx, s, lastOfAll(d.ours()), func(e *recorded) bool {
			r, ok, _ := d.settings.record(e)
			if ok {
				last = r.Stream
			}
			return false
		})
		return err
	})
	if err != nil {
		return err
	}
	if slices.Contains(streams, last) {
		return fault.Errorf(fault.Conflict, "remove stream %s: it holds the last event of the log", last)
	}
	if check != nil {
		if err := check(d); err != nil {
			return err
		}
	}
	for _, stream := range streams {
		revision, err := d.lastOf(ctx, stream)
		if err != nil {
			return err
		}
		if revision == events.NoStream { // the stream does not exist, or is already truncated
			continue
		}
		if err := d.truncate(ctx, stream, revision+1); err != nil {
			return err
		}
	}
	return nil
}

// truncate removes the events of a stream before a revision.
func (d *Driver) truncate(ctx context.Context, stream string, from int64) error {
	metadata := []events.Record{{ID: uuid.New(), Type: "$metadata", Data: fmt.Appendf(nil, `{"$tb":%d}`, from), Metadata: []byte(`{}`)}}
	return d.call(ctx, "truncate stream "+stream+" of", func(ctx context.Context, s *session, _ func()) error {
		_, err := d.append(ctx, s, "$$"+d.prefix+stream, events.AnyRevision, metadata)
		return err
	})
}
