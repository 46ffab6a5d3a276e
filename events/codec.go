package events

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"annals/events/fault"
)

// Kind names a released form of an event: its type and the version of its
// schema. Both are literals, chosen once; stored data hangs on them.
type Kind struct {
	Type   string
	Schema int
}

// String returns the kind as "Type.v1".
func (k Kind) String() string { return fmt.Sprintf("%s.v%d", k.Type, k.Schema) }

// codec reads stored payloads as today's structs, by kind.
type codec map[Kind]func([]byte) (Data, error)

// decoders lists every event type ever released, by name and schema version.
// The highest version of each is written; older ones are upgraded on reading.
// TestHowAnEventChanges shows how.
var decoders = codec{
	{"SectionExtracted", 1}: decode[SectionExtracted],
	{"DocumentImported", 1}: decode[DocumentImported],
	{"DocumentRenamed", 1}:  decode[DocumentRenamed],
	{"DocumentMoved", 1}:    decode[DocumentMoved],
	{"DocumentTagged", 1}:   decode[DocumentTagged],
	{"DocumentRevised", 1}:  decode[DocumentRevised],
	{"DocumentReread", 1}:   decode[DocumentReread],
	{"DocumentDeleted", 1}:  decode[DocumentDeleted],
	{"FolderCreated", 1}:    decode[FolderCreated],
	{"FolderRenamed", 1}:    decode[FolderRenamed],
	{"FolderMoved", 1}:      decode[FolderMoved],
	{"FolderShared", 1}:     decode[FolderShared],
	{"FolderDeleted", 1}:    decode[FolderDeleted],
	{"FileAccepted", 1}:     decode[FileAccepted],
	{"ImportRequested", 1}:  decode[ImportRequested],
	{"FileStarted", 1}:      decode[FileStarted],
	{"FileStepped", 1}:      decode[FileStepped],
	{"FileImported", 1}:     decode[FileImported],
	{"FileFailed", 1}:       decode[FileFailed],
	{"JobFinished", 1}:      decode[JobFinished],

	{"FolderInvitationAccepted", 1}: decode[FolderInvitationAccepted],
	{"FolderInvitationDeclined", 1}: decode[FolderInvitationDeclined],
	{"FolderLeft", 1}:               decode[FolderLeft],
	{"InviterUnblocked", 1}:         decode[InviterUnblocked],
}

// current is the schema version that is written, by type.
var current = func() map[string]int {
	versions := make(map[string]int)
	for k := range decoders {
		versions[k.Type] = max(versions[k.Type], k.Schema)
	}
	return versions
}()

// Kinds returns every kind that can be read, ordered by type and version.
func Kinds() []Kind {
	return slices.SortedFunc(maps.Keys(decoders), func(a, b Kind) int {
		if a.Type != b.Type {
			if a.Type < b.Type {
				return -1
			}
			return 1
		}
		return a.Schema - b.Schema
	})
}

// TypeOf returns the name under which data is stored.
func TypeOf(data Data) string { return data.eventType() }

func decode[T Data](b []byte) (Data, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// Decode reads a record as an event. It never fails: what cannot be read has
// Err set.
func Decode(r Record) Event { return decoders.decode(r) }

func (c codec) decode(r Record) Event {
	e := Event{ID: r.ID, Stream: r.Stream, Revision: r.Revision, Position: r.Position, Type: r.Type}
	var err error
	if e.Metadata, err = readMetadata(r.Metadata); err != nil {
		e.Err = fmt.Errorf("metadata of event %d of %s: %w", r.Revision, r.Stream, err)
		return e
	}
	kind := Kind{r.Type, e.Metadata.Schema}
	read, known := c[kind]
	if !known {
		e.Err = fault.Errorf(fault.Internal, "event %d of %s is a %s, which this version of Annals does not know", r.Revision, r.Stream, kind)
		return e
	}
	data, err := read(r.Data)
	if err != nil {
		e.Err = fmt.Errorf("event %d of %s as %s: %w", r.Revision, r.Stream, kind, err)
		return e
	}
	e.Data = data
	return e
}

// decodeAll decodes a batch on all cores.
func decodeAll(records []Record) []Event {
	const share = 16 // what a core takes at a time; few, as payloads differ much in size
	batch := make([]Event, len(records))
	var next atomic.Int64
	work := func() {
		for {
			end := int(next.Add(share))
			if end-share >= len(records) {
				return
			}
			for i := end - share; i < min(end, len(records)); i++ {
				batch[i] = Decode(records[i])
			}
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(records)/share) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return batch
}
