package events

import (
	"unicode/utf8"

	"annals/events/fault"
)

// MaxStreamName is the longest name of a stream, in bytes.
const MaxStreamName = 255

// CheckAppend returns an error of kind fault.Invalid for appends that every driver
// rejects: without records, with more than MaxAppendBytes, with an impossible expected
// revision, or to a stream whose name is empty, longer than MaxStreamName or not UTF-8.
// The Append method of each driver calls it first.
func CheckAppend(stream string, expected int64, records []Record) error {
	size := 0
	for i := range records {
		size += records[i].Size()
	}
	switch {
	case stream == "" || len(stream) > MaxStreamName || !utf8.ValidString(stream):
		return fault.Errorf(fault.Invalid, "append to stream %.64q: a stream name must have 1 to %d bytes of valid UTF-8", stream, MaxStreamName)
	case expected < AnyRevision:
		return fault.Errorf(fault.Invalid, "append to %s: %d is not a valid expected revision", stream, expected)
	case len(records) == 0:
		return fault.Errorf(fault.Invalid, "append to %s: no events given", stream)
	case size > MaxAppendBytes:
		return fault.Errorf(fault.Invalid, "append to %s: the %d events have %d bytes, and the limit for one append is %d", stream, len(records), size, MaxAppendBytes)
	}
	return nil
}

// WrongRevision returns the fault.Conflict error of an append to a stream whose last
// revision is not the expected revision.
func WrongRevision(stream string, last, expected int64) error {
	return fault.Errorf(fault.Conflict, "append to %s: it ends at revision %d, not %d", stream, last, expected)
}

// Size returns the size that counts towards MaxAppendBytes and MaxBatchBytes: the
// bytes of payload and metadata.
func (r *Record) Size() int { return len(r.Data) + len(r.Metadata) }
