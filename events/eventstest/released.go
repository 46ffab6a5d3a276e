package eventstest

import (
	"bytes"
	_ "embed" // the log
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"annals/events"
)

// released is a log as it was written when its events were new: lines of
// annals events --json. Lines are added, by the test that holds them to what
// is released, and never changed.
//
//go:embed released.jsonl
var released []byte

// Released returns an old log with every kind of event ever released, including failed
// imports.
func Released(t testing.TB) []events.Record {
	t.Helper()
	records, err := ParseLines(released)
	if err != nil {
		t.Fatalf("the released log: %v", err)
	}
	return records
}

// AppendReleased puts that log, byte for byte, into a driver whose log is
// empty, and returns the position of its last event there.
func AppendReleased(t testing.TB, d events.Driver) (last events.Position) {
	t.Helper()
	for _, r := range Released(t) {
		at, err := d.Append(t.Context(), r.Stream, r.Revision-1, []events.Record{r})
		if err != nil {
			t.Fatalf("append event %d of %s of the released log: %v", r.Revision, r.Stream, err)
		}
		last = at.Position
	}
	return last
}

// ParseLines reads what annals events --json prints.
func ParseLines(b []byte) (records []events.Record, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	for {
		var r events.Record
		if err := dec.Decode(&r); errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(records)+1, err)
		}
		records = append(records, r)
	}
}
