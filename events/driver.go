package events

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
)

// Position is an event's position in the whole log. Positions increase but have gaps; 0
// is before the first event. After a reader has seen position p, no event is added at a
// position below p.
type Position int64

// Expected revisions of an append that are not revisions themselves.
const (
	NoStream    int64 = -1 // the stream must not exist yet
	AnyRevision int64 = -2 // the last revision is not checked
)

// Limits of every driver.
const (
	MaxBatchBytes  = 4 << 20   // a read stops after its records have reached this size
	MaxAppendBytes = 896 << 10 // payload and metadata of one append; the limit of EventStoreDB is about 1 MiB
)

// Record is an event as engines store it: names and bytes. Operators see records as
// JSON.
type Record struct {
	Position Position        `json:"position"`
	ID       uuid.UUID       `json:"id"`
	Stream   string          `json:"stream"`
	Revision int64           `json:"revision"` // from 0, gapless within the stream; set by the driver on append
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata"`
}

// Driver stores records. The tests in eventstest define its contract. Code that all
// drivers would share is in Log. A Driver is safe for concurrent use. A call whose
// context has ended does nothing and returns fault.Canceled. A call after Close, or
// interrupted by Close, returns fault.Unavailable.
type Driver interface {
	// Append adds either all or none of the records to one stream, and returns the
	// revision and position of the last record. The records are durable when it returns.
	// expected is the revision of the stream's last record, NoStream or AnyRevision.
	//
	// An append is idempotent: if the stream already has records with the same ids, in
	// order, directly after expected, Append adds nothing and returns the position of the
	// last of these records. Any other wrong expected revision is fault.Conflict. With
	// AnyRevision every append adds its records.
	//
	// The error is fault.Invalid if CheckAppend rejects the append. The driver does not
	// keep references to the records' memory. If ctx ends during the call, either all
	// records are added or none; a nil error means all.
	Append(ctx context.Context, stream string, expected int64, records []Record) (Appended, error)

	// ReadStream returns up to limit records of a stream in order, beginning with
	// revision from. It returns no records if the stream ends before from or does not
	// exist. If it returns fewer than limit records and less than MaxBatchBytes, the
	// stream has no further records.
	ReadStream(ctx context.Context, stream string, from int64, limit int) ([]Record, error)

	// ReadAll returns up to limit records after a position in order of position. It
	// leaves out records whose type is in skip. Callers pass the types to skip and not
	// the types to return, so that they do not miss unknown types. The read covers the
	// log up to and including position through; pass through as after to continue. If
	// there is no new record, through equals after.
	ReadAll(ctx context.Context, after Position, limit int, skip []string) (records []Record, through Position, err error)

	// Remove removes streams: ReadStream and ReadAll no longer return their records,
	// either immediately or after the engine has reclaimed their space. All other records
	// keep their positions, and the head does not change. Streams that do not exist are
	// skipped. If one of the streams contains the log's last record, the error is
	// fault.Conflict and nothing is removed. A later append to a removed stream at
	// NoStream either creates the stream again or returns fault.Conflict.
	//
	// check, unless nil, is called before the removal takes effect, with a reader that
	// shows the log as it will be after the removal. If check fails, nothing is removed
	// and Remove returns its error. An engine that removes streams one by one may fail
	// after some of them: repeat the call to remove the rest.
	Remove(ctx context.Context, streams []string, check func(AllReader) error) error

	// Head returns the position of the last record, 0 for an empty log.
	Head(ctx context.Context) (Position, error)

	// Wait returns nil once the log's head is beyond after, or ctx's error if ctx
	// ends first.
	Wait(ctx context.Context, after Position) error

	// Close ends all calls and releases the driver's resources. Further calls of Close do
	// nothing.
	Close() error
}

// AllReader reads a log as Driver.ReadAll does.
type AllReader interface {
	ReadAll(ctx context.Context, after Position, limit int, skip []string) (records []Record, through Position, err error)
}

// Appended locates the last record of an append.
type Appended struct {
	Revision int64
	Position Position
}
