package sqlite_test

import (
	"errors"
	"iter"
	"path/filepath"
	"reflect"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/events/sqlite"

	"github.com/google/uuid"
)

func one(err error, records ...events.Record) iter.Seq2[[]events.Record, error] {
	return func(yield func([]events.Record, error) bool) { yield(records, err) }
}

func stored(stream string, revision int64, position events.Position) events.Record {
	return events.Record{
		ID: uuid.New(), Stream: stream, Revision: revision, Position: position,
		Type: "Happened", Data: []byte(`{}`), Metadata: []byte(`{}`),
	}
}

func TestLoadKeepsRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	want := []events.Record{stored("a", 0, 3), stored("b", 0, 7), stored("a", 1, 12)}
	if err := sqlite.Load(t.Context(), path, one(nil, want...)); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	got, through, err := d.ReadAll(t.Context(), 0, 10, nil)
	if err != nil || through != 12 || !reflect.DeepEqual(got, want) {
		t.Errorf("ReadAll: got %v through %d (%v), want %v through 12", got, through, err, want)
	}
	made, err := d.Append(t.Context(), "a", 1, []events.Record{stored("a", 0, 0)})
	if want := (events.Appended{Revision: 2, Position: 13}); err != nil || made != want {
		t.Errorf("Append after Load: got %v (%v), want %v", made, err, want)
	}
	if err := sqlite.Load(t.Context(), path, one(nil, stored("c", 0, 20))); !fault.Is(err, fault.Conflict) {
		t.Errorf("Load into a log with events: got error %v, want a conflict", err)
	}
}

func TestLoadRefusesInvalidRecords(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		batches iter.Seq2[[]events.Record, error]
		want    error
	}{
		"decreasing positions":   {one(nil, stored("a", 0, 3), stored("a", 1, 2)), nil},
		"a duplicate revision":   {one(nil, stored("a", 0, 1), stored("a", 0, 2)), nil},
		"an error of the source": {one(broken), broken},
	} {
		err := sqlite.Load(t.Context(), filepath.Join(t.TempDir(), "log.db"), c.batches)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: Load: got error %v, want %v", name, err, c.want)
		}
	}
}
