//go:build !race

package projections_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"annals/events"
	"annals/projections"
	"annals/projections/generation"
	"annals/projections/projectionstest"
	"annals/projections/readmodel"
	"annals/projections/searchindex"
	"annals/projections/verify"

	"github.com/google/uuid"
)

// retry rebuilds a read model with parked events while a server runs, and waits until the
// server has activated the rebuilt generation.
func retry(t *testing.T, o generation.Options, r *projections.Runner) {
	t.Helper()
	can, err := o.CanRetry(t.Context(), r.Name(), "")
	if err != nil || !can {
		t.Fatalf("%s: CanRetry = %t, %v, want true", r.Name(), can, err)
	}
	generation, err := o.RebuildFromStart(t.Context(), r.Name(), nil)
	if err != nil {
		t.Fatal(err)
	}
	projectionstest.UntilServes(t, r, generation)
}

func TestRetryRebuildsBesideServer(t *testing.T) {
	old, dir := projectionstest.NewOldReader(), t.TempDir()
	log := projectionstest.LogOver(t, old)
	folder, id, job := uuid.New(), uuid.New(), uuid.New()
	projectionstest.Append(t, log, events.Folders, events.FolderCreated{Folder: folder, Name: "F", Owner: "user:alice"})
	projectionstest.Append(t, log, events.JobStream(job), events.FileAccepted{File: 0, Name: "a.md"}, events.ImportRequested{User: "user:alice", Files: 1})
	content := projectionstest.AppendText(t, log, id, 1, "lamp", 3)
	old.Hide(events.DocumentStream(id), 0)
	old.Hide(events.JobStream(job), 2)
	projectionstest.Append(t, log, events.DocumentStream(id), events.DocumentImported{Version: 1, Folder: folder, Name: "a.md", Content: content})
	projectionstest.Append(t, log, events.JobStream(job), events.FileImported{File: 0, Document: id}, events.JobFinished{Successful: 1})
	projectionstest.Append(t, log, events.DocumentStream(id), events.DocumentRenamed{Version: 2, Name: "b.md"}, events.DocumentTagged{Version: 3, Tags: []string{"t"}})
	_, last := projectionstest.ImportDocument(t, log, folder, "oil")

	s, stop := projectionstest.Serve(t, projectionstest.Options(t, log, dir))
	for _, r := range s.All() {
		projectionstest.Wait(t, r, last)
	}
	other := projectionstest.Options(t, log, dir)
	parked, _, err := other.Parked(t.Context(), "vault", "", 0, 10)
	if err != nil || len(parked) != 3 {
		t.Fatalf("the parked events are %+v (%v), want the three of the document", parked, err)
	}
	if first := parked[0]; first.Stream != events.DocumentStream(id) || first.Revision != 0 || first.Type != "DocumentImported" || first.Time.IsZero() || !strings.Contains(first.Reason, "does not know") {
		t.Errorf("the first parked event is %+v", first)
	}
	if !strings.HasPrefix(parked[2].Reason, "waits for an earlier event") || parked[2].Type != "DocumentTagged" {
		t.Errorf("the last parked event is %+v", parked[2])
	}
	if can, err := other.CanRetry(t.Context(), "vault", ""); can || err != nil {
		t.Errorf("CanRetry = %t, %v while the program does not know the event, want false", can, err)
	}

	old.Upgrade()
	for _, r := range s.All() {
		// Read models that do not read these events have no parked events.
		if reads := func(typ string) bool { return slices.Contains(r.Types(), typ) }; slices.ContainsFunc([]string{"DocumentImported", "DocumentRenamed", "DocumentTagged", "FileImported", "JobFinished"}, reads) {
			retry(t, other, r)
		}
	}
	hits, err := s.Search.Search(t.Context(), searchindex.Query{Text: "lamp", Granted: []string{folder.String()}, Limit: 10})
	if err != nil || len(hits) != 3 {
		t.Errorf("a search finds %d passages (%v), want 3", len(hits), err)
	}
	at := projectionstest.Append(t, log, events.DocumentStream(id), events.DocumentRenamed{Version: 4, Name: "c.md"})
	for _, r := range s.All() {
		projectionstest.Wait(t, r, at)
	}
	if got := projectionstest.Number(t, s.Runner("vault").DB(), `SELECT count(*) FROM documents WHERE name = 'c.md'`); got != 1 {
		t.Error("an event after the retry is not applied")
	}
	stop()

	v := &verify.Verifier{
		Options: projectionstest.Options(t, log, dir), Scratch: t.TempDir(),
		Original: func(context.Context, string, int64) error { return nil },
		Progress: func(string, int64, int64) {},
		Report: func(c verify.Check) {
			if c.Problems > 0 || len(c.Skipped) > 0 {
				t.Errorf("%s: %q %q, want no problems", c.Name, c.First, c.Skipped)
			}
		},
	}
	if problems, err := v.Run(t.Context()); problems > 0 || err != nil {
		t.Errorf("Run = %d, %v, want no problems", problems, err)
	}
	for _, name := range readmodel.Names() {
		if s, err := stateOf(t, v.Options, name); err != nil || s.Problem != "" || s.Parked > 0 {
			t.Errorf("State = %+v, %v, want no problem and no parked events", s, err)
		}
	}
}
