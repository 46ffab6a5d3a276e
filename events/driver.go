package events

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
)

// Position is a place in the whole log. Positions rise but have gaps; 0 is
// before the first event. A reader who has seen position p never later finds
// an event below p.
type Position int64

// Expected revisions of an append that are not revisions themselves.
const (
	NoStream    int64 = -1 // the stream must not exist yet
	AnyRevision int64 = -2 // wherever the stream ends
)

// Limits that hold for every driver.
const (
	MaxBatchBytes  = 4 << 20   // a read returns no further record once it holds this much
	MaxAppendBytes = 896 << 10 // payload and metadata of one append; EventStoreDB takes about 1 MiB
)

// Record is an event as engines see it: names and bytes. Its JSON is what
// operators read of the log.
type Record struct {
	Position Position        `json:"position"`
	ID       uuid.UUID       `json:"id"`
	Stream   string          `json:"stream"`
	Revision int64           `json:"revision"` // from 0, gapless within the stream; set by the driver on append
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata"`
}

// Driver stores records. What it promises is what eventstest checks, no more;
// everything that drivers share lives in Log. It is safe for use by several
// goroutines. A call whose context has ended does nothing and is
// fault.Canceled; one after Close, or cut off by it, is fault.Unavailable.
type Driver interface {
	// Append adds records to one stream, all or none, durable when it
	// returns, and returns the position of the last. expected is the
	// revision of the stream's last record, NoStream or AnyRevision.
	//
	// Where expected is not met, but the stream holds records of the same
	// ids, in order, directly after expected, the append was made before:
	// the position of the last of them is returned and nothing is added.
	// Otherwise the error is of kind fault.Conflict. With AnyRevision every
	// append is new. An append of more than MaxAppendBytes, of no
	// records, or to an impossible stream or revision is fault.Invalid, as
	// CheckAppend says. The driver keeps none of the records' memory. When
	// ctx ends meanwhile, the append is whole or absent; without an error it
	// is whole.
	Append(ctx context.Context, stream string, expected int64, records []Record) (Appended, error)

	// ReadStream returns up to limit records of a stream from a revision
	// on, in order; none when there are no more or no such stream. Fewer, of
	// less than MaxBatchBytes, are the last.
	ReadStream(ctx context.Context, stream string, from int64, limit int) ([]Record, error)

	// ReadAll returns up to limit records after a position in order of
	// position, without those whose type is one of skip. It is told what to
	// leave out, not what to return, so that nobody misses a type that he does
	// not know. Everything up to and including through has been looked at: the
	// next read goes on after it. through equals after when nothing new is
	// there.
	ReadAll(ctx context.Context, after Position, limit int, skip []string) (records []Record, through Position, err error)

	// Remove ends streams: ReadStream returns none of their records any more,
	// ReadAll neither, at once or when the engine tidies up. All other records
	// stay as they are, with their positions, and so does the head. Streams that
	// are not there are passed over; the one that holds the log's last record
	// is fault.Conflict, and nothing is removed then. A later append to such a
	// stream at NoStream begins it anew, or is fault.Conflict.
	//
	// check, unless nil, is called before anything counts, with a reader of what
	// the log will be; its error leaves all as it was, and is returned. Where an
	// engine removes one stream after the other, an error of its own may leave
	// some of them removed: the same call again removes the rest.
	Remove(ctx context.Context, streams []string, check func(AllReader) error) error

	// Head returns the position of the last record, 0 for an empty log.
	Head(ctx context.Context) (Position, error)

	// Wait returns nil once the log's head is beyond after, whoever appended,
	// or ctx's error.
	Wait(ctx context.Context, after Position) error

	// Close ends all calls and frees what the driver holds. Closing again
	// does nothing.
	Close() error
}

// AllReader reads a log as Driver.ReadAll does.
type AllReader interface {
	ReadAll(ctx context.Context, after Position, limit int, skip []string) (records []Record, through Position, err error)
}

// Appended tells where the last record of an append stands.
type Appended struct {
	Revision int64
	Position Position
}
