package generation

import (
	"context"
	"fmt"
	"time"

	"annals/events"
	"annals/events/sqldb"
	"annals/projections/readmodel"
	"annals/projections/tables"
)

// ParkedEvent is an event that could not be applied to a read model, or a later event of
// the same stream.
type ParkedEvent struct {
	Position events.Position
	Stream   string
	Revision int64
	Reason   string
	Type     string
	Time     time.Time // of the event; zero if it cannot be read
}

// Parked returns up to limit parked events after a position in the active generation of a
// read model. more is the number of parked events after these. If stream is not empty,
// only events of that stream count.
func (o Options) Parked(ctx context.Context, name, stream string, after events.Position, limit int) (page []ParkedEvent, more int, err error) {
	p, err := readmodel.Named(name)
	if err != nil {
		return nil, 0, err
	}
	_, number, err := o.ControlOf(name).Active(ctx, name)
	if err != nil || number == 0 {
		return nil, 0, err
	}
	db, err := o.HomeOf(p).View(ctx, NameOf(p, number))
	if err != nil {
		return nil, 0, fmt.Errorf("read the parked events of %s: %w", name, err)
	}
	defer db.Close()
	const matching = `FROM parked WHERE position > $1 AND ($2 = '' OR stream = $2)`
	page, err = sqldb.List(ctx, db, func(e *ParkedEvent) []any { return []any{&e.Position, &e.Stream, &e.Revision, &e.Reason} },
		`SELECT position, stream, revision, reason `+matching+` ORDER BY position LIMIT CAST($3 AS INTEGER)`, after, stream, limit)
	if err == nil && len(page) == limit {
		err = db.QueryRowContext(ctx, `SELECT count(*) `+matching, page[limit-1].Position, stream).Scan(&more)
	}
	for i := 0; i < len(page) && err == nil; i++ {
		var e events.Event
		e, _, err = eventAt(ctx, o.Log, page[i].Position)
		page[i].Type, page[i].Time = e.Type, e.Metadata.Time
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the parked events of %s: %w", name, err)
	}
	return page, more, nil
}

// CanRetry reports whether a rebuild may apply parked events: this program can read
// the first parked event of the stream, or of any stream if stream is empty.
func (o Options) CanRetry(ctx context.Context, name, stream string) (bool, error) {
	var first []events.Position
	err := o.Served(ctx, name, func(tables Reader) (err error) {
		first, err = sqldb.List(ctx, tables, func(p *events.Position) []any { return []any{p} },
			`SELECT min(position) AS first FROM parked WHERE $1 = '' OR stream = $1 GROUP BY stream ORDER BY first`, stream)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, at := range first {
		switch e, found, err := eventAt(ctx, o.Log, at); {
		case err != nil:
			return false, err
		case !found:
			return false, fmt.Errorf("read a parked event of %s: the log has no event at position %d", name, at)
		case e.Err == nil:
			return true, nil
		}
	}
	return false, nil
}

// eventAt reads the event at a position of the log.
func eventAt(ctx context.Context, log *events.Log, at events.Position) (e events.Event, found bool, err error) {
	batch, _, err := log.Read(ctx, at-1, 1)
	if err != nil || len(batch) == 0 || batch[0].Position != at {
		return events.Event{}, false, err
	}
	return batch[0], true, nil
}

// parkedStreams returns the streams with parked events.
func parkedStreams(ctx context.Context, s tables.Store) (map[string]bool, error) {
	parked, err := sqldb.Column[string](ctx, s.Reads(), `SELECT DISTINCT stream FROM parked`)
	streams := make(map[string]bool)
	for _, stream := range parked {
		streams[stream] = true
	}
	return streams, err
}
