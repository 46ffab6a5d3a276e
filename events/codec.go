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

// Kind identifies a released form of an event: its type and the version of its
// schema. Neither ever changes, because stored data refers to them.
type Kind struct {
	Type   string
	Schema int
}

// String returns the kind as "Type.v1".
func (k Kind) String() string { return fmt.Sprintf("%s.v%d", k.Type, k.Schema) }

// codec decodes stored payloads into the current structs, by kind.
type codec map[Kind]func([]byte) (Data, error)

// decoders has a decoder for every event ever released, by type and schema version;
// older versions are upgraded. current has, by type, the schema version that is written.
// Both are filled by calls of register in the file that defines the event.
// TestHowAnEventChanges shows how to add a version.
var (
	decoders = make(codec)
	current  = make(map[string]int)
)

// register adds the event T with a version of its schema.
func register[T Data](schema int) {
	var zero T
	kind := Kind{zero.eventType(), schema}
	if _, duplicate := decoders[kind]; duplicate || schema <= current[kind.Type] {
		panic(fmt.Sprintf("events: %s is registered after version %d", kind, current[kind.Type]))
	}
	decoders[kind], current[kind.Type] = decode[T], schema
}

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

// TypeOf returns the name of the event type of data.
func TypeOf(data Data) string { return data.eventType() }

func decode[T Data](b []byte) (Data, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// Decode decodes a record. It never fails: if the record cannot be decoded, the event
// has Err set.
func Decode(r Record) Event { return decoders.decode(r) }

func (c codec) decode(r Record) Event {
	e := Event{ID: r.ID, Stream: r.Stream, Revision: r.Revision, Position: r.Position, Type: r.Type}
	var err error
	if e.Metadata, err = readMetadata(r.Metadata); err != nil {
		e.Err = fmt.Errorf("decode the metadata of event %d of %s: %w", r.Revision, r.Stream, err)
		return e
	}
	kind := Kind{r.Type, e.Metadata.Schema}
	decode, known := c[kind]
	if !known {
		e.Err = fault.Errorf(fault.Internal, "event %d of %s is a %s, which this version of Annals does not know", r.Revision, r.Stream, kind)
		return e
	}
	data, err := decode(r.Data)
	if err != nil {
		e.Err = fmt.Errorf("decode event %d of %s as %s: %w", r.Revision, r.Stream, kind, err)
		return e
	}
	e.Data = data
	return e
}

// decodeAll decodes a batch on all cores.
func decodeAll(records []Record) []Event {
	const share = 16 // records taken by a worker at a time; small, because payload sizes vary
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
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(records)/share) - 1 {
		workers.Go(work)
	}
	work()
	workers.Wait()
	return batch
}
