// Package compact removes orphaned texts from a log: those of files that failed,
// or whose work was interrupted and started again. It proves that everything else
// stays. It imports events and events/fault only.
package compact

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// page is how many records are read at once, if they are not too large.
const page = 2000

// Compaction removes from a log the streams of sections that no event of a
// document names and whose import job has ended. Texts of earlier versions, and
// of documents that were deleted, are named, and stay.
type Compaction struct {
	Log events.Driver
	// Before is the time before which a job must have ended, for a log that
	// other nodes append to: one that lost its connection may still file what it
	// read. Zero: at any time.
	Before time.Time
	// Progress, unless nil, is called with the progress of a step, in positions.
	Progress func(step string, done, total int64)
}

// The steps that Progress reports.
const (
	Looking  = "look"
	Digests  = "digest"
	Checking = "check"
)

// Text is a stream of sections.
type Text struct {
	Stream string
	Job    uuid.UUID
	Events int64
	Bytes  int64 // of payloads and metadata
}

// Plan is what Run removes.
type Plan struct {
	Head  events.Position // of the log, when it was read
	Texts []Text          // by stream
	// Open is how many texts no document names yet, of jobs that are running or
	// ended after Before; Unknown, of which no job is known. They stay.
	Open, Unknown int
}

// Sum returns what all texts of the plan hold.
func (p *Plan) Sum() (all Text) {
	for _, t := range p.Texts {
		all.Events += t.Events
		all.Bytes += t.Bytes
	}
	return all
}

// key names a stream of sections in few bytes.
type key struct {
	document uuid.UUID
	attempt  uint64
}

// keyOf reads the name of a stream of sections; ok is false for any other.
func keyOf(stream string) (k key, ok bool) {
	k.document = events.StreamID(stream)
	if k.document == uuid.Nil || !events.IsText(stream) {
		return k, false
	}
	dash := strings.LastIndexByte(stream, '-')
	attempt, err := strconv.ParseUint(stream[dash+1:], 10, 62)
	k.attempt = attempt
	return k, err == nil && events.TextStream(k.document, int(attempt)) == stream
}

// Plan reads the whole log, and returns what Run would remove. An event that
// cannot be read may name any text: the error is then fault.Invalid. Memory grows with the number of documents' versions, by some
// 50 bytes for each.
func (c *Compaction) Plan(ctx context.Context) (*Plan, error) {
	head, err := c.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	named, texts := make(map[key]struct{}), make(map[key]*Text)
	var last string
	err = c.each(ctx, c.Log, Looking, head, func(r *events.Record) error {
		last = r.Stream
		if k, ok := keyOf(r.Stream); ok && r.Type == sectionType {
			if _, is := named[k]; is {
				return nil
			}
			t := texts[k]
			if t == nil {
				t = &Text{Stream: r.Stream, Job: jobOf(events.Decode(*r))}
				texts[k] = t
			}
			t.Events++
			t.Bytes += int64(r.Size())
			return nil
		}
		e := events.Decode(*r)
		if e.Err != nil {
			return fault.Errorf(fault.Invalid, "an event cannot be read, and may name a text, so nothing is removed: %w", e.Err)
		}
		if content, ok := events.ContentOf(e.Data); ok {
			if k, ok := keyOf(content.TextStream); ok {
				named[k] = struct{}{}
				delete(texts, k)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c.plan(ctx, head, last, texts)
}

var sectionType = events.TypeOf(events.SectionExtracted{})

// jobOf returns the job that an event came from.
func jobOf(e events.Event) uuid.UUID {
	stream, _, _ := strings.Cut(e.Metadata.Causation, "@")
	id := events.StreamID(stream)
	if id == uuid.Nil || stream != events.JobStream(id) {
		return uuid.Nil
	}
	return id
}

// plan decides on the texts that no document names. last is the stream of the
// log's last event, which stays.
func (c *Compaction) plan(ctx context.Context, head events.Position, last string, texts map[key]*Text) (*Plan, error) {
	p, ended := &Plan{Head: head}, make(map[uuid.UUID]bool)
	for _, t := range texts {
		if t.Job == uuid.Nil {
			p.Unknown++
			continue
		}
		over, known := ended[t.Job]
		if !known {
			var err error
			if over, err = c.ended(ctx, t.Job); err != nil {
				return nil, err
			}
			ended[t.Job] = over
		}
		if !over || t.Stream == last {
			p.Open++
			continue
		}
		held, err := c.Log.ReadStream(ctx, t.Stream, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(held) == 0 { // removed, and the engine has yet to reclaim it
			continue
		}
		p.Texts = append(p.Texts, *t)
	}
	slices.SortFunc(p.Texts, func(a, b Text) int { return strings.Compare(a.Stream, b.Stream) })
	return p, nil
}

// ended reports whether a job has, early enough.
func (c *Compaction) ended(ctx context.Context, job uuid.UUID) (over bool, err error) {
	for from := int64(0); ; {
		records, err := c.Log.ReadStream(ctx, events.JobStream(job), from, page)
		if err != nil || len(records) == 0 {
			return over, err
		}
		for _, r := range records {
			if e := events.Decode(r); e.Err == nil {
				if _, is := e.Data.(events.JobFinished); is {
					over = c.Before.IsZero() || e.Metadata.Time.Before(c.Before)
				}
			}
		}
		from = records[len(records)-1].Revision + 1
	}
}

// each calls fn with every record up to a position.
func (c *Compaction) each(ctx context.Context, from events.AllReader, step string, to events.Position, fn func(*events.Record) error) error {
	for after := events.Position(0); after < to; {
		records, through, err := from.ReadAll(ctx, after, page, nil)
		if err != nil {
			return fmt.Errorf("read the log after %d: %w", after, err)
		}
		for i := range records {
			if records[i].Position > to {
				break
			}
			if err := fn(&records[i]); err != nil {
				return err
			}
		}
		if through <= after {
			return nil
		}
		after = through
		if c.Progress != nil {
			c.Progress(step, int64(min(after, to)), int64(to))
		}
	}
	return nil
}
