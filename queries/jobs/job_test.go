package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/queries/jobs"
	"annals/queries/queriestest"
	"annals/queries/search"

	"github.com/google/uuid"
)

// fixture is a log with read models, and the Jobs that reads them.
type fixture struct {
	*queriestest.World
	jobs *jobs.Jobs
	t    testing.TB
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	w := queriestest.Open(t)
	return &fixture{w, &jobs.Jobs{Models: w.Models}, t}
}

func newFixtureWithEngine(t testing.TB) (*fixture, *queriestest.Engine) {
	t.Helper()
	w, engine := queriestest.OpenWithEngine(t)
	return &fixture{w, &jobs.Jobs{Models: w.Models}, t}, engine
}

var (
	alice = queriestest.Alice
	bob   = queriestest.Bob
	eve   = queriestest.Eve
)

func TestDoneJobIsSearchable(t *testing.T) {
	f := newFixture(t)
	searcher := &search.Searcher{Models: f.Models}
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	for i := range 20 {
		job := uuid.New()
		word := fmt.Sprintf("wombat%d", i)
		f.Append(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.FileAccepted{File: 1, Name: "b.xyz", Folder: "Top", Refused: "no"},
			events.ImportRequested{Files: 2, User: "user:alice"})
		texts := []string{"A " + word + "."}
		if i%5 == 0 { // a very large document, whose indexing is deferred
			texts = append(slices.Repeat([]string{"Much else."}, 1200), texts...)
		}
		doc := f.AddDocument(top, word+".md", nil, texts...)
		f.Append(events.JobStream(job), events.FileImported{Document: doc, Title: "A"}, events.JobFinished{Successful: 1, Failed: 1})
		var last *jobs.Job
		f.Await(f.Models.Jobs)
		err := f.jobs.FollowJob(t.Context(), alice, job.String(), func(u jobs.Update) error { last = u.Job; return nil })
		if err != nil || last == nil || !last.Done || last.Status != "complete" || last.Successful != 1 || last.Failed != 1 {
			t.Fatalf("FollowJob ends with %+v (%v), want a complete job", last, err)
		}
		if s, err := searcher.Search(t.Context(), alice, search.Query{Query: word}); err != nil || len(s) == 0 || !strings.Contains(s[0].Text, word) {
			t.Fatalf("Search = %v, %v after the job is done, want its document", s, err)
		}
		if _, err := f.jobs.Job(t.Context(), eve, job.String()); !fault.Is(err, fault.NotFound) {
			t.Errorf("Job for another user: %v, want fault.NotFound", err)
		}
	}
}

func TestDuplicateResultHasDocumentTags(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	doc := f.AddDocument(top, "a.md", []string{"first"}, "Text.")
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top", Tags: []string{"other"}}, events.ImportRequested{Files: 1, User: "user:alice"},
		events.FileImported{Document: doc, Title: "A", Duplicate: true}, events.JobFinished{Successful: 1})
	f.Settle()
	j, err := f.jobs.Job(t.Context(), alice, job.String())
	if err != nil || !slices.Equal(j.Results[0].Tags, []string{"first"}) {
		t.Errorf("Job: got result with tags %v (%v), want those of the document", j.Results[0].Tags, err)
	}
}

func TestFileUpdateMessage(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	doc := f.AddDocument(top, "a.md", nil, "Text.")
	for _, c := range []struct {
		outcome   string
		duplicate bool
		want      string
	}{
		{events.OutcomeCreated, false, "imported a.md"}, {events.OutcomeCreated, true, "imported a.md"},
		{events.OutcomeUpdated, false, "updated a.md"}, {events.OutcomeUpdated, true, "updated a.md"},
		{events.OutcomeUnchanged, true, "a.md was imported before"}, {events.OutcomeUnchanged, false, "a.md is unchanged"},
		{"", true, "a.md was imported before"}, {"", false, "imported a.md"}, // written by earlier releases
	} {
		job := uuid.New()
		f.Append(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"},
			events.FileImported{Document: doc, Title: "A", Duplicate: c.duplicate, Outcome: c.outcome}, events.JobFinished{Successful: 1})
		f.Settle()
		var messages []string
		err := f.jobs.FollowJob(t.Context(), alice, job.String(), func(u jobs.Update) error { messages = append(messages, u.Message); return nil })
		if err != nil || !slices.Contains(messages, c.want) {
			t.Errorf("outcome %q, duplicate %v: got messages %q (%v), want %q", c.outcome, c.duplicate, messages, err, c.want)
		}
	}
}

