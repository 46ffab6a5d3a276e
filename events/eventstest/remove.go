package eventstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/events/fault"
)

// without returns the records that do not belong to the streams.
func without(all []events.Record, streams []string) (others []events.Record) {
	for _, r := range all {
		if !slices.Contains(streams, r.Stream) {
			others = append(others, r)
		}
	}
	return others
}

// samePosition reports whether two records are equal, including their positions.
func samePosition(a, b events.Record) bool { return same(a, b) && a.Position == b.Position }

// testRemove removes streams, and checks that all other streams stay.
func testRemove(t *testing.T, d events.Driver) {
	gone := []string{"text-1", "text-4", "nobody"}
	for i := range 60 {
		mustAppend(t, d, fmt.Sprint("text-", i*7%5), events.AnyRevision, records(1+i%3)...)
	}
	mustAppend(t, d, "last", events.NoStream, record("Happened", "last"))
	before := without(readAll(t, d, 0, 7), gone)
	head, err := d.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	refused := errors.New("refused")
	var seen []events.Record
	err = d.Remove(t.Context(), gone, func(r events.AllReader) error {
		for after := events.Position(0); ; {
			batch, through, err := r.ReadAll(t.Context(), after, 7, nil)
			if err != nil || through == after {
				return errors.Join(err, refused)
			}
			seen = append(seen, batch...)
			after = through
		}
	})
	if !errors.Is(err, refused) {
		t.Fatalf("Remove with a failing check: got error %v, want that of the check", err)
	}
	if !slices.EqualFunc(without(seen, gone), before, samePosition) {
		t.Errorf("check: the reader returned %d records of other streams, want %d", len(without(seen, gone)), len(before))
	}
	if held := readStream(t, d, "text-1", 0); len(held) == 0 {
		t.Error("Remove with a failing check removed a stream")
	}

	for _, call := range []string{"", " again"} {
		if err := d.Remove(t.Context(), gone, nil); err != nil {
			t.Fatalf("Remove%s: %v", call, err)
		}
		for _, stream := range gone {
			if held := readStream(t, d, stream, 0); len(held) > 0 {
				t.Errorf("ReadStream(%s) after Remove%s: got %d records, want none", stream, call, len(held))
			}
		}
		if after := without(readAll(t, d, 0, 7), gone); !slices.EqualFunc(after, before, samePosition) {
			t.Errorf("ReadAll after Remove%s: got %d records of other streams, want the %d before, at the same positions", call, len(after), len(before))
		}
		if at, err := d.Head(t.Context()); err != nil || at != head {
			t.Errorf("Head after Remove%s: got %d, %v, want %d", call, at, err, head)
		}
	}

	// Later appends get positions after the head.
	made := mustAppend(t, d, "text-0", events.AnyRevision, record("Happened", "more"))
	if made.Position <= head {
		t.Errorf("Append after Remove: got position %d, want more than %d", made.Position, head)
	}
	if at, err := d.Append(t.Context(), "text-1", events.NoStream, records(2)); err == nil {
		if at.Revision != 1 {
			t.Errorf("Append of two to a removed stream: got revision %d, want 1", at.Revision)
		}
	} else {
		wantKind(t, err, fault.Conflict, "Append to a removed stream")
	}
	any := records(1)
	if _, err := d.Append(t.Context(), "text-4", events.AnyRevision, any); err != nil {
		t.Fatalf("Append to a removed stream at any revision: %v", err)
	}
	if held := readStream(t, d, "text-4", 0); len(held) != 1 || held[0].ID != any[0].ID {
		t.Errorf("ReadStream of a removed stream after an append: got %d records, want the new one", len(held))
	}
}

// testRemoveLast checks that the stream of the last event cannot be removed.
func testRemoveLast(t *testing.T, d events.Driver) {
	if err := d.Remove(t.Context(), []string{"nobody"}, nil); err != nil {
		t.Fatalf("Remove from an empty log: %v", err)
	}
	mustAppend(t, d, "other", events.NoStream, records(2)...)
	mustAppend(t, d, "last", events.NoStream, records(2)...)
	err := d.Remove(t.Context(), []string{"other", "last"}, nil)
	wantKind(t, err, fault.Conflict, "Remove of the stream with the last event")
	if held := readAll(t, d, 0, 7); len(held) != 4 {
		t.Errorf("ReadAll after a conflict: got %d records, want 4", len(held))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantKind(t, d.Remove(ctx, []string{"other"}, nil), fault.Canceled, "Remove with a cancelled context")
}
