package eventstest

import (
	"bytes"
	"strings"
	"testing"

	"annals/events"
	"annals/events/fault"
)

func testReadBack(t *testing.T, d events.Driver) {
	want := records(3)
	a := mustAppend(t, d, "a", events.NoStream, want...)
	if a.Revision != 2 {
		t.Errorf("Append of 3 to a new stream: got revision %d, want 2", a.Revision)
	}
	wantRecords(t, readStream(t, d, "a", 0), "a", 0, want)
	all := readAll(t, d, 0, 10)
	wantRecords(t, all, "a", 0, want)
	if got := all[2].Position; got != a.Position {
		t.Errorf("Append returned position %d, ReadAll %d", a.Position, got)
	}
	if head, err := d.Head(t.Context()); err != nil || head != a.Position {
		t.Errorf("Head: got %d, %v, want %d", head, err, a.Position)
	}
}

func testRevisions(t *testing.T, d events.Driver) {
	a, b := records(5), records(2)
	mustAppend(t, d, "a", events.NoStream, a[:2]...)
	mustAppend(t, d, "b", events.NoStream, b[:1]...)
	mustAppend(t, d, "a", 1, a[2:4]...)
	mustAppend(t, d, "b", events.AnyRevision, b[1:]...)
	if got := mustAppend(t, d, "a", events.AnyRevision, a[4:]...); got.Revision != 4 {
		t.Errorf("fifth record of a stream: got revision %d, want 4", got.Revision)
	}
	wantRecords(t, readStream(t, d, "a", 0), "a", 0, a)
	wantRecords(t, readStream(t, d, "a", 3), "a", 3, a[3:])
	wantRecords(t, readStream(t, d, "b", 0), "b", 0, b)
	wantRecords(t, readStream(t, d, "b", 2), "b", 2, nil)
	// Names that differ only in case or in a trailing space name different streams.
	wantRecords(t, readStream(t, d, "A", 0), "A", 0, nil)
	wantRecords(t, readStream(t, d, "a ", 0), "a ", 0, nil)
}

func testExpected(t *testing.T, d events.Driver) {
	for _, expected := range []int64{0, 1, 7} {
		_, err := d.Append(t.Context(), "a", expected, records(1))
		wantKind(t, err, fault.Conflict, "Append at %d to a missing stream", expected)
	}
	mustAppend(t, d, "a", events.AnyRevision, records(2)...)
	for _, expected := range []int64{events.NoStream, 0, 2, 99} {
		_, err := d.Append(t.Context(), "a", expected, records(1))
		wantKind(t, err, fault.Conflict, "Append at %d to a stream that ends at 1", expected)
	}
	mustAppend(t, d, "a", 1, records(1)...)
	_, err := d.Append(t.Context(), "a", 1, records(1))
	wantKind(t, err, fault.Conflict, "Append at 1 to a stream that ends at 2")
	mustAppend(t, d, "b", events.NoStream, records(1)...)
}

func testConflictAddsNothing(t *testing.T, d events.Driver) {
	want := records(1)
	before := mustAppend(t, d, "a", events.NoStream, want...)
	_, err := d.Append(t.Context(), "a", events.NoStream, records(5))
	wantKind(t, err, fault.Conflict, "Append of five to a stream that exists")
	wantRecords(t, readAll(t, d, 0, 10), "a", 0, want)
	if head, err := d.Head(t.Context()); err != nil || head != before.Position {
		t.Errorf("Head after a conflict: got %d, %v, want %d", head, err, before.Position)
	}
}

func testRepeated(t *testing.T, d events.Driver) {
	first, second, third := records(3), records(2), records(1)
	a := mustAppend(t, d, "a", events.NoStream, first...)
	b := mustAppend(t, d, "a", 2, second...)
	mustAppend(t, d, "x", events.NoStream, records(1)...)
	c := mustAppend(t, d, "a", 4, third...)
	for _, r := range []struct {
		expected int64
		records  []events.Record
		want     events.Appended
	}{{events.NoStream, first, a}, {2, second, b}, {4, third, c}} {
		if got := mustAppend(t, d, "a", r.expected, r.records...); got != r.want {
			t.Errorf("repeated append at %d: got %+v, want %+v", r.expected, got, r.want)
		}
	}
	// An append that repeats only the last records of an earlier append is recognised as
	// a repetition, too.
	if got := mustAppend(t, d, "a", 0, first[1:]...); got != a {
		t.Errorf("repeated append of a part: got %+v, want %+v", got, a)
	}
	if n := len(readAll(t, d, 0, 10)); n != 7 {
		t.Errorf("after repeated appends the log has %d records, want 7", n)
	}
}

