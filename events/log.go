package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Log is the append-only record of everything that happened. It is safe for
// use by several goroutines.
type Log struct {
	driver Driver
	now    func() time.Time
}

// NewLog returns a log over a driver, which it owns from now on.
func NewLog(d Driver) *Log { return &Log{driver: d, now: time.Now} }

// Close closes the driver.
func (l *Log) Close() error { return l.driver.Close() }

// Append adds events to one stream, all or none, and returns where the last
// of them stands; they are durable then. Its errors are those of
// Driver.Append: fault.Conflict where the stream is not at the expected
// revision, unless the same events (by id) were appended there before.
func (l *Log) Append(ctx context.Context, stream string, expected int64, cause Cause, events ...New) (Appended, error) {
	records := make([]Record, len(events))
	now := l.now().UTC().Truncate(time.Microsecond)
	for i, e := range events {
		name := e.Data.eventType()
		data, err := json.Marshal(e.Data)
		if err != nil {
			return Appended{}, fmt.Errorf("encode %s: %w", name, err)
		}
		meta, err := json.Marshal(Metadata{
			Time: now, Actor: cause.Actor, Via: cause.Via, Schema: current[name],
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

// ErrUnreadable is in the tree of an error that is of an event alone, which
// cannot be decoded, and not of the log.
var ErrUnreadable = errors.New("an event cannot be read")

// ReadStream calls fn with every event of a stream from a revision on, in
// order, until the end or an error of fn's. An event that cannot be decoded
// ends the reading with ErrUnreadable: what decides on a stream must know all
// of it.
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

// Read returns up to limit events after a position, in order: those of the
// given types, or all where types is empty. Events of a type that nobody knows
// come with either, as their Err tells: who reads cannot know that they are not
// for him. Everything up to through has been looked at; it equals after when
// there is nothing new.
func (l *Log) Read(ctx context.Context, after Position, limit int, types ...string) (batch []Event, through Position, err error) {
	records, through, err := l.driver.ReadAll(ctx, after, limit, othersThan(types))
	if err != nil {
		return nil, after, fmt.Errorf("read log after %d: %w", after, err)
	}
	return decodeAll(records), through, nil
}

// othersThan returns the known types that are none of these; none where these
// are none.
func othersThan(types []string) (others []string) {
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

// Wait returns nil once there is an event beyond after, or ctx's error.
func (l *Log) Wait(ctx context.Context, after Position) error { return l.driver.Wait(ctx, after) }

// Records gives the log's raw records to what prints or copies them.
func (l *Log) Records(ctx context.Context, after Position, limit int) ([]Record, Position, error) {
	return l.driver.ReadAll(ctx, after, limit, nil)
}

// At returns the raw record at a revision of a stream; found tells whether
// there is one.
func (l *Log) At(ctx context.Context, stream string, revision int64) (r Record, found bool, err error) {
	records, err := l.driver.ReadStream(ctx, stream, revision, 1)
	if err != nil || len(records) == 0 || records[0].Revision != revision {
		return Record{}, false, err
	}
	return records[0], true, nil
}

// identity is the name space of ids that are computed, not drawn.
var identity = uuid.MustParse("6f2a3c0e-2f0e-5b0b-9d0a-8c1d5a7e4b11")

// EventID returns the id of an event that an import appends: the same for the
// same data at the same place in the same job, so that an append which is
// repeated after a crash is recognised, and another job's is not.
func EventID(stream string, revision int64, job uuid.UUID, file int, data Data) uuid.UUID {
	b, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("events: %s cannot be encoded: %v", data.eventType(), err)) // plain structs always can
	}
	h := fmt.Appendf(nil, "event\x00%s\x00%d\x00%s\x00%d\x00%s\x00", stream, revision, job, file, data.eventType())
	return uuid.NewSHA1(identity, append(h, b...))
}

// DocumentID returns the id of the nth document, from 0, made of the same
// bytes in the same folder.
func DocumentID(folder uuid.UUID, sha256 string, n int) uuid.UUID {
	return uuid.NewSHA1(folder, fmt.Appendf(nil, "document\x00%s\x00%d", sha256, n))
}

// NamedDocumentID returns the id of the nth document, from 0, that was made in a
// folder by a file that replaces the one of its name. Whoever makes one meets
// all others who do so in the stream of this document.
func NamedDocumentID(folder uuid.UUID, name string, n int) uuid.UUID {
	return uuid.NewSHA1(folder, fmt.Appendf(nil, "named\x00%s\x00%d", name, n))
}

// SummaryID returns the id under which a folder's summary can be read like a
// document.
func SummaryID(folder uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(folder, []byte("summary"))
}
