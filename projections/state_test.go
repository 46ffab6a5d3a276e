//go:build !race

package projections_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"

	"github.com/google/uuid"
)

func TestStateIsReadWhileServing(t *testing.T) {
	log, dir := projectionstest.NewLog(t), t.TempDir()
	o := projectionstest.Options(t, log, dir)
	version := readmodel.Vault{}.Version()
	state := func() projections.State {
		t.Helper()
		s, err := stateOf(t, o, "vault")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	_, at := projectionstest.ImportDocuments(t, log, 5)
	if got, want := state(), (projections.State{Name: "vault", Makes: version, Head: at}); !reflect.DeepEqual(got, want) {
		t.Errorf("before the first start the state is %+v, want %+v", got, want)
	}
	s, stop := projectionstest.Serve(t, o)
	projectionstest.Wait(t, s.Runner("vault"), at)
	if got, want := state(), (projections.State{Name: "vault", Makes: version, Version: version, Generation: 1, Position: at, Head: at}); !reflect.DeepEqual(got, want) {
		t.Errorf("when it is up to date the state is %+v, want %+v", got, want)
	}

	other := projectionstest.Options(t, log, dir)
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
	if got, want := state().Inactive, []projections.Inactive{{2, version, control.Filling, at / 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the inactive generations are %+v, want %+v", got, want)
	}
	stop()
	_, last := projectionstest.ImportDocument(t, log, uuid.New(), "late")
	if got := state(); got.Position != at || got.Head != last || got.Lag <= 0 {
		t.Errorf("when it is behind the log the state is %+v, want position %d of %d", got, at, last)
	}
	if _, err := other.Rebuild(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := state().Inactive, []projections.Inactive{{2, version, control.Ready, last}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the inactive generations are %+v, want %+v", got, want)
	}
	if err := other.Switch(t.Context(), "vault"); err != nil {
		t.Fatal(err)
	}
	if got, want := state(), (projections.State{Name: "vault", Makes: version, Version: version, Generation: 2, Position: last, Head: last, Inactive: []projections.Inactive{{1, version, control.Kept, at}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("after a rebuild the state is %+v, want %+v", got, want)
	}
	if err := o.Tables.Remove(t.Context(), "vault-2"); err != nil {
		t.Fatal(err)
	}
	if got := state(); got.Problem == "" || got.Generation != 2 {
		t.Errorf("without its tables the state is %+v, want a problem", got)
	}
	if left := projectionstest.Generations(t, o.Tables, readmodel.Vault{}); slices.Contains(left, 2) {
		t.Error("StateOf created the missing tables")
	}
}

func TestStateReportsStopReason(t *testing.T) {
	const tomorrow = `{"time":"2999-01-02T03:04:05Z","schema":1}` // an event from a machine whose clock is ahead
	for name, unreadable := range map[string]events.Record{
		"an unknown type":     {Type: "FolderUnknown", Data: []byte(`{}`), Metadata: []byte(tomorrow)},
		"malformed metadata":  {Type: "FolderRenamed", Data: []byte(`{}`), Metadata: []byte(`{`)},
		"a malformed payload": {Type: "FolderRenamed", Data: []byte(`{`), Metadata: []byte(`{"time":"2026-01-02T03:04:05Z","schema":1}`)},
		"a newer schema":      {Type: "FolderRenamed", Data: []byte(`{}`), Metadata: []byte(`{"schema":99}`)},
	} {
		driver := memory.New()
		log := projectionstest.LogOver(t, driver)
		at := projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: uuid.New(), Name: "F", Owner: "user:alice"})
		o := projectionstest.Options(t, log, t.TempDir())
		set, stop := projectionstest.Serve(t, o)
		projectionstest.Wait(t, set.Runner("vault"), at)
		stop()
		unreadable.ID = uuid.New()
		if _, err := driver.Append(t.Context(), events.Folders, 0, []events.Record{unreadable}); err != nil {
			t.Fatal(err)
		}
		want := events.Decode(unreadable).Err
		if s, err := stateOf(t, o, "vault"); err != nil || want == nil || !strings.HasPrefix(s.Stopped, "position ") {
			t.Errorf("%s: StateOf = %+v, %v; want the position of the event, and %v", name, s, err, want)
		}
		if s, err := stateOf(t, o, "jobs"); err != nil || (s.Stopped != "") != (unreadable.Type == "FolderUnknown") {
			t.Errorf("%s: StateOf the jobs = %+v, %v; want Stopped only for an unknown type", name, s, err)
		}
	}
}
