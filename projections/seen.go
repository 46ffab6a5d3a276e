package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"annals/events"
)

// errOther says that a log is not the one that a read model was made of: a copy
// of it that has positions of its own, or one that was put back and went on in
// another way. It is an error of the log, which may be named wrongly.
var errOther = errors.New("this is not the log that the read model was made of")

// ofOtherLog reports whether an error says that the log is not the one that was
// applied.
func ofOtherLog(err error) bool { return errors.Is(err, errAhead) || errors.Is(err, errOther) }

// seen is an event by which a log is known again.
type seen struct {
	stream   string // '' for none
	revision int64
	position events.Position
	id       string
}

// ofThisLog returns errAhead where the tables have passed more than the log
// holds, which was lost, cut off or put back, and errOther where it is another.
func (g *generation) ofThisLog(ctx context.Context) error {
	position, last, err := g.lastSeen(ctx)
	if err != nil {
		return err
	}
	head, err := g.log.Head(ctx)
	if err != nil {
		return &logError{err}
	}
	if head < position {
		return &logError{fmt.Errorf("%w: the read model is at position %d of a log that ends at %d", errAhead, position, head)}
	}
	return g.holds(ctx, last)
}

// lastSeen returns how far the tables are, and the last event that was applied.
func (g *generation) lastSeen(ctx context.Context) (position events.Position, last seen, err error) {
	err = g.store.reads().QueryRowContext(ctx, `SELECT position, seen_stream, seen_revision, seen_position, seen_id FROM checkpoint`).
		Scan(&position, &last.stream, &last.revision, &last.position, &last.id)
	return position, last, err
}

// holds returns errOther where an event does not stand in the log, at its
// position. One of a text says nothing: it may have been removed since.
func (g *generation) holds(ctx context.Context, last seen) error {
	if last.stream == "" || events.IsText(last.stream) {
		return nil
	}
	r, found, err := g.log.At(ctx, last.stream, last.revision)
	if err != nil {
		return &logError{err}
	}
	if !found || r.ID.String() != last.id || r.Position != last.position {
		return &logError{fmt.Errorf("%w: it lacks event %d of %s with id %s at position %d", errOther, last.revision, last.stream, last.id, last.position)}
	}
	return nil
}

// trusted is for how long a log is taken for the one that it was: no engine is
// stopped, put back and started in less.
const trusted = time.Second

// stillThisLog returns errOther where a batch, which was asked for at a time,
// may be of another log: one that was put back under a server, and went on
// beyond where the tables are.
func (g *generation) stillThisLog(ctx context.Context, asked time.Time) error {
	if time.Since(g.known) > trusted {
		_, last, err := g.lastSeen(ctx)
		if err == nil {
			err = g.holds(ctx, last)
		}
		if err != nil {
			return err
		}
	}
	g.known = asked
	return nil
}

// moveCheckpoint notes that everything up to a position was applied, and the
// last event of it that is of no text: texts that came to nothing are removed.
func moveCheckpoint(ctx context.Context, tx Tx, p events.Position, applied []events.Event) error {
	for len(applied) > 0 && events.IsText(applied[len(applied)-1].Stream) {
		applied = applied[:len(applied)-1]
	}
	if len(applied) == 0 {
		return tx.Exec(ctx, `UPDATE checkpoint SET position = $1 WHERE position < $1`, p)
	}
	last := applied[len(applied)-1]
	return tx.Exec(ctx, `UPDATE checkpoint SET position = $1, seen_stream = $2, seen_revision = $3, seen_position = $4, seen_id = $5 WHERE position < $1`,
		p, last.Stream, last.Revision, last.Position, last.ID.String())
}
