package copylog

import (
	"bytes"
	"context"
	"fmt"

	"annals/events"
	"annals/events/fault"
)

// page is the maximum number of records per read.
const page = 2000

// side is the part of one log that has been compared so far.
type side struct {
	at     events.Position
	count  int64
	digest events.Digester
}

// add adds the next record to the digest.
func (s *side) add(r *events.Record) {
	s.digest.Add(r)
	s.at, s.count = r.Position, s.count+1
}

// compare compares the rest of the target with the source, and returns an error at the
// first record that differs. It reads the target before the source: records that a
// concurrent copy has just added to the target are certainly in the source.
func (c *Copy) compare(ctx context.Context, head events.Position) error {
	for after := c.target.at; ; {
		records, through, err := c.To.ReadAll(ctx, after, page, nil)
		if err != nil {
			return fmt.Errorf("read the target: %w", err)
		}
		if through <= after {
			return nil
		}
		if err := c.compareTo(ctx, records); err != nil {
			return err
		}
		after = through
		c.report(stepCompare, c.source.at, head)
	}
}

// compareTo compares held, the next records of the target, with the source. It ignores
// texts that were removed from the source: some records of these texts may still be in
// one of the logs or in both.
func (c *Copy) compareTo(ctx context.Context, held []events.Record) error {
	for after := c.source.at; len(held) > 0; {
		records, through, err := c.From.ReadAll(ctx, after, len(held), nil)
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		if through <= after {
			removed, err := c.removed(ctx, &held[0])
			if err != nil {
				return err
			}
			if !removed {
				return foreign(c.target.count, &held[0], "continues", "the source ends there")
			}
			c.target.at, held = held[0].Position, held[1:]
			continue
		}
		for after = through; len(records) > 0 && len(held) > 0; {
			of, to := &records[0], &held[0]
			if equal(of, to) {
				c.source.add(of)
				c.target.add(to)
				records, held = records[1:], held[1:]
				continue
			}
			sourceRemoved, err := c.removed(ctx, of)
			if err != nil {
				return err
			}
			targetRemoved, err := c.removed(ctx, to)
			switch {
			case err != nil:
				return err
			case targetRemoved:
				held, c.target.at = held[1:], to.Position
			case sourceRemoved:
				records, c.source.at = records[1:], of.Position
			default:
				return foreign(c.target.count, to, "differs", "the source has "+name(of))
			}
		}
		if len(records) > 0 {
			after = c.source.at
		}
	}
	return nil
}

// removed reports whether an event belongs to a text that was removed from the source.
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

// foreignError means that the target differs from the source, so that retrying is
// useless.
type foreignError struct{ error }

func (e *foreignError) Unwrap() error { return e.error }

func foreign(before int64, r *events.Record, problem, expected string) error {
	return &foreignError{fault.Errorf(fault.Conflict, "the target %s after %d events: at position %d it holds %s, and %s",
		problem, before, r.Position, name(r), expected)}
}

func name(r *events.Record) string {
	return fmt.Sprintf("event %d of %s (%s, id %s)", r.Revision, r.Stream, r.Type, r.ID)
}
