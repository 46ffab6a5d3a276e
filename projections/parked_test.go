//go:build !race

package projections

import (
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/events/memory"
	"annals/projections/generation"
	"annals/projections/readmodel"
	"annals/projections/searchindex"

	"github.com/google/uuid"
)

// rebuildParked rebuilds a read model as a command does while a server runs, and
// waits for the server to take it up.
func rebuildParked(t *testing.T, o generation.Options, r *Runner) {
	t.Helper()
	can, err := o.CanRetry(t.Context(), r.Name(), "")
	if err != nil || !can {
		t.Fatalf("%s: CanRetry returns %t (%v), want true", r.Name(), can, err)
	}
	generation, err := o.RebuildFromStart(t.Context(), r.Name(), nil)
	if err != nil {
		t.Fatal(err)
	}
	untilServes(t, r, generation)
}

func TestRetryRebuildsBesideServer(t *testing.T) {
	p, l := newLearning(t)
	folder, id, job := uuid.New(), uuid.New(), uuid.New()
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"})
	add(t, p.log, events.JobStream(job), events.FileAccepted{File: 0, Name: "a.md"}, events.ImportRequested{User: "user:alice", Files: 1})
	content := write(t, p.log, id, 1, "lamp", 3)
	l.know(events.DocumentStream(id), 0)
	l.know(events.JobStream(job), 2)
	add(t, p.log, events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: content})
	add(t, p.log, events.JobStream(job), events.FileImported{File: 0, Document: id}, events.JobFinished{Successful: 1})
	add(t, p.log, events.DocumentStream(id), events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentTagged{Version: 3, Tags: []string{"t"}})
	_, last := fileInto(t, p.log, folder, "oil")

	s, stop := serve(t, optionsIn(t, p.log, p.dir))
	for _, r := range s.All() {
		wait(t, r, last)
	}
	other := optionsIn(t, p.log, p.dir)
	parked, _, err := other.Parked(t.Context(), "vault", "", 0, 10)
	if err != nil || len(parked) != 3 {
		t.Fatalf("parked are %+v (%v), want the document's three", parked, err)
	}
	if first := parked[0]; first.Stream != events.DocumentStream(id) || first.Revision != 0 || first.Type != "DocumentImported" || first.Time.IsZero() || !strings.Contains(first.Reason, "does not know") {
		t.Errorf("the first parked event is %+v", first)
	}
	if !strings.HasPrefix(parked[2].Reason, "waits for an earlier event") || parked[2].Type != "DocumentTagged" {
		t.Errorf("the last parked event is %+v", parked[2])
	}
	if can, err := other.CanRetry(t.Context(), "vault", ""); can || err != nil {
		t.Errorf("CanRetry returns %t (%v) while the program does not know the event", can, err)
	}

	l.know("", 0)
	for _, r := range s.All() {
		// The others read nothing of what the program did not know.
		if reads := func(typ string) bool { return slices.Contains(r.Types(), typ) }; slices.ContainsFunc([]string{"DocumentImported", "DocumentRenamed", "DocumentTagged", "FileImported", "JobFinished"}, reads) {
			rebuildParked(t, other, r)
		}
	}
	hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lamp", Granted: []string{folder.String()}, Limit: 10})
	if err != nil || len(hits) != 3 {
		t.Errorf("a search finds %d passages (%v), want 3", len(hits), err)
	}
	at := add(t, p.log, events.DocumentStream(id), events.DocumentRenamed{Version: 4, Name: "c.md"})
	for _, r := range s.All() {
		wait(t, r, at)
	}
	if got := number(t, s.Runner("vault"), `SELECT count(*) FROM documents WHERE name = 'c.md'`); got != 1 {
		t.Error("what comes after a retry is not applied")
	}
	stop()
	p.wantSound(0)
}

func TestRetryParksWhatStillCannotBeRead(t *testing.T) {
	p, l := newLearning(t)
	folder, one, two := uuid.New(), events.DocumentStream(uuid.New()), events.DocumentStream(uuid.New())
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	var last events.Position
	for _, stream := range []string{one, two} {
		l.know(stream, 0)
		last = add(t, p.log, stream, imported(folder, "a.md"), events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentRenamed{Version: 3, Name: "c.md"})
	}
	p.serve(last)
	l.know(one, 2)
	o := optionsIn(t, p.log, p.dir)
	for stream, want := range map[string]bool{"": true, one: true, two: false} {
		if can, err := o.CanRetry(t.Context(), "vault", stream); can != want || err != nil {
			t.Errorf("CanRetry of the stream %q returns %t (%v), want %t", stream, can, err, want)
		}
	}
	if _, err := o.RebuildFromStart(t.Context(), "vault", nil); err != nil {
		t.Fatal(err)
	}
	if err := o.Switch(t.Context(), "vault"); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]int64{one: 2, two: 0} {
		parked, _, err := o.Parked(t.Context(), "vault", stream, 0, 10)
		if err != nil || len(parked) != 3-int(want) || parked[0].Revision != want {
			t.Errorf("of %s %+v are parked (%v), want those from revision %d", stream, parked, err, want)
		}
	}
}

func TestRetryRefusesParkedEventThatLogLacks(t *testing.T) {
	p, l := newLearning(t)
	folder, stream := uuid.New(), events.DocumentStream(uuid.New())
	add(t, p.log, events.Folders, events.FolderCreated{Folder: folder, Name: "F"})
	l.know(stream, 0)
	p.serve(add(t, p.log, stream, imported(folder, "a.md")))
	o := optionsIn(t, events.NewLog(memory.New()), p.dir)
	if can, err := o.CanRetry(t.Context(), "vault", ""); can || err == nil {
		t.Errorf("CanRetry returns %t (%v), want an error", can, err)
	}
}

// What was begun was filled by a program that did not know the event.
func TestRebuildFromStartDropsInterruptedRebuild(t *testing.T) {
	p, l := newLearning(t)
	folder, _ := manyDocuments(t, p.log, 3)
	stream := events.DocumentStream(uuid.New())
	l.know(stream, 0)
	last := add(t, p.log, stream, imported(folder, "a.md"))
	p.serve(last)
	o := optionsIn(t, p.log, p.dir)
	begun, err := o.Begin(t.Context(), readmodel.Vault{})
	if err == nil {
		err = o.Fill(t.Context(), readmodel.Vault{}, begun, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.know("", 0)
	if _, err = o.RebuildFromStart(t.Context(), "vault", nil); err == nil {
		err = o.Switch(t.Context(), "vault")
	}
	if err != nil {
		t.Fatal(err)
	}
	if parked, _, err := o.Parked(t.Context(), "vault", "", 0, 10); err != nil || len(parked) > 0 {
		t.Errorf("parked are still %+v (%v)", parked, err)
	}
}