func testPartlyRepeated(t *testing.T, d events.Driver) {
	stored := records(3)
	mustAppend(t, d, "a", events.NoStream, stored...)
	fresh := records(2)
	for name, again := range map[string][]events.Record{
		"an additional record":         {stored[0], stored[1], stored[2], fresh[0]},
		"another record in the middle": {stored[0], fresh[0], stored[2]},
		"another record at the end":    {stored[0], stored[1], fresh[0]},
		"another record at the start":  {fresh[0], stored[1], stored[2]},
		"records in another order":     {stored[1], stored[0], stored[2]},
		"records without the first":    {stored[1], stored[2]},
	} {
		_, err := d.Append(t.Context(), "a", events.NoStream, again)
		wantKind(t, err, fault.Conflict, "Append of %s", name)
	}
	_, err := d.Append(t.Context(), "b", 0, stored)
	wantKind(t, err, fault.Conflict, "Append of records of another stream")
	wantRecords(t, readAll(t, d, 0, 10), "a", 0, stored)
}

func testAnyIsNew(t *testing.T, d events.Driver) {
	r := records(2)
	mustAppend(t, d, "a", events.AnyRevision, r...)
	if got := mustAppend(t, d, "a", events.AnyRevision, r...); got.Revision != 3 {
		t.Errorf("second append at any revision: got revision %d, want 3", got.Revision)
	}
	wantRecords(t, readStream(t, d, "a", 0), "a", 0, []events.Record{r[0], r[1], r[0], r[1]})
}

func testLarge(t *testing.T, d events.Driver) {
	big := record("Happened", strings.Repeat("x", events.MaxAppendBytes-1000))
	rest := record("Happened", "")
	fill := events.MaxAppendBytes - big.Size() - rest.Size()
	rest.Data = append(rest.Data, bytes.Repeat([]byte(" "), fill)...)
	want := []events.Record{big, rest} // exactly MaxAppendBytes in total
	mustAppend(t, d, "a", events.NoStream, want...)
	wantRecords(t, readStream(t, d, "a", 0), "a", 0, want)
	wantRecords(t, readAll(t, d, 0, 10), "a", 0, want)
	many := records(2000)
	mustAppend(t, d, "b", events.NoStream, many...)
	wantRecords(t, readStream(t, d, "b", 0), "b", 0, many)
}

func testInvalid(t *testing.T, d events.Driver) {
	over := records(2)
	over[1].Data = bytes.Repeat([]byte(" "), events.MaxAppendBytes-over[0].Size()-len(over[1].Metadata)+1)
	for _, c := range []struct {
		name, stream string
		expected     int64
		records      []events.Record
	}{
		{"no records", "a", events.NoStream, nil},
		{"no records, at a wrong revision", "a", 5, nil},
		{"more than MaxAppendBytes", "a", events.NoStream, over},
		{"an impossible revision", "a", -3, records(1)},
		{"no stream name", "", events.NoStream, records(1)},
		{"a stream name that is too long", strings.Repeat("s", events.MaxStreamName+1), events.NoStream, records(1)},
		{"a stream name that is not UTF-8", "a\xff", events.NoStream, records(1)},
	} {
		_, err := d.Append(t.Context(), c.stream, c.expected, c.records)
		wantKind(t, err, fault.Invalid, "Append of %s", c.name)
	}
	if head, err := d.Head(t.Context()); err != nil || head != 0 {
		t.Errorf("Head after invalid appends: got %d, %v, want 0", head, err)
	}
	mustAppend(t, d, strings.Repeat("s", events.MaxStreamName), events.NoStream, records(1)...)
}

func testOwnBytes(t *testing.T, d events.Driver) {
	appended := records(1)
	want := records(1)
	want[0].ID = appended[0].ID
	mustAppend(t, d, "a", events.NoStream, appended...)
	overwrite := func(r events.Record) {
		for i := range r.Data {
			r.Data[i] = '!'
		}
		for i := range r.Metadata {
			r.Metadata[i] = '!'
		}
	}
	overwrite(appended[0])
	read := readStream(t, d, "a", 0)
	wantRecords(t, read, "a", 0, want)
	overwrite(read[0])
	wantRecords(t, readAll(t, d, 0, 10), "a", 0, want)
}
