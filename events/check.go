package events

import (
	"unicode/utf8"

	"annals/events/fault"
)

// MaxStreamName is the longest name of a stream, in bytes.
const MaxStreamName = 255

// CheckAppend returns an error of kind fault.Invalid for what no driver takes:
// an append of no records, of more than MaxAppendBytes, at an expected
// revision that cannot be, or to a stream whose name is empty, longer than
// MaxStreamName or not UTF-8. Drivers call it before they do anything.
func CheckAppend(stream string, expected int64, records []Record) error {
	size := 0
	for i := range records {
		size += records[i].Size()
	}
	switch {
	case stream == "" || len(stream) > MaxStreamName || !utf8.ValidString(stream):
		return fault.Errorf(fault.Invalid, "append to stream %.64q: a name has 1 to %d bytes of UTF-8", stream, MaxStreamName)
	case expected < AnyRevision:
		return fault.Errorf(fault.Invalid, "append to %s: there is no revision %d to expect", stream, expected)
	case len(records) == 0:
		return fault.Errorf(fault.Invalid, "append to %s: there are no events in it", stream)
	case size > MaxAppendBytes:
		return fault.Errorf(fault.Invalid, "append to %s: its %d events have %d bytes, more than the %d that fit into one append", stream, len(records), size, MaxAppendBytes)
	}
	return nil
}

// Size returns how much of MaxAppendBytes and MaxBatchBytes the record takes:
// its payload and metadata, in bytes.
func (r *Record) Size() int { return len(r.Data) + len(r.Metadata) }
