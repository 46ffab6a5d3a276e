package eventstest

import (
	"bytes"
	"fmt"
	"testing"

	"annals/events"
)

func testEmpty(t *testing.T, d events.Driver) {
	if head, err := d.Head(t.Context()); err != nil || head != 0 {
		t.Errorf("Head: got %d, %v, want 0", head, err)
	}
	batch, through, err := d.ReadAll(t.Context(), 0, 10, nil)
	if err != nil || len(batch) != 0 || through != 0 {
		t.Errorf("ReadAll: got %d records through %d, %v, want none through 0", len(batch), through, err)
	}
	if batch, err := d.ReadStream(t.Context(), "a", 0, 10); err != nil || len(batch) != 0 {
		t.Errorf("ReadStream: got %d records, %v, want none", len(batch), err)
	}
}

func testTypes(t *testing.T, d events.Driver) {
	var want, both []events.Record
	var last events.Appended
	for i := range 40 {
		name := []string{"Common", "Common", "Rare", "Common", "Other"}[i%5]
		r := record(name, i)
		last = mustAppend(t, d, fmt.Sprintf("s%d", i), events.NoStream, r)
		if name == "Rare" {
			want = append(want, r)
		}
		if name != "Common" {
			both = append(both, r)
		}
	}
	check := func(got, want []events.Record, limit int) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("ReadAll in batches of %d: got %d records, want %d", limit, len(got), len(want))
		}
		for i := range got {
			if got[i].ID != want[i].ID {
				t.Fatalf("ReadAll in batches of %d: got record %d %s %s, want %s", limit, i, got[i].Type, got[i].Data, want[i].Data)
			}
		}
	}
	for _, limit := range []int{1, 3, 8, 100} {
		check(readAll(t, d, 0, limit, "Common", "Other"), want, limit)
		check(readAll(t, d, 0, limit, "Common"), both, limit)
		check(readAll(t, d, 0, limit, "Common", "Never", "Common"), both, limit)
	}
	// If all types are skipped, the read covers the log up to its head.
	batch, through, err := d.ReadAll(t.Context(), 0, 10, []string{"Common", "Rare", "Other"})
	if err != nil || len(batch) != 0 || through != last.Position {
		t.Errorf("ReadAll that skips all types: got %d records through %d, %v, want none through %d", len(batch), through, err, last.Position)
	}
	// A read that stops at the limit covers the log only up to the last record that it
	// returns.
	batch, through, err = d.ReadAll(t.Context(), 0, 1, []string{"Common", "Rare"})
	if err != nil || len(batch) != 1 || through < batch[0].Position || through >= last.Position {
		t.Errorf("ReadAll(0, 1) that skips two types: got %d records through %d, %v, want one through less than %d", len(batch), through, err, last.Position)
	}
	for _, after := range []events.Position{last.Position, last.Position + 1000} {
		batch, through, err = d.ReadAll(t.Context(), after, 10, []string{"Common"})
		if err != nil || len(batch) != 0 || through != after {
			t.Errorf("ReadAll after %d with the head at %d: got %d records through %d, %v, want none through %d", after, last.Position, len(batch), through, err, after)
		}
	}
}

func testLimit(t *testing.T, d events.Driver) {
	want := records(10)
	mustAppend(t, d, "a", events.NoStream, want...)
	for _, limit := range []int{1, 4, 10, 20} {
		first := min(limit, len(want))
		batch, err := d.ReadStream(t.Context(), "a", 0, limit)
		if err != nil {
			t.Fatalf("ReadStream with limit %d: %v", limit, err)
		}
		wantRecords(t, batch, "a", 0, want[:first])
		batch, through, err := d.ReadAll(t.Context(), 0, limit, nil)
		if err != nil {
			t.Fatalf("ReadAll with limit %d: %v", limit, err)
		}
		wantRecords(t, batch, "a", 0, want[:first])
		wantRecords(t, readAll(t, d, through, 100), "a", int64(first), want[first:])
	}
	batch, err := d.ReadStream(t.Context(), "a", 0, 0)
	if err != nil || len(batch) != 0 {
		t.Errorf("ReadStream with limit 0: got %d records, %v, want none", len(batch), err)
	}
	batch, through, err := d.ReadAll(t.Context(), 0, 0, nil)
	if err != nil || len(batch) != 0 || through != 0 {
		t.Errorf("ReadAll with limit 0: got %d records through %d, %v, want none through 0", len(batch), through, err)
	}
}

func testBatchBytes(t *testing.T, d events.Driver) {
	const n = 12
	var want []events.Record
	for i := range n {
		r := record("Happened", i)
		r.Data = append(r.Data, bytes.Repeat([]byte(" "), 800<<10)...)
		mustAppend(t, d, "a", events.AnyRevision, r)
		want = append(want, r)
	}
	check := func(call string, batch []events.Record, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		size := 0
		for i := range batch {
			if size >= events.MaxBatchBytes {
				t.Fatalf("%s: got another record after %d bytes, want at most MaxBatchBytes", call, size)
			}
			size += batch[i].Size()
		}
		if len(batch) == 0 || len(batch) == n {
			t.Fatalf("%s: got %d of %d records, want some", call, len(batch), n)
		}
	}
	batch, err := d.ReadStream(t.Context(), "a", 0, 1000)
	check("ReadStream", batch, err)
	batch, _, err = d.ReadAll(t.Context(), 0, 1000, nil)
	check("ReadAll", batch, err)
	batch, _, err = d.ReadAll(t.Context(), 0, 1000, []string{"Never"})
	check("ReadAll that skips a type", batch, err)
	// The next reads return the rest.
	wantRecords(t, readStream(t, d, "a", 0), "a", 0, want)
	wantRecords(t, readAll(t, d, 0, 1000), "a", 0, want)
	wantRecords(t, readAll(t, d, 0, 1000, "Never"), "a", 0, want)
}
