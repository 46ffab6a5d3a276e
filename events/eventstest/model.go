package eventstest

import (
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/events/fault"

	"pgregory.net/rapid"
)

// model is a simple log: a list of all records.
type model struct {
	log []events.Record
}

func (m *model) stream(name string) (stored []events.Record) {
	for _, r := range m.log {
		if r.Stream == name {
			stored = append(stored, r)
		}
	}
	return stored
}

// append implements the contract of Driver.Append; ok is false for a conflict.
func (m *model) append(stream string, expected int64, records []events.Record) (revision int64, ok bool) {
	stored := m.stream(stream)
	last := int64(len(stored)) - 1
	if expected != events.AnyRevision && expected != last {
		revision = expected + int64(len(records))
		return revision, revision <= last && slices.EqualFunc(stored[expected+1:revision+1], records,
			func(a, b events.Record) bool { return a.ID == b.ID })
	}
	for _, r := range records {
		last++
		r.Stream, r.Revision = stream, last
		m.log = append(m.log, r)
	}
	return last, true
}

// testModel makes random appends and reads, and compares the results with model. All
// runs share one log: each run uses its own streams, and reads only what follows the
// head at its start.
func testModel(t *testing.T, d events.Driver) {
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		start, err := d.Head(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		var m model
		var used [][]events.Record
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				stream := fmt.Sprintf("%d-%d", run, rapid.IntRange(0, 2).Draw(rt, "stream"))
				expected := int64(rapid.IntRange(-2, 6).Draw(rt, "expected"))
				batch := records(rapid.IntRange(1, 3).Draw(rt, "records"))
				for i := range batch {
					batch[i].Type = fmt.Sprintf("T%d", rapid.IntRange(0, 2).Draw(rt, "type"))
				}
				if len(used) > 0 && rapid.Bool().Draw(rt, "repeat") {
					batch = rapid.SampledFrom(used).Draw(rt, "batch")
				}
				used = append(used, batch)
				got, err := d.Append(t.Context(), stream, expected, batch)
				want, ok := m.append(stream, expected, batch)
				if ok && (err != nil || got.Revision != want) || !ok && !fault.Is(err, fault.Conflict) {
					rt.Fatalf("Append(%s, %d, %d records): got %+v, %v, want revision %d, success %t", stream, expected, len(batch), got, err, want, ok)
				}
			},
			"read": func(rt *rapid.T) {
				skip := []string{"T0", "T1", "T2"}[:rapid.IntRange(0, 3).Draw(rt, "types")]
				limit := rapid.IntRange(1, 9).Draw(rt, "limit")
				var want []events.Record
				for _, r := range m.log {
					if !slices.Contains(skip, r.Type) {
						want = append(want, r)
					}
				}
				got := readAll(t, d, start, limit, skip...)
				if !slices.EqualFunc(got, want, same) {
					rt.Fatalf("ReadAll(%d, %d, %v): got %d records, want the %d of the model", start, limit, skip, len(got), len(want))
				}
			},
			"read a stream": func(rt *rapid.T) {
				stream := fmt.Sprintf("%d-%d", run, rapid.IntRange(0, 2).Draw(rt, "stream"))
				if got, want := readStream(t, d, stream, 0), m.stream(stream); !slices.EqualFunc(got, want, same) {
					rt.Fatalf("ReadStream(%s): got %d records, want the %d of the model", stream, len(got), len(want))
				}
			},
		})
	})
}

func same(a, b events.Record) bool {
	return a.ID == b.ID && a.Stream == b.Stream && a.Revision == b.Revision && a.Type == b.Type && string(a.Data) == string(b.Data)
}