// Warnings of a file are in the updates too, because a client that follows a job need not ask for its
// results.
func TestFileUpdateHasWarnings(t *testing.T) {
	f := newFixture(t)
	doc := f.AddDocument(f.AddFolder(uuid.Nil, "Top", "user:alice"), "a.pdf", nil, "Text.")
	job, want := uuid.New(), []string{"Page 2 is not read."}
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"},
		events.FileImported{Document: doc, Title: "A", Outcome: events.OutcomeCreated, Warnings: want}, events.JobFinished{Successful: 1})
	f.Settle()
	var updates []jobs.Update
	err := f.jobs.FollowJob(t.Context(), alice, job.String(), func(u jobs.Update) error { updates = append(updates, u); return nil })
	if err != nil || len(updates) == 0 || !slices.Equal(updates[0].Warnings, want) {
		t.Errorf("FollowJob: got updates %+v (%v), want the warnings %q", updates, err, want)
	}
}

func TestJobNamesRecognisedPage(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		step, message, want string
	}{
		{"ocr", "page 3 of 12", "0 of 1 files done; recognising page 3 of 12 of a.pdf"},
		{"reading", "page 3 of 12", "0 of 1 files done; working on a.pdf"},
	} {
		job := uuid.New()
		f.Append(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"},
			events.FileStarted{}, events.FileStepped{Step: c.step, Message: c.message})
		f.Settle()
		if j, err := f.jobs.Job(t.Context(), alice, job.String()); err != nil || j.Message != c.want {
			t.Errorf("step %s: Job has message %q (%v), want %q", c.step, j.Message, err, c.want)
		}
	}
}

// A file that waits for others to be recognised is in the state and the progress of its job, though
// nobody works on it.
func TestJobNamesWaitingScan(t *testing.T) {
	f := newFixture(t)
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.pdf", Folder: "Top"}, events.FileAccepted{File: 1, Name: "b.pdf", Folder: "Top"},
		events.ImportRequested{Files: 2, User: "user:alice"}, events.FileStepped{File: 1, Step: "ocr"})
	f.Settle()
	if j, err := f.jobs.Job(t.Context(), alice, job.String()); err != nil || j.Message != "0 of 2 files done; b.pdf waits until its pages can be recognised" {
		t.Errorf("Job has message %q (%v)", j.Message, err)
	}
	var first jobs.Update
	enough := errors.New("enough")
	err := f.jobs.FollowJob(t.Context(), alice, job.String(), func(u jobs.Update) error { first = u; return enough })
	if want := (jobs.Update{File: "b.pdf", Index: 1, Step: "ocr", Message: "b.pdf waits until its pages can be recognised"}); err != enough || !reflect.DeepEqual(first, want) {
		t.Errorf("FollowJob: got first update %+v (%v), want %+v", first, err, want)
	}
	f.Append(events.JobStream(job), events.FileStarted{}, events.FileStepped{Step: "reading"})
	f.Settle()
	if j, err := f.jobs.Job(t.Context(), alice, job.String()); err != nil || j.Message != "0 of 2 files done; working on a.pdf" {
		t.Errorf("Job has message %q (%v) while another file is read", j.Message, err)
	}
}

func TestJobHidesUnreadableDuplicate(t *testing.T) {
	f := newFixture(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Share(top, "user:bob", "write")
	doc := f.AddDocument(top, "a.md", []string{"secret"}, "Text.")
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "copy.md", Folder: "Top", Tags: []string{"mine"}}, events.ImportRequested{Files: 1, User: "user:bob"},
		events.FileImported{Document: doc, Title: "Title of a.md", Duplicate: true}, events.JobFinished{Successful: 1})
	f.Settle()
	j, err := f.jobs.Job(t.Context(), bob, job.String())
	if err != nil || j.Results[0].Document != doc || j.Results[0].Title != "Title of a.md" {
		t.Errorf("Job: got results %+v (%v), want the document, which bob may read", j.Results, err)
	}
	f.Append(events.Folders, events.FolderShared{Folder: top})
	f.Await(f.Models.Vault)
	j, err = f.jobs.Job(t.Context(), bob, job.String())
	if err != nil || j.Status != "complete" || j.Results[0].Document != uuid.Nil || j.Results[0].Title != "" || !slices.Equal(j.Results[0].Tags, []string{"mine"}) {
		t.Errorf("Job = %+v, %v after bob lost access, want no document", j, err)
	}
	var updates []jobs.Update
	err = f.jobs.FollowJob(t.Context(), bob, job.String(), func(u jobs.Update) error { updates = append(updates, u); return nil })
	if err != nil || len(updates) != 3 || updates[0].Document != uuid.Nil || !updates[0].Duplicate || updates[2].Job == nil || updates[2].Job.Results[0].Document != uuid.Nil {
		t.Errorf("FollowJob: got updates %+v (%v), want no document", updates, err)
	}
}

