package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"annals/events/fault"

	"github.com/google/uuid"
)

// Log is the append-only log of all events. It is safe for concurrent use.
type Log struct {
	driver Driver
	now    func() time.Time
}

// NewLog returns a log over a driver, and takes ownership of the driver.
func NewLog(d Driver) *Log { return &Log{driver: d, now: time.Now} }

// Close closes the driver.
func (l *Log) Close() error { return l.driver.Close() }

// Append adds either all or none of the events to one stream, and returns the revision
// and position of the last event. The events are durable when it returns. Its errors are
// those of Driver.Append: fault.Conflict if the stream is not at the expected revision,
// unless events with the same ids were already appended at that revision.
func (l *Log) Append(ctx context.Context, stream string, expected int64, cause Cause, events ...New) (Appended, error) {
	records := make([]Record, len(events))
	now := l.now().UTC().Truncate(time.Microsecond)
	for i, e := range events {
		name := e.Data.eventType()
		schema, known := current[name]
		if !known {
			return Appended{}, fault.Errorf(fault.Internal, "append to %s: the event type %s is not registered", stream, name)
		}
		data, err := json.Marshal(e.Data)
		if err != nil {
			return Appended{}, fmt.Errorf("encode %s: %w", name, err)
		}
		meta, err := json.Marshal(Metadata{
			Time: now, Actor: cause.Actor, Via: cause.Via, Schema: schema,
			Correlation: cause.Correlation, Causation: cause.Causation,
		})
		if err != nil {
			return Appended{}, fmt.Errorf("encode metadata of %s: %w", name, err)
		}
		if e.ID == uuid.Nil {
			e.ID = uuid.New()
		}
		records[i] = Record{ID: e.ID, Stream: stream, Type: name, Data: data, Metadata: meta}
	}
	return l.driver.Append(ctx, stream, expected, records)
}

// ErrUnreadable is wrapped by errors about events that cannot be decoded. Errors of the
// log itself do not wrap it.
var ErrUnreadable = errors.New("an event cannot be read")

// ReadStream calls fn with every event of a stream from a revision on, in
// order, and stops at the first error of fn. An event that cannot be decoded
// ends the read with ErrUnreadable: a decision must be based on the whole stream.
func (l *Log) ReadStream(ctx context.Context, stream string, from int64, fn func(Event) error) error {
	const page = 500
	for {
		records, err := l.driver.ReadStream(ctx, stream, from, page)
		if err != nil {
			return fmt.Errorf("read stream %s: %w", stream, err)
		}
		size := 0
		for _, r := range records {
			size += r.Size()
			e := Decode(r)
			if e.Err != nil {
				return fmt.Errorf("%w: %w", ErrUnreadable, e.Err)
			}
			if err := fn(e); err != nil {
				return err
			}
			from = r.Revision + 1
		}
		if len(records) < page && size < MaxBatchBytes {
			return nil
		}
	}
}

// Read returns up to limit events after a position, in order: those of the given types,
// or all if types is empty. Events of an unknown type are always included, with Err set,
// because they may matter to the reader. The read covers everything up to through, which
// equals after if there is nothing new.
func (l *Log) Read(ctx context.Context, after Position, limit int, types ...string) (batch []Event, through Position, err error) {
	records, through, err := l.driver.ReadAll(ctx, after, limit, allExcept(types))
	if err != nil {
		return nil, after, fmt.Errorf("read log after %d: %w", after, err)
	}
	return decodeAll(records), through, nil
}

// allExcept returns the known types except the given ones, or no type if none are
// given.
func allExcept(types []string) (others []string) {
	if len(types) == 0 {
		return nil
	}
	for known := range current {
		if !slices.Contains(types, known) {
			others = append(others, known)
		}
	}
	return others
}

// Head returns the position of the last event.
func (l *Log) Head(ctx context.Context) (Position, error) { return l.driver.Head(ctx) }

// Wait returns nil once the log holds an event after a position, or ctx's error if ctx
// ends first.
func (l *Log) Wait(ctx context.Context, after Position) error { return l.driver.Wait(ctx, after) }

// Records returns up to limit raw records after a position, for printing and copying,
// and the position up to which the log was read.
func (l *Log) Records(ctx context.Context, after Position, limit int) ([]Record, Position, error) {
	return l.driver.ReadAll(ctx, after, limit, nil)
}

// At returns the raw record at a revision of a stream, and whether there is one.
func (l *Log) At(ctx context.Context, stream string, revision int64) (r Record, found bool, err error) {
	records, err := l.driver.ReadStream(ctx, stream, revision, 1)
	if err != nil || len(records) == 0 || records[0].Revision != revision {
		return Record{}, false, err
	}
	return records[0], true, nil
}

// identity is the UUID name space of computed ids.
var identity = uuid.MustParse("6f2a3c0e-2f0e-5b0b-9d0a-8c1d5a7e4b11")

// EventID returns the id of an event that an import appends: a hash of the arguments. If
// the same job repeats an append after a crash, the log recognises the ids and adds
// nothing. An append by another job at the same revision has different ids, so it is a
// conflict.
func EventID(stream string, revision int64, job uuid.UUID, file int, data Data) uuid.UUID {
	b, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("events: %s cannot be encoded: %v", data.eventType(), err)) // cannot happen: plain structs can always be encoded
	}
	h := fmt.Appendf(nil, "event\x00%s\x00%d\x00%s\x00%d\x00%s\x00", stream, revision, job, file, data.eventType())
	return uuid.NewSHA1(identity, append(h, b...))
}

// DocumentID returns the id of the nth document, from 0, created from the same bytes
// in the same folder.
func DocumentID(folder uuid.UUID, sha256 string, n int) uuid.UUID {
	return uuid.NewSHA1(folder, fmt.Appendf(nil, "document\x00%s\x00%d", sha256, n))
}

// NamedDocumentID returns the id of the nth document, from 0, created in a folder by a
// file that replaces the document of the same name. Concurrent imports of such files
// append to the same stream, so only one of them creates the document.
func NamedDocumentID(folder uuid.UUID, name string, n int) uuid.UUID {
	return uuid.NewSHA1(folder, fmt.Appendf(nil, "named\x00%s\x00%d", name, n))
}

// SummaryID returns the id of a folder's summary, which can be read like a document.
func SummaryID(folder uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(folder, []byte("summary"))
}
