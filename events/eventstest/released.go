package eventstest

import (
	"bytes"
	_ "embed" // the log
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/uuid"

	"annals/events"
)

// released is a log as it was written when its events were new: lines of
// annals events --json. Lines are added, by the test that holds them to what
// is released, and never changed.
//
//go:embed released.jsonl
var released []byte

// Released returns an old log: it holds every kind of event ever released, and
// tells of folders, imports and changes that did not all go well.
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

// line is a record as annals events --json prints it.
type line struct {
	Position events.Position `json:"position"`
	ID       uuid.UUID       `json:"id"`
	Stream   string          `json:"stream"`
	Revision int64           `json:"revision"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
	Metadata json.RawMessage `json:"metadata"`
}

// ParseLines reads what annals events --json prints.
func ParseLines(b []byte) (records []events.Record, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	for {
		var l line
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			return records, nil
		} else if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(records)+1, err)
		}
		records = append(records, events.Record{
			Position: l.Position, ID: l.ID, Stream: l.Stream, Revision: l.Revision, Type: l.Type, Data: l.Data, Metadata: l.Metadata,
		})
	}
}

// FormatLine writes a record as annals events --json prints it.
func FormatLine(r events.Record) ([]byte, error) {
	b, err := json.Marshal(line{r.Position, r.ID, r.Stream, r.Revision, r.Type, r.Data, r.Metadata})
	return append(b, '\n'), err
}
