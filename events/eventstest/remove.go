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

// without returns the records of other streams.
func without(all []events.Record, streams []string) (others []events.Record) {
	for _, r := range all {
		if !slices.Contains(streams, r.Stream) {
			others = append(others, r)
		}
	}
	return others
}

// samePlace reports whether two records are one, at one position.
func samePlace(a, b events.Record) bool { return same(a, b) && a.Position == b.Position }

// testRemove removes streams between others, and looks whether all else stays.
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
		t.Fatalf("Remove that is refused: got error %v", err)
	}
	if !slices.EqualFunc(without(seen, gone), before, samePlace) {
		t.Errorf("the reader of what the log will be gives %d records of other streams, want the %d that they hold", len(without(seen, gone)), len(before))
	}
	if held := readStream(t, d, "text-1", 0); len(held) == 0 {
		t.Error("a removal that was refused removed a stream")
	}

	for _, call := range []string{"", " again"} {
		if err := d.Remove(t.Context(), gone, nil); err != nil {
			t.Fatalf("Remove%s: %v", call, err)
		}
		for _, stream := range gone {
			if held := readStream(t, d, stream, 0); len(held) > 0 {
				t.Errorf("stream %s has %d records after it was removed%s", stream, len(held), call)
			}
		}
		if after := without(readAll(t, d, 0, 7), gone); !slices.EqualFunc(after, before, samePlace) {
			t.Errorf("after the removal%s other streams hold %d records, want the %d before, where they were", call, len(after), len(before))
		}
		if at, err := d.Head(t.Context()); err != nil || at != head {
			t.Errorf("Head after the removal%s: got %d, %v, want %d", call, at, err, head)
		}
	}

	// The log goes on behind its head.
	made := mustAppend(t, d, "text-0", events.AnyRevision, record("Happened", "more"))
	if made.Position <= head {
		t.Errorf("an append after the removal stands at %d, and the log ended at %d before", made.Position, head)
	}
	if at, err := d.Append(t.Context(), "text-1", events.NoStream, records(2)); err == nil {
		if at.Revision != 1 {
			t.Errorf("a stream that begins again ends at revision %d, want 1", at.Revision)
		}
	} else {
		wantKind(t, err, fault.Conflict, "Append to a removed stream")
	}
	any := records(1)
	if _, err := d.Append(t.Context(), "text-4", events.AnyRevision, any); err != nil {
		t.Fatalf("Append to a removed stream at any revision: %v", err)
	}
	if held := readStream(t, d, "text-4", 0); len(held) != 1 || held[0].ID != any[0].ID {
		t.Errorf("a removed stream that goes on has %d records, want the one that was appended", len(held))
	}
}

// testRemoveLast checks that the head of a log stays.
func testRemoveLast(t *testing.T, d events.Driver) {
	if err := d.Remove(t.Context(), []string{"nobody"}, nil); err != nil {
		t.Fatalf("Remove from an empty log: %v", err)
	}
	mustAppend(t, d, "other", events.NoStream, records(2)...)
	mustAppend(t, d, "last", events.NoStream, records(2)...)
	err := d.Remove(t.Context(), []string{"other", "last"}, nil)
	wantKind(t, err, fault.Conflict, "Remove of the stream that ends the log")
	if held := readAll(t, d, 0, 7); len(held) != 4 {
		t.Errorf("a removal that is a conflict left %d records of 4", len(held))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantKind(t, d.Remove(ctx, []string{"other"}, nil), fault.Canceled, "Remove that is cancelled")
}
