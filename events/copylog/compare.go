package copylog

import (
	"bytes"
	"context"
	"fmt"

	"annals/events"
	"annals/events/fault"
)

// page is how many records are read at once, if they are not too large.
const page = 2000

// side is one log, as far as it was compared.
type side struct {
	at     events.Position
	count  int64
	digest events.Digester
}

// pass takes the log's next record into its digest.
func (s *side) pass(r *events.Record) {
	s.digest.Add(r)
	s.at, s.count = r.Position, s.count+1
}

// compare continues to the end of the target, and returns an error at the first record
// that differs from the source. It reads the target first, so the source already has
// any record that another copy added to the target.
func (c *Copy) compare(ctx context.Context, head events.Position) error {
	for after := c.target.at; ; {
		held, through, err := c.To.ReadAll(ctx, after, page, nil)
		if err != nil {
			return fmt.Errorf("read the target: %w", err)
		}
		if through <= after {
			return nil
		}
		if err := c.compareTo(ctx, held); err != nil {
			return err
		}
		after = through
		c.report(Comparing, c.source.at, head)
	}
}

// compareTo compares the next records of the target with the source. Records of a text
// that was removed from the source are ignored on both sides, because they may or may
// not exist there.
func (c *Copy) compareTo(ctx context.Context, held []events.Record) error {
	for after := c.source.at; len(held) > 0; {
		records, through, err := c.From.ReadAll(ctx, after, len(held), nil)
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		if through <= after {
			gone, err := c.removed(ctx, &held[0])
			if err != nil {
				return err
			}
			if !gone {
				return foreign(c.target.count, &held[0], "goes on", "the source ends there")
			}
			c.target.at, held = held[0].Position, held[1:]
			continue
		}
		for after = through; len(records) > 0 && len(held) > 0; {
			of, to := &records[0], &held[0]
			if equal(of, to) {
				c.source.pass(of)
				c.target.pass(to)
				records, held = records[1:], held[1:]
				continue
			}
			goneOf, err := c.removed(ctx, of)
			if err != nil {
				return err
			}
			goneTo, err := c.removed(ctx, to)
			switch {
			case err != nil:
				return err
			case goneTo:
				held, c.target.at = held[1:], to.Position
			case goneOf:
				records, c.source.at = records[1:], of.Position
			default:
				return foreign(c.target.count, to, "differs", "the source holds "+name(of))
			}
		}
		if len(records) > 0 {
			after = c.source.at
		}
	}
	return nil
}

// removed reports whether an event is of a text that was removed from the
// source.
func (c *Copy) removed(ctx context.Context, r *events.Record) (bool, error) {
	if !events.IsText(r.Stream) {
		return false, nil
	}
	records, err := c.From.ReadStream(ctx, r.Stream, 0, 1)
	if err != nil {
		return false, fmt.Errorf("read the source: %w", err)
	}
	return len(records) == 0, nil
}

// equal reports whether two records are the same event, regardless of position.
func equal(a, b *events.Record) bool {
	return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision && a.Type == b.Type &&
		bytes.Equal(a.Metadata, b.Metadata) && bytes.Equal(a.Data, b.Data)
}

// foreignError means that the target differs from the source. Retrying does not help.
type foreignError struct{ error }

func (e *foreignError) Unwrap() error { return e.error }

func foreign(before int64, r *events.Record, what, instead string) error {
	return &foreignError{fault.Errorf(fault.Conflict, "the target %s after %d events: at position %d it holds %s, and %s",
		what, before, r.Position, name(r), instead)}
}

func name(r *events.Record) string {
	return fmt.Sprintf("event %d of %s (%s, id %s)", r.Revision, r.Stream, r.Type, r.ID)
}
