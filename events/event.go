// Package events defines all event types, the upgrades from their older versions,
// and the append-only log that stores them.
//
// A Log encodes and decodes events as Go types. The Driver below it only stores bytes
// (events/sqlite, events/eventstoredb, events/memory). Only this package defines old
// versions of an event; readers get the current version. It imports schema and
// events/fault, and no other package of this module.
package events

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Event is an event as read from the log.
type Event struct {
	ID       uuid.UUID
	Stream   string
	Revision int64 // from 0, gapless within the stream
	Position Position
	Type     string
	Data     Data // nil if Err is set
	Metadata Metadata

	// Err says why the stored bytes could not be decoded as an event of type Type.
	// Position, stream and type are valid nevertheless.
	Err error
}

// Data is the payload of an event: one of the structs of this package.
type Data interface{ eventType() string }

// Metadata is recorded with every event, independent of its type.
type Metadata struct {
	Time        time.Time `json:"time"`                     // UTC, to the microsecond, written by Log
	Actor       Principal `json:"actor,omitempty"`          // the user who made the request
	Via         string    `json:"via,omitempty"`            // the interface or part of Annals that appended the event
	Correlation string    `json:"correlation_id,omitempty"` // id of the request
	Causation   string    `json:"causation_id,omitempty"`   // the event or command that led to this event
	Schema      int       `json:"schema"`                   // version of the type's schema
}

// Cause is the part of the metadata that the caller of Log.Append sets.
type Cause struct {
	Actor       Principal
	Via         string
	Correlation string
	Causation   string
}

// New is an event to append. A zero ID is replaced by a random one.
type New struct {
	ID   uuid.UUID
	Data Data
}

// Folders is the name of the stream with all changes of the folder tree.
const Folders = "folders"

// Prefixes of stream names.
const (
	documentPrefix = "document-"
	jobPrefix      = "job-"
	textPrefix     = "text-"
)

// DocumentStream returns the name of a document's stream.
func DocumentStream(id uuid.UUID) string { return documentPrefix + id.String() }

// JobStream returns the name of an import job's stream.
func JobStream(id uuid.UUID) string { return jobPrefix + id.String() }

// TextStream returns the name of the stream for the sections of a document's text. Each
// attempt to extract the text has its own stream.
func TextStream(document uuid.UUID, attempt int) string {
	return textPrefix + document.String() + "-" + strconv.Itoa(attempt)
}

// IsText reports whether a stream is a text stream, as named by TextStream. A text
// stream that no event of a document names may be removed from the log.
func IsText(stream string) bool { return strings.HasPrefix(stream, textPrefix) }

// StreamID returns the id in the stream name of a document, job or text, and
// uuid.Nil for other names.
func StreamID(stream string) uuid.UUID {
	for _, prefix := range []string{documentPrefix, jobPrefix, textPrefix} {
		if len(stream) >= len(prefix)+36 && stream[:len(prefix)] == prefix {
			id, err := uuid.Parse(stream[len(prefix) : len(prefix)+36])
			if err != nil {
				return uuid.Nil // not id, because Parse may return a partial id with an error
			}
			return id
		}
	}
	return uuid.Nil
}
