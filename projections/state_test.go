//go:build !race

package projections

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections/control"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

func TestTheStateOfAReadModelIsReadBesideIt(t *testing.T) {
	log, dir := newLog(t), t.TempDir()
	o := optionsIn(t, log, dir)
	version := readmodel.Vault{}.Version()
	state := func() State {
		t.Helper()
		s, err := stateOf(t, o, "vault")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	_, at := manyDocuments(t, log, 5)
	if got, want := state(), (State{Name: "vault", Makes: version, Head: at}); !reflect.DeepEqual(got, want) {
		t.Errorf("before the first start %+v, want %+v", got, want)
	}
	s, stop := serve(t, o)
	wait(t, s.Runner("vault"), at)
	if got, want := state(), (State{Name: "vault", Makes: version, Version: version, Generation: 1, Position: at, Head: at}); !reflect.DeepEqual(got, want) {
		t.Errorf("in step %+v, want %+v", got, want)
	}

	other := optionsIn(t, log, dir)
	begun, err := other.Begin(t.Context(), readmodel.Vault{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := other.OpenIndexed(t.Context(), readmodel.Vault{}, begun.Number)
	if err == nil {
		err = errors.Join(g.CatchUp(t.Context(), at/2, nil), g.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := state().Inactive, []Inactive{{2, version, control.Filling, at / 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the inactive generations are %+v, want %+v", got, want)
	}
	stop()
	_, late := fileInto(t, log, uuid.New(), "late")
	if got := state(); got.Position != at || got.Head != late || got.Lag <= 0 {
		t.Errorf("behind the log %+v, want position %d of %d", got, at, late)
	}
	if _, err := other.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := state().Inactive, []Inactive{{2, version, control.Ready, late}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the inactive generations are %+v, want %+v", got, want)
	}
	if err := other.Switch(t.Context(), "vault"); err != nil {
		t.Fatal(err)
	}
	if got, want := state(), (State{Name: "vault", Makes: version, Version: version, Generation: 2, Position: late, Head: late, Inactive: []Inactive{{1, version, control.Kept, at}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("after a rebuild %+v, want %+v", got, want)
	}
	if err := o.Tables.Remove(t.Context(), "vault-2"); err != nil {
		t.Fatal(err)
	}
	if got := state(); got.Problem == "" || got.Generation != 2 {
		t.Errorf("without its tables %+v, want a problem", got)
	}
	if there := generations(t, o.Tables, readmodel.Vault{}); slices.Contains(there, 2) {
		t.Error("looking at a read model makes its tables")
	}
}

func TestStateReportsStopReason(t *testing.T) {
	const tomorrow = `{"time":"2999-01-02T03:04:05Z","schema":1}` // of a machine whose clock is ahead
	for name, burnt := range map[string]events.Record{
		"a type nobody knows":          {Type: "FolderBurnt", Data: []byte(`{}`), Metadata: []byte(tomorrow)},
		"metadata that is not":         {Type: "FolderRenamed", Data: []byte(`{}`), Metadata: []byte(`{`)},
		"a payload that is not":        {Type: "FolderRenamed", Data: []byte(`{`), Metadata: []byte(`{"time":"2026-01-02T03:04:05Z","schema":1}`)},
		"a payload of another version": {Type: "FolderRenamed", Data: []byte(`{}`), Metadata: []byte(`{"schema":99}`)},
	} {
		driver := memory.New()
		log := events.NewLog(driver)
		t.Cleanup(func() { _ = log.Close() })
		at := add(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F", Owner: "user:alice"})
		o := optionsIn(t, log, t.TempDir())
		set, stop := serve(t, o)
		wait(t, set.Runner("vault"), at)
		stop()
		burnt.ID = uuid.New()
		if _, err := driver.Append(t.Context(), events.Folders, 0, []events.Record{burnt}); err != nil {
			t.Fatal(err)
		}
		want := events.Decode(burnt).Err
		if s, err := stateOf(t, o, "vault"); err != nil || want == nil || !strings.HasPrefix(s.Stopped, "position ") {
			t.Errorf("%s: State = %+v, %v; want it to tell that %v", name, s, err, want)
		}
		if s, err := stateOf(t, o, "jobs"); err != nil || (s.Stopped != "") != (burnt.Type == "FolderBurnt") {
			t.Errorf("%s: State of a read model without folders = %+v, %v", name, s, err)
		}
	}
}

func TestParkedEventsAreReadInPages(t *testing.T) {
	p, l := newLearning(t)
	folder, _ := manyDocuments(t, p.log, 1)
	var streams []string
	for range 3 {
		stream := events.DocumentStream(uuid.New())
		streams = append(streams, stream)
		l.know(stream, 0)
		p.serve(add(t, p.log, stream, imported(folder, "a.md"), events.DocumentRenamed{Version: 2, Name: "b.md"}))
	}
	o := optionsIn(t, p.log, p.dir)
	var got []string
	for after, left := events.Position(0), 6; left > 0; {
		page, more, err := o.Parked(t.Context(), "vault", "", after, 2)
		if err != nil || len(page) != 2 || more != left-2 {
			t.Fatalf("a page of %d events before %d more (%v), want 2 before %d", len(page), more, err, left-2)
		}
		got, after, left = append(got, page[0].Stream, page[1].Stream), page[1].Position, more
	}
	if want := []string{streams[0], streams[0], streams[1], streams[1], streams[2], streams[2]}; !reflect.DeepEqual(got, want) {
		t.Errorf("parked are events of %q, want %q", got, want)
	}
	page, more, err := o.Parked(t.Context(), "vault", streams[1], 0, 1)
	if err != nil || len(page) != 1 || more != 1 || page[0].Stream != streams[1] {
		t.Errorf("of one stream %+v and %d more are parked (%v), want 1 and 1", page, more, err)
	}
}
