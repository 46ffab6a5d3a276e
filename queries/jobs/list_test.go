package jobs_test

import (
	"fmt"
	"slices"
	"testing"

	"annals/events"
	"annals/events/fault"
	"annals/projections/projectionstest"
	"annals/queries/queriestest"

	"github.com/google/uuid"
)

// A list of jobs has the jobs of its user, newest first, each once, in the state that Job returns.
func TestJobListIsLikeJob(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	request := func(user events.Principal, more ...events.Data) string {
		job := uuid.New()
		f.Append(events.JobStream(job), slices.Concat([]events.Data{events.FileAccepted{Name: "a.md", Folder: "Top"}, events.FileAccepted{File: 1, Name: "b.md", Folder: "Top"},
			events.ImportRequested{Files: 2, User: user}}, more)...)
		return job.String()
	}
	doc := f.AddDocument(top, "a.md", nil, "Text.")
	imported, failed := events.FileImported{Document: doc, Title: "A"}, events.FileFailed{File: 1, Error: "it is empty"}
	var want []string
	for _, more := range [][]events.Data{
		nil,
		{events.FileStarted{File: 1}, events.FileStepped{File: 1, Step: "ocr", Message: "page 3 of 12"}},
		{events.FileStarted{}, events.FileStarted{File: 1}},
		{events.FileStepped{File: 1, Step: "ocr"}, events.FileStepped{File: 0, Step: "ocr"}},
		{events.FileStepped{Step: "ocr"}, events.FileStarted{File: 1}},
		{imported},
		{imported, failed, events.JobFinished{Successful: 1, Failed: 1}},
		{events.FileFailed{Error: "it is broken"}, failed, events.JobFinished{Failed: 2}},
		{failed, events.FileFailed{Error: "it is broken"}, events.JobFinished{Failed: 2}},
	} {
		want = append(want, request("user:alice", more...))
		request("user:bob")
	}
	refused, reread := uuid.New(), uuid.New()
	f.Append(events.JobStream(refused), events.FileAccepted{Name: "a.xyz", Folder: "Top", Refused: "no"}, events.ImportRequested{Files: 1, User: "user:alice"}, events.JobFinished{Failed: 1})
	f.Append(events.JobStream(reread), events.FileAccepted{Name: "a.md", Folder: "Top", Reread: true}, events.ImportRequested{Files: 1, User: "user:alice"}, imported, events.JobFinished{Successful: 1})
	want = append(want, refused.String(), reread.String())
	slices.Reverse(want)
	f.Settle()
	for _, limit := range []int{1, 4, len(want), 100} {
		var got []string
		for cursor := uuid.Nil; ; {
			list, next, err := f.jobs.JobList(t.Context(), alice, cursor, limit)
			if err != nil || len(list) > limit || next != uuid.Nil && len(list) < limit {
				t.Fatalf("JobList with limit %d = %d jobs, %v", limit, len(list), err)
			}
			for _, j := range list {
				got = append(got, j.ID.String())
				single, err := f.jobs.Job(t.Context(), alice, j.ID.String())
				single.Results = nil
				if err != nil || fmt.Sprintf("%+v", j) != fmt.Sprintf("%+v", single) {
					t.Errorf("JobList has %+v, want %+v (%v) as of Job", j, single, err)
				}
				if j.CreatedAt.IsZero() || j.FinishedAt.IsZero() == j.Done || j.Done && j.FinishedAt.Before(j.CreatedAt) {
					t.Errorf("job %s was created at %s and finished at %s", j.ID, j.CreatedAt, j.FinishedAt)
				}
			}
			if cursor = next; next == uuid.Nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: got jobs %v, want %v", limit, got, want)
		}
	}
	if list, next, err := f.jobs.JobList(t.Context(), queriestest.Admin, uuid.Nil, 10); err != nil || len(list) > 0 || next != uuid.Nil {
		t.Errorf("JobList of an administrator = %v, %v, %v, want none of others", list, next, err)
	}
	for _, cursor := range []uuid.UUID{uuid.New(), uuid.MustParse(want[0])} {
		if list, next, err := f.jobs.JobList(t.Context(), bob, cursor, 10); err != nil || len(list) > 0 || next != uuid.Nil {
			t.Errorf("JobList with a cursor that is none of the user's jobs = %v, %v, %v, want none", list, next, err)
		}
	}
}

// A job whose only document is indexed later is in progress until then, as it is by itself.
func TestListedJobWaitsForDeferredDocument(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	doc := f.AddDocument(top, "a.md", nil, "Text.")
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"},
		events.FileImported{Document: doc, Title: "A"}, events.JobFinished{Successful: 1})
	f.Settle()
	db := projectionstest.Open(t, f.Home, "passages-1")
	defer db.Close()
	for _, defers := range []struct {
		document string
		done     bool
	}{{uuid.NewString(), true}, {doc.String(), false}} {
		if _, err := db.ExecContext(t.Context(), `INSERT INTO deferred (document, position) VALUES ($1, 1)`, defers.document); err != nil {
			t.Fatal(err)
		}
		list, _, err := f.jobs.JobList(t.Context(), alice, uuid.Nil, 10)
		if err != nil || len(list) != 1 || list[0].Done != defers.done {
			t.Errorf("JobList = %+v, %v while %s is to be indexed, want done %v", list, err, defers.document, defers.done)
		}
	}
}

func TestJobListOfStoppedReadModelIsUnavailable(t *testing.T) {
	f := newFixture(t)
	f.Stop(f.Models.Jobs)
	f.Append(events.JobStream(uuid.New()), events.FileAccepted{Name: "a.md", Folder: "Top"})
	f.AwaitStop(f.Models.Jobs)
	if list, _, err := f.jobs.JobList(t.Context(), alice, uuid.Nil, 10); !fault.Is(err, fault.Unavailable) {
		t.Errorf("JobList = %+v, %v, want fault.Unavailable", list, err)
	}
}
