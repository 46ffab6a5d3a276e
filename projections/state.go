package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/fault"
)

// State is how far a read model is, as its file tells beside whoever writes to
// it.
type State struct {
	Name       string
	Makes      int             // version that this program makes
	Version    int             // of what serves
	Generation int             // that serves; 0 where none does yet
	Position   events.Position // of its tables, which a search index follows
	Head       events.Position // of the log
	Lag        time.Duration   // for how long the first event not passed is in the log
	Parked     int             // events
	Spares     []Spare
	Problem    string // why nothing is known of what serves
	Leader     string // the node that brings it forward, of those that share it; "" where none does
	Silent     bool   // the leader does not tell any more that it is there
	Stopped    string // why it does not pass the next event, which is of the folder tree and cannot be read
}

// Spare is a generation beside the one that serves.
type Spare struct {
	Generation, Version int
	State               string // filling, ready or kept
	Position            events.Position
}

// State reads how far a read model is, and its generations, beside a log that
// ends at head. It writes nothing.
func (o Options) State(ctx context.Context, name string, head events.Position) (s State, err error) {
	p, err := named(name)
	if err != nil {
		return s, err
	}
	s.Name, s.Makes, s.Head = name, p.Version(), head
	if s.Version, s.Generation, err = o.ControlOf(name).generation(ctx, name); err != nil {
		return s, err
	}
	if s.Generation > 0 {
		if s.Position, s.Parked, err = o.position(ctx, p, s.Generation); err != nil {
			s.Problem = err.Error() // it may be damaged, or be deleted at the moment
		}
		if d, ok := o.home(p).(*Database); ok && o.ControlOf(name).shared { // nodes tell there that they live
			if s.Leader, s.Silent, err = d.leader(ctx, generationName(p, s.Generation)); err != nil {
				return s, err
			}
		}
	}
	spares, err := o.ControlOf(name).spares(ctx, name)
	for _, spare := range spares {
		if spare.state == gone {
			continue
		}
		at, _, _ := o.position(ctx, p, spare.generation) // it may only just be made
		s.Spares = append(s.Spares, Spare{spare.generation, spare.version, spare.state, at})
	}
	if err != nil || s.Generation == 0 || s.Problem != "" || s.Position >= s.Head {
		return s, err
	}
	if s.Lag, err = Age(ctx, o.Log, s.Position); err == nil {
		s.Stopped, err = o.stopped(ctx, p, s.Position)
	}
	return s, err
}

// stopped tells why the next event is not passed, where it is one of the folder
// tree that cannot be read; "" where that is not so.
func (o Options) stopped(ctx context.Context, p Projection, after events.Position) (string, error) {
	batch, _, err := o.Log.Read(ctx, after, 1, p.Types()...)
	if err != nil || len(batch) == 0 || batch[0].Stream != events.Folders || batch[0].Err == nil {
		return "", err
	}
	return fmt.Sprintf("position %d: %v", batch[0].Position, batch[0].Err), nil
}

// Age returns for how long the first event after a position is in the log, 0
// where there is none. What cannot be read of an event has no time: then 0.
func Age(ctx context.Context, log *events.Log, after events.Position) (time.Duration, error) {
	for {
		batch, through, err := log.Read(ctx, after, 1)
		switch {
		case err != nil:
			return 0, err
		case len(batch) > 0 && batch[0].Metadata.Time.IsZero():
			return 0, nil
		case len(batch) > 0:
			return max(0, time.Since(batch[0].Metadata.Time)), nil // clocks of machines differ
		case through <= after:
			return 0, nil
		}
		after = through // a driver may find nothing between two positions
	}
}

// ParkedEvent is an event that could not be applied to a read model, or one
// that waits behind it.
type ParkedEvent struct {
	Position events.Position
	Stream   string
	Revision int64
	Reason   string
	Type     string
	Time     time.Time // of the event; zero where it cannot be read
}

// Parked returns up to limit of the events after a position that are parked in
// what serves of a read model, and how many more there are: of one stream, or of
// all where stream is empty.
func (o Options) Parked(ctx context.Context, name, stream string, after events.Position, limit int) (page []ParkedEvent, more int, err error) {
	p, err := named(name)
	if err != nil {
		return nil, 0, err
	}
	_, number, err := o.ControlOf(name).generation(ctx, name)
	if err != nil || number == 0 {
		return nil, 0, err
	}
	db, err := o.home(p).view(ctx, generationName(p, number))
	if err != nil {
		return nil, 0, fmt.Errorf("parked events of %s: %w", name, err)
	}
	defer db.close()
	const those = `FROM parked WHERE position > $1 AND ($2 = '' OR stream = $2)`
	page, err = List(ctx, db, func(e *ParkedEvent) []any { return []any{&e.Position, &e.Stream, &e.Revision, &e.Reason} },
		`SELECT position, stream, revision, reason `+those+` ORDER BY position LIMIT CAST($3 AS INTEGER)`, after, stream, limit)
	if err == nil && len(page) == limit {
		err = db.QueryRowContext(ctx, `SELECT count(*) `+those, page[limit-1].Position, stream).Scan(&more)
	}
	for i := 0; i < len(page) && err == nil; i++ {
		var e events.Event
		e, _, err = eventAt(ctx, o.Log, page[i].Position)
		page[i].Type, page[i].Time = e.Type, e.Metadata.Time
	}
	if err != nil {
		return nil, 0, fmt.Errorf("parked events of %s: %w", name, err)
	}
	return page, more, nil
}

// position reads up to where a generation is, and how many events are parked
// there. Tables that their index has yet to follow are ahead of it.
func (o Options) position(ctx context.Context, p Projection, generation int) (at events.Position, parked int, err error) {
	tables, err := o.home(p).view(ctx, generationName(p, generation))
	if err != nil {
		return 0, 0, err
	}
	const tablesAt = `SELECT position, (SELECT count(*) FROM parked) FROM checkpoint`
	const indexAt = `SELECT CASE WHEN EXISTS (SELECT 1 FROM unindexed) OR EXISTS (SELECT 1 FROM forgotten) THEN i.position ELSE c.position END,
		(SELECT count(*) FROM parked) FROM checkpoint c CROSS JOIN indexed i`
	query := tablesAt
	if p.Name() == passagesName {
		query = indexAt
	}
	err = tables.QueryRowContext(ctx, query).Scan(&at, &parked)
	return at, parked, errors.Join(err, tables.close())
}

// Reader is what the tables of a read model are read from.
type Reader interface {
	Queryer
	QueryRowContext(ctx context.Context, query string, args ...any) Row
}

// Served lets read look at the tables of a read model that serve, beside
// whoever writes to them. Where there are none that today's program reads it is
// fault.Unavailable.
func (o Options) Served(ctx context.Context, p Projection, read func(Reader) error) error {
	version, number, err := o.ControlOf(p.Name()).generation(ctx, p.Name())
	if err != nil {
		return err
	}
	if number == 0 || !readable(p, version) {
		return fault.Errorf(fault.Unavailable, "the read model %s has not been made yet by this version of the program: annals serve makes it", p.Name())
	}
	tables, err := o.home(p).view(ctx, generationName(p, number))
	if err != nil {
		return fmt.Errorf("read %s: %w", p.Name(), err)
	}
	return errors.Join(read(tables), tables.close())
}
