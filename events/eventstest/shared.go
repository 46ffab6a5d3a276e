package eventstest

import (
	"testing"

	"annals/events"
	"annals/events/fault"
)

// RunShared tests a log that several drivers open, concurrently or one after the other.
// start creates an empty log; each call of open opens another driver of that log.
func RunShared(t *testing.T, start func(t *testing.T) (open func() events.Driver)) {
	t.Run("appended events are durable", func(t *testing.T) {
		open := start(t)
		d := open()
		want := records(5)
		mustAppend(t, d, "a", events.NoStream, want[:2]...)
		before := mustAppend(t, d, "a", 1, want[2:4]...)
		closeDriver(t, d)
		d = open()
		defer closeDriver(t, d)
		wantRecords(t, readAll(t, d, 0, 10), "a", 0, want[:4])
		if got := mustAppend(t, d, "a", 1, want[2:4]...); got != before {
			t.Errorf("repeated Append after reopening: got %+v, want %+v", got, before)
		}
		if after := mustAppend(t, d, "a", 3, want[4:]...); after.Position <= before.Position {
			t.Errorf("Append after reopening: got position %d, want more than %d", after.Position, before.Position)
		}
		wantRecords(t, readStream(t, d, "a", 0), "a", 0, want)
	})
	for _, c := range []struct {
		name string
		test func(t *testing.T, a, b events.Driver)
	}{
		{"a driver reads events appended by another one", testForeignReads},
		{"Wait returns when another driver appends", func(t *testing.T, a, b events.Driver) { wakes(t, a, b) }},
		{"one of several concurrent appends succeeds", race},
		{"positions appear in order", func(t *testing.T, a, b events.Driver) {
			order(t, []events.Driver{a, b})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			open := start(t)
			a, b := open(), open()
			defer closeDriver(t, a)
			defer closeDriver(t, b)
			c.test(t, a, b)
		})
	}
}

func testForeignReads(t *testing.T, a, b events.Driver) {
	want := records(4)
	mustAppend(t, a, "a", events.NoStream, want[0])
	wantRecords(t, readAll(t, b, 0, 10), "a", 0, want[:1])
	mustAppend(t, b, "a", 0, want[1])
	mustAppend(t, a, "a", 1, want[2])
	_, err := b.Append(t.Context(), "a", 1, records(1))
	wantKind(t, err, fault.Conflict, "Append at a revision that the other driver has used")
	if got := mustAppend(t, b, "a", 1, want[2]); got.Revision != 2 {
		t.Errorf("repeated Append through the other driver: got revision %d, want 2", got.Revision)
	}
	mustAppend(t, b, "a", events.AnyRevision, want[3])
	wantRecords(t, readStream(t, a, "a", 0), "a", 0, want)
	wantRecords(t, readAll(t, b, 0, 3), "a", 0, want)
}

func closeDriver(t *testing.T, d events.Driver) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
