package eventstest

import (
	"bytes"
	_ "embed" // released.jsonl
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"annals/events"
)

// released is a log with every kind of event that was ever released, in the output
// format of annals events --json. TestReleasedLogNeverChanges in package events adds
// lines; existing lines never change.
//
//go:embed released.jsonl
var released []byte

// Released returns an old log with every kind of event ever released, including failed
// imports.
func Released(t testing.TB) []events.Record {
	t.Helper()
	records, err := ParseLines(released)
	if err != nil {
		t.Fatalf("parse the released log: %v", err)
	}
	return records
}

// AppendReleased appends the released log to a driver with an empty log, and returns the
// position of the last event.
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

// ParseLines parses the output of annals events --json.
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
