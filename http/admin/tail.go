package admin

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"annals/events"
)

// Log is the event log. *events.Log implements it.
type Log interface {
	Head(ctx context.Context) (events.Position, error)
	Records(ctx context.Context, after events.Position, limit int) ([]events.Record, events.Position, error)
}

// Limits of GET /admin/events.
const (
	DefaultTail = 50
	MaxTail     = 200

	maxPosition = 1 << 53  // JSON numbers are exact up to here
	maxData     = 16 << 10 // bytes of an event's data in a reply
	maxScanned  = 20_000   // events that one request reads
	page        = 500      // events in a read of the log, and at first the width of a part
	maxPart     = 4 * page // events in a part
)

// Tail selects the newest events of the log.
type Tail struct {
	Before, After events.Position // only events between these positions; 0 for no limit
	Type, Stream  string          // "" for all
	Limit         int
}

// Read returns the selected events, newest first. next is the position to continue before, 0 if there are no further
// events. A filter that few events pass may leave a page with fewer than Limit events although there are more, because
// a request reads a limited part of the log.
func (t Tail) Read(ctx context.Context, log Log) (newest []events.Record, next events.Position, err error) {
	to, err := log.Head(ctx)
	if err != nil {
		return nil, 0, err
	}
	if t.Before > 0 {
		to = min(to, t.Before-1)
	}
	// The log is read forwards, in parts of which the last comes first. Positions have gaps, which are larger in some
	// engines, so the width of a part depends on what the part before had.
	width, scanned := events.Position(page), 0
	for to > t.After && scanned < maxScanned {
		from := max(t.After, to-width)
		found, n, read, err := t.part(ctx, log, from, to)
		if err != nil {
			return nil, 0, err
		}
		scanned += read
		if n > maxPart { // the events are closer here: read a smaller part
			width = max(page, width/8)
			continue
		}
		slices.Reverse(found)
		newest = append(newest, found...)
		if len(newest) >= t.Limit {
			newest = newest[:t.Limit]
			if last := newest[t.Limit-1].Position; last-1 > t.After {
				next = last
			}
			return newest, next, nil
		}
		if to = from; n < page/2 {
			width = min(2*width, math.MaxInt64/4)
		}
	}
	if to > t.After {
		next = to + 1
	}
	return newest, next, nil
}

// part returns the last selected events after a position, up to another one. n is the number of all events there, of
// part reads few more than maxPart; read also counts those after the part that were read with them.
func (t Tail) part(ctx context.Context, log Log, after, to events.Position) (found []events.Record, n, read int, err error) {
	for after < to && n <= maxPart {
		records, through, err := log.Records(ctx, after, page)
		if err != nil {
			return nil, 0, 0, err
		}
		read += len(records)
		for _, r := range records {
			if r.Position > to {
				return found, n, read, nil
			}
			n++
			if (t.Type == "" || r.Type == t.Type) && (t.Stream == "" || r.Stream == t.Stream) {
				if found = append(found, r); len(found) > t.Limit {
					found = slices.Delete(found, 0, 1)
				}
			}
		}
		if through <= after {
			break
		}
		after = through
	}
	return found, n, read, nil
}

// event is an event in the reply to GET /admin/events.
type event struct {
	Position events.Position `json:"position"`
	ID       string          `json:"id"`
	Stream   string          `json:"stream"`
	Revision int64           `json:"revision"`
	Type     string          `json:"type"`
	Metadata json.RawMessage `json:"metadata"`
	Data     json.RawMessage `json:"data"`
	Bytes    int             `json:"bytes"`
	Withheld *string         `json:"withheld"` // what Data is without, and why
}

// eventOf returns the body for an event.
func eventOf(r events.Record) event {
	data, withheld := tell(r)
	return event{r.Position, r.ID.String(), r.Stream, r.Revision, r.Type, r.Metadata, data, len(r.Data), orNull(withheld)}
}
