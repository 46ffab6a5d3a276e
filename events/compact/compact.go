// Package compact removes orphaned texts from a log: the texts of files that failed and
// of import attempts that were interrupted. It verifies that all other events stay. It
// imports events and events/fault only.
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

// page is the maximum number of records per read.
const page = 2000

// Compaction removes the text streams that no event of a document names and whose import
// job has finished. The texts of old versions and deleted documents stay, because events
// name them.
type Compaction struct {
	Log events.Driver
	// Before is the time before which a job must have finished; zero means any time. Set
	// it if other nodes append to the log: a node that has lost its connection may still
	// create a document from a text.
	Before time.Time
	// Progress, unless nil, is called during each step. done and total are log positions.
	Progress func(step string, done, total int64)
}

// The steps that Progress reports.
const (
	stepPlan   = "look"
	stepDigest = "digest"
	stepCheck  = "check"
)

// Text is a text stream.
type Text struct {
	Stream string
	Job    uuid.UUID
	Events int64
	Bytes  int64 // of payloads and metadata
}

// Plan is what Run removes.
type Plan struct {
	Head  events.Position // head of the log when Plan was called
	Texts []Text          // ordered by stream
	// Open is the number of texts that no document names, but whose job is running or
	// finished after Before. Unknown is the number of such texts without a known job. Run
	// removes none of them.
	Open, Unknown int
}

// Sum returns the total size of the texts.
func (p *Plan) Sum() (all Text) {
	for _, t := range p.Texts {
		all.Events += t.Events
		all.Bytes += t.Bytes
	}
	return all
}

// key is a compact form of the name of a text stream.
type key struct {
	document uuid.UUID
	attempt  uint64
}

// keyOf parses the name of a text stream; ok is false for other streams.
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

// Plan reads the whole log and returns what Run would remove. If an event cannot be
// decoded, the error is fault.Invalid, because that event may name any of the texts.
// Plan needs about 50 bytes of memory for each version of a document.
func (c *Compaction) Plan(ctx context.Context) (*Plan, error) {
	head, err := c.Log.Head(ctx)
	if err != nil {
		return nil, err
	}
	named, texts := make(map[key]struct{}), make(map[key]*Text)
	var last string
	err = c.each(ctx, c.Log, stepPlan, head, func(r *events.Record) error {
		last = r.Stream
		if k, ok := keyOf(r.Stream); ok && r.Type == sectionType {
			if _, found := named[k]; found {
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
			return fault.Errorf(fault.Invalid, "nothing was removed, because an unreadable event may refer to any text: %w", e.Err)
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

// jobOf returns the job that appended an event, from its metadata.
func jobOf(e events.Event) uuid.UUID {
	stream, _, _ := strings.Cut(e.Metadata.Causation, "@")
	id := events.StreamID(stream)
	if id == uuid.Nil || stream != events.JobStream(id) {
		return uuid.Nil
	}
	return id
}

// plan selects the texts to remove. No document names any of the given texts. last is
// the stream of the log's last event; it cannot be removed.
func (c *Compaction) plan(ctx context.Context, head events.Position, last string, texts map[key]*Text) (*Plan, error) {
	p, finished := &Plan{Head: head}, make(map[uuid.UUID]bool)
	for _, t := range texts {
		if t.Job == uuid.Nil {
			p.Unknown++
			continue
		}
		done, known := finished[t.Job]
		if !known {
			var err error
			if done, err = c.finished(ctx, t.Job); err != nil {
				return nil, err
			}
			finished[t.Job] = done
		}
		if !done || t.Stream == last {
			p.Open++
			continue
		}
		first, err := c.Log.ReadStream(ctx, t.Stream, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(first) == 0 { // the text is already removed, but its space is not reclaimed yet
			continue
		}
		p.Texts = append(p.Texts, *t)
	}
	slices.SortFunc(p.Texts, func(a, b Text) int { return strings.Compare(a.Stream, b.Stream) })
	return p, nil
}

// finished reports whether a job has finished before c.Before.
func (c *Compaction) finished(ctx context.Context, job uuid.UUID) (done bool, err error) {
	for from := int64(0); ; {
		records, err := c.Log.ReadStream(ctx, events.JobStream(job), from, page)
		if err != nil || len(records) == 0 {
			return done, err
		}
		for _, r := range records {
			if e := events.Decode(r); e.Err == nil {
				if _, ok := e.Data.(events.JobFinished); ok {
					done = c.Before.IsZero() || e.Metadata.Time.Before(c.Before)
				}
			}
		}
		from = records[len(records)-1].Revision + 1
	}
}

// each calls fn with every record up to position to.
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