func TestResultKind(t *testing.T) {
	f := newFixture(t)
	job := uuid.New()
	f.Append(events.JobStream(job),
		events.FileAccepted{Name: "a.xyz", Folder: "Top", Refused: "no"}, events.FileAccepted{File: 1, Name: "b.md", Folder: "Top"},
		events.FileAccepted{File: 2, Name: "c.md", Folder: "Top"}, events.FileAccepted{File: 3, Name: "d.md", Folder: "Top"},
		events.ImportRequested{Files: 4, User: "user:alice"},
		events.FileFailed{File: 1, Error: "it is empty"}, events.FileFailed{File: 2, Error: "it is at version 3", Kind: fault.Conflict.String()})
	f.Settle()
	j, err := f.jobs.Job(t.Context(), alice, job.String())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []fault.Kind{fault.Invalid, fault.Invalid, fault.Conflict, fault.Internal} {
		if r := j.Results[i]; r.Kind != want || r.Success || r.Done != (i < 3) {
			t.Errorf("Job: got result of %s %+v, want kind %v", r.Filename, r, want)
		}
	}
}

func TestUnknownJobAtStartIsUnavailable(t *testing.T) {
	f := newFixture(t)
	f.Settle()
	f.Models.Start, f.Models.MaxLag = f.At+1, time.Nanosecond // do not wait
	if _, err := f.jobs.Job(t.Context(), alice, uuid.NewString()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Job before the read model has caught up: %v, want fault.Unavailable", err)
	}
	f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	f.Models.MaxLag = time.Hour
	if _, err := f.jobs.Job(t.Context(), alice, uuid.NewString()); !fault.Is(err, fault.NotFound) {
		t.Errorf("Job after the read model has caught up: %v, want fault.NotFound", err)
	}
}

func TestJobOfStoppedReadModelIsUnavailable(t *testing.T) {
	f := newFixture(t)
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"})
	f.Settle()
	f.Stop(f.Models.Jobs)
	f.Append(events.JobStream(job), events.FileFailed{Error: "it is empty"}, events.JobFinished{Failed: 1})
	f.AwaitStop(f.Models.Jobs)
	if j, err := f.jobs.Job(t.Context(), alice, job.String()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Job = %+v, %v, want fault.Unavailable", j, err)
	}
}

func TestJobIsNotDoneBeforeIndexed(t *testing.T) {
	f, engine := newFixtureWithEngine(t)
	top := f.AddFolder(uuid.Nil, "Top", "user:alice")
	f.Settle()
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"})
	release := f.HoldDuring(engine, func() {
		doc := f.AddDocument(top, "a.md", nil, "Text.")
		f.Append(events.JobStream(job), events.FileImported{Document: doc, Title: "A"}, events.JobFinished{Successful: 1})
	})
	f.Await(f.Models.Jobs)
	if j, err := f.jobs.Job(t.Context(), alice, job.String()); err != nil || j.Done || j.Status != "processing" || j.Successful != 1 {
		t.Errorf("Job = %+v, %v before its document is indexed, want it to be processing", j, err)
	}
	if list, _, err := f.jobs.JobList(t.Context(), alice, uuid.Nil, 10); err != nil || len(list) != 1 || list[0].Done || list[0].Status != "processing" || list[0].FinishedAt.IsZero() {
		t.Errorf("JobList = %+v, %v before the document is indexed, want a job in progress", list, err)
	}
	release()
	f.Settle()
	if j, err := f.jobs.Job(t.Context(), alice, job.String()); err != nil || !j.Done || j.Status != "complete" {
		t.Errorf("Job = %+v, %v after its document is indexed, want it to be complete", j, err)
	}
	if list, _, err := f.jobs.JobList(t.Context(), alice, uuid.Nil, 10); err != nil || len(list) != 1 || !list[0].Done {
		t.Errorf("JobList = %+v, %v after the document is indexed, want a job that is done", list, err)
	}
}

func TestFollowJobEndsWithContext(t *testing.T) {
	f := newFixture(t)
	job := uuid.New()
	f.Append(events.JobStream(job), events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"},
		events.FileStarted{File: 0}, events.FileStepped{File: 0, Step: "reading"})
	f.Settle()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := f.jobs.FollowJob(ctx, alice, job.String(), func(u jobs.Update) error {
		if u.File != "a.md" || u.Step != "reading" || u.Message != "reading a.md" {
			t.Errorf("FollowJob reports %+v, want the step reading of a.md", u)
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("FollowJob = %v, want %v", err, context.Canceled)
	}
	want := errors.New("the client is gone")
	if err := f.jobs.FollowJob(t.Context(), alice, job.String(), func(jobs.Update) error { return want }); !errors.Is(err, want) {
		t.Errorf("FollowJob = %v, want the error of the callback", err)
	}
}
