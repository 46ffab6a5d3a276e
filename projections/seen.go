package projections

import (
	"context"
	"errors"
	"fmt"

	"annals/events"
)

// errOther says that a log is not the one that a read model was made of: a copy
// of it that has positions of its own, or one that was put back and went on in
// another way. It is an error of the log, which may be named wrongly.
var errOther = errors.New("this is not the log that the read model was made of")

// seen is an event by which a log is known again.
type seen struct {
	stream   string // '' for none
	revision int64
	position events.Position
	id       string
}

// seenHere returns errOther where the last event that was applied does not stand
// in the log, at its position.
func (g *generation) seenHere(ctx context.Context) error {
	var last seen
	err := g.store.reads().QueryRowContext(ctx, `SELECT seen_stream, seen_revision, seen_position, seen_id FROM checkpoint`).
		Scan(&last.stream, &last.revision, &last.position, &last.id)
	if err != nil || last.stream == "" {
		return err
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

// moveCheckpoint notes that everything up to a position was applied, and the
// last event of it.
func moveCheckpoint(ctx context.Context, tx Tx, p events.Position, applied []events.Event) error {
	if len(applied) == 0 {
		return tx.Exec(ctx, `UPDATE checkpoint SET position = $1 WHERE position < $1`, p)
	}
	last := applied[len(applied)-1]
	return tx.Exec(ctx, `UPDATE checkpoint SET position = $1, seen_stream = $2, seen_revision = $3, seen_position = $4, seen_id = $5 WHERE position < $1`,
		p, last.Stream, last.Revision, last.Position, last.ID.String())
}
