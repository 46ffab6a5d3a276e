// Package eventstest tests drivers: its tests define the contract of events.Driver. The
// test of a driver calls Run and, if its log outlives the driver, RunShared.
package eventstest

import (
	"bytes"
	"fmt"
	"testing"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Run tests a single driver. open returns a driver over an empty log; Run closes the
// driver when the test ends.
func Run(t *testing.T, open func(t *testing.T) events.Driver) {
	for _, c := range []struct {
		name string
		test func(*testing.T, events.Driver)
	}{
		{"an empty log reads as empty", testEmpty},
		{"appended events are read back", testReadBack},
		{"revisions are gapless in each stream", testRevisions},
		{"expected revisions are checked", testExpected},
		{"a conflict adds nothing", testConflictAddsNothing},
		{"a repeated append is recognised", testRepeated},
		{"a partly repeated append is a conflict", testPartlyRepeated},
		{"an append at any revision is always new", testAnyIsNew},
		{"one of several concurrent appends succeeds", func(t *testing.T, d events.Driver) { race(t, d, d) }},
		{"positions appear in order", testOrder},
		{"types can be skipped", testTypes},
		{"reads end at their limit", testLimit},
		{"reads end at MaxBatchBytes", testBatchBytes},
		{"large payloads are stored completely", testLarge},
		{"invalid appends are rejected", testInvalid},
		{"the driver copies the bytes of records", testOwnBytes},
		{"a cancelled call does nothing", testCancelled},
		{"a cancelled append is all or nothing", testCancelledAppends},
		{"removing streams keeps all others", testRemove},
		{"the last event of the log cannot be removed", testRemoveLast},
		{"Wait returns when the head advances", testWait},
		{"Close ends all calls", testClose},
		{"random calls match a model", testModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t)
			t.Cleanup(func() {
				if err := d.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			c.test(t, d)
		})
	}
}

// record returns a new record of a type, with text in its data.
func record(name string, text any) events.Record {
	return events.Record{
		ID:       uuid.New(),
		Type:     name,
		Data:     fmt.Appendf(nil, `{"text":"%v"}`, text),
		Metadata: []byte(`{"time":"2026-01-02T03:04:05.000006Z","schema":1}`),
	}
}

func records(n int) []events.Record {
	all := make([]events.Record, n)
	for i := range all {
		all[i] = record("Happened", i)
	}
	return all
}

// mustAppend appends and fails the test on an error.
func mustAppend(t *testing.T, d events.Driver, stream string, expected int64, records ...events.Record) events.Appended {
	t.Helper()
	a, err := d.Append(t.Context(), stream, expected, records)
	if err != nil {
		t.Fatalf("Append(%s, %d, %d records): %v", stream, expected, len(records), err)
	}
	return a
}

// wantKind checks the kind of an error.
func wantKind(t *testing.T, err error, kind fault.Kind, call string, args ...any) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Fatalf("%s: got error %v of kind %v, want kind %v", fmt.Sprintf(call, args...), err, fault.KindOf(err), kind)
	}
}

// readStream returns all records of a stream from a revision on, read in
// small batches.
func readStream(t *testing.T, d events.Driver, stream string, from int64) []events.Record {
	t.Helper()
	var all []events.Record
	for {
		batch, err := d.ReadStream(t.Context(), stream, from, 7)
		if err != nil {
			t.Fatalf("ReadStream(%s, %d): %v", stream, from, err)
		}
		if len(batch) == 0 {
			return all
		}
		all = append(all, batch...)
		from = batch[len(batch)-1].Revision + 1
	}
}

// readAll returns all records after a position except those of the types in skip. It
// reads batches of limit records, and checks the positions of the records and the
// position that ReadAll returns with each batch.
func readAll(t *testing.T, d events.Driver, after events.Position, limit int, skip ...string) []events.Record {
	t.Helper()
	var all []events.Record
	for {
		batch, through, err := d.ReadAll(t.Context(), after, limit, skip)
		if err != nil {
			t.Fatalf("ReadAll(%d, %d, %v): %v", after, limit, skip, err)
		}
		if through < after || (through == after && len(batch) > 0) {
			t.Fatalf("ReadAll(%d, %d, %v): got through %d with %d records", after, limit, skip, through, len(batch))
		}
		for _, r := range batch {
			if r.Position <= after || r.Position > through {
				t.Fatalf("ReadAll(%d, %d, %v): got position %d through %d, after %d", after, limit, skip, r.Position, through, after)
			}
			after = r.Position
		}
		if all = append(all, batch...); len(batch) == 0 && through == after {
			return all
		}
		after = through
	}
}

// wantRecords checks that got has the records of want in the same order, that all belong
// to the stream, and that their revisions count up from from.
func wantRecords(t *testing.T, got []events.Record, stream string, from int64, want []events.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("stream %s has %d records, want %d", stream, len(got), len(want))
	}
	for i, r := range got {
		w := want[i]
		switch {
		case r.Stream != stream || r.Revision != from+int64(i):
			t.Fatalf("record %d: got revision %d of %s, want %d of %s", i, r.Revision, r.Stream, from+int64(i), stream)
		case r.ID != w.ID || r.Type != w.Type:
			t.Fatalf("record %d of %s: got %s %s, want %s %s", i, stream, r.Type, r.ID, w.Type, w.ID)
		case !bytes.Equal(r.Data, w.Data) || !bytes.Equal(r.Metadata, w.Metadata):
			t.Fatalf("record %d of %s: got data %.80s metadata %.80s, want %.80s and %.80s", i, stream, r.Data, r.Metadata, w.Data, w.Metadata)
		case i > 0 && r.Position <= got[i-1].Position:
			t.Fatalf("record %d of %s: got position %d after %d, want a higher one", i, stream, r.Position, got[i-1].Position)
		}
	}
}
