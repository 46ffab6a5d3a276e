package commands

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"annals/commands/commandstest"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

func upload(n int) Upload {
	return Upload{Name: fmt.Sprintf("%d.md", n), Folder: "Library", SHA256: fmt.Sprintf("%064x", n), Size: 1, MediaType: "text/markdown"}
}

func TestStartImport(t *testing.T) {
	refused := Upload{Name: "x.exe", Folder: "A", Refused: "files of type .exe cannot be imported"}
	for _, test := range []struct {
		name    string
		uploads []Upload
		then    []string
		kind    fault.Kind
	}{
		{"files first, then the request", []Upload{upload(1), upload(2)}, []string{"FileAccepted", "FileAccepted", "ImportRequested"}, 0},
		{"a refused file", []Upload{upload(1), refused}, []string{"FileAccepted", "FileAccepted", "ImportRequested"}, 0},
		{"only refused files: the job is finished", []Upload{refused, refused}, []string{"FileAccepted", "FileAccepted", "ImportRequested", "JobFinished"}, 0},
		{"no files", nil, nil, fault.Invalid},
		{"an invalid name", []Upload{{Name: "a/b.md", Folder: "A"}}, nil, fault.Invalid},
		{"an invalid folder", []Upload{{Name: "b.md", Folder: "A//B"}}, nil, fault.Invalid},
		{"an invalid tag", []Upload{{Name: "b.md", Folder: "A", Tags: []string{""}}}, nil, fault.Invalid},
	} {
		got, err := startImport{user: alice, uploads: test.uploads}.decide()
		if err == nil {
			got = finished(got)
		}
		var types []string
		for _, d := range got {
			types = append(types, events.TypeOf(d))
		}
		if !reflect.DeepEqual(types, test.then) || fault.KindOf(err) != test.kind {
			t.Errorf("%s: decide = %v, %v; want %v, %v", test.name, types, err, test.then, test.kind)
		}
	}
}

func TestFinishAndStepFiles(t *testing.T) {
	requested := []events.Data{
		events.FileAccepted{File: 0, Name: "0"}, events.FileAccepted{File: 1, Name: "1"}, events.FileAccepted{File: 2, Name: "2", Refused: "no"},
		events.ImportRequested{Files: 3, User: "user:alice"},
	}
	imported, failed := events.FileImported{File: 1, Document: id(1)}, events.FileFailed{File: 0, Error: "broken"}
	after := func(more ...events.Data) []events.Data { return append(requested[:4:4], more...) }
	for _, test := range []struct {
		name  string
		given []events.Data
		when  func(*job) ([]events.Data, error)
		then  []events.Data
		kind  fault.Kind
	}{
		{"a file", requested, finishFiles{[]events.Data{imported}}.decide, []events.Data{imported}, 0},
		{"the last file", after(failed), finishFiles{[]events.Data{imported}}.decide, []events.Data{imported, events.JobFinished{Successful: 1, Failed: 2}}, 0},
		{"the last file, failed", after(imported), finishFiles{[]events.Data{failed}}.decide, []events.Data{failed, events.JobFinished{Successful: 1, Failed: 2}}, 0},
		{"a finished file", after(imported), finishFiles{[]events.Data{imported}}.decide, nil, 0},
		{"a finished job", after(imported, failed, events.JobFinished{Successful: 1, Failed: 2}), finishFiles{[]events.Data{failed}}.decide, nil, 0},
		{"all files together", requested, finishFiles{[]events.Data{imported, failed}}.decide,
			[]events.Data{imported, failed, events.JobFinished{Successful: 1, Failed: 2}}, 0},
		{"a file twice", requested, finishFiles{[]events.Data{imported, imported}}.decide, []events.Data{imported}, 0},
		{"a refused file", requested, finishFiles{[]events.Data{events.FileFailed{File: 2}}}.decide, nil, 0},
		{"a missing file", requested, finishFiles{[]events.Data{events.FileImported{File: 3}}}.decide, nil, fault.NotFound},
		{"file -1", requested, finishFiles{[]events.Data{events.FileImported{File: -1}}}.decide, nil, fault.NotFound},
		{"a job that is not complete", requested[:3], finishFiles{[]events.Data{imported}}.decide, nil, fault.NotFound},
		{"the first step", requested, stepFile{1, true, "reading", "page 1"}.decide,
			[]events.Data{events.FileStarted{File: 1}, events.FileStepped{File: 1, Step: "reading", Message: "page 1"}}, 0},
		{"a later step", after(events.FileStarted{File: 1}), stepFile{1, false, "filing", ""}.decide, []events.Data{events.FileStepped{File: 1, Step: "filing"}}, 0},
		{"a step of a finished file", after(imported), stepFile{1, true, "reading", ""}.decide, nil, 0},
	} {
		got, err := test.when(commandstest.Fold(&job{}, test.given))
		if !reflect.DeepEqual(got, test.then) || fault.KindOf(err) != test.kind {
			t.Errorf("%s: decide = %v, %v; want %v, %v", test.name, got, err, test.then, test.kind)
		}
	}
}

func TestLargeImportAppendsInBatches(t *testing.T) {
	h, _ := library(t)
	uploads := make([]Upload, 10_000)
	for i := range uploads {
		uploads[i] = upload(i)
		uploads[i].Tags = []string{strings.Repeat("<", 100), "two"}
	}
	started, err := h.StartImport(t.Context(), alice, "request-1", uploads)
	if err != nil {
		t.Fatalf("StartImport: %v", err)
	}
	if head, err := h.Log.Head(t.Context()); err != nil || head != started.Position {
		t.Errorf("Started.Position = %d, want the head %d (%v)", started.Position, head, err)
	}
	f, err := h.FileToImport(t.Context(), started.Job, 9_999)
	if err != nil {
		t.Fatalf("FileToImport: %v", err)
	}
	if f.Ended || f.Accepted.Name != "9999.md" || f.User.Principal != alice.Principal || len(f.User.Groups) != 1 || f.Cause.Correlation != "request-1" ||
		f.Cause.Causation != events.JobStream(started.Job)+"@9999" {
		t.Errorf("FileToImport = %+v", f)
	}
	err = h.Log.ReadStream(t.Context(), events.JobStream(started.Job), 9_999, func(e events.Event) error {
		if accepted, ok := e.Data.(events.FileAccepted); ok && accepted.File != int(e.Revision) {
			t.Errorf("file %d has revision %d, want its index", accepted.File, e.Revision)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestStartImportChecksAccess(t *testing.T) {
	h, _ := library(t)
	before, _ := h.Log.Head(t.Context())
	if _, err := h.StartImport(t.Context(), bob, "", []Upload{upload(1)}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("StartImport into another user's folder: %v, want forbidden", err)
	}
	if head, _ := h.Log.Head(t.Context()); head != before {
		t.Error("a forbidden import appended events")
	}
}

func TestRacingWorkersFinishJobOnce(t *testing.T) {
	h, _ := library(t)
	workers := []*Handler{h, {Log: h.Log}}
	const files = 40
	var uploads []Upload
	for i := range files {
		uploads = append(uploads, upload(i))
	}
	started, err := h.StartImport(t.Context(), alice, "", uploads)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for i := range 2 * files { // both workers finish every file
		go func() {
			errs <- finish(t.Context(), workers[i%2], started.Job, i/2)
		}()
	}
	for range 2 * files {
		if err := <-errs; err != nil {
			t.Errorf("FinishFile: %v", err)
		}
	}
	ended, finished := 0, 0
	err = h.Log.ReadStream(t.Context(), events.JobStream(started.Job), 0, func(e events.Event) error {
		switch d := e.Data.(type) {
		case events.FileImported, events.FileFailed:
			ended++
		case events.JobFinished:
			if finished++; d.Successful+d.Failed != files || ended != files {
				t.Errorf("%+v after %d files", d, ended)
			}
		}
		return nil
	})
	if err != nil || ended != files || finished != 1 {
		t.Errorf("%d files and %d jobs were finished (%v), want %d and 1", ended, finished, err, files)
	}
}

func finish(ctx context.Context, h *Handler, jobID uuid.UUID, file int) error {
	f, err := h.FileToImport(ctx, jobID, file)
	if err != nil || f.Ended {
		return err
	}
	if file%3 == 0 {
		return h.FailFile(ctx, f, fault.Invalid, "broken")
	}
	return h.FinishFile(ctx, f, events.FileImported{Document: id(byte(file))}, true)
}

// Each new page that is recognised is progress: earlier interruptions do not count then.
func TestRecognisedPagesEndSuspicion(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	started, err := h.StartImport(t.Context(), alice, "", []Upload{upload(0)})
	if err != nil {
		t.Fatal(err)
	}
	file := func() ImportFile {
		t.Helper()
		f, err := h.FileToImport(t.Context(), started.Job, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, test := range []struct {
		step          string
		page          int
		alone         bool
		starts, count int
	}{
		{"reading", 7, false, 1, 0}, {"ocr", 3, false, 0, 0}, {"ocr", 3, false, 1, 0}, {"ocr", 2, false, 2, 0},
		{"reading", 9, true, 2, 1}, {"ocr", 4, true, 0, 0}, {"ocr", 4, true, 0, 1},
	} {
		if test.alone {
			err = h.IsolateFile(t.Context(), file(), "it was interrupted")
		}
		if err == nil {
			err = h.StepFile(t.Context(), file(), !test.alone, test.step, PageMessage(test.page, 9))
		}
		if err != nil {
			t.Fatal(err)
		}
		if f := file(); f.Starts != test.starts || f.Alone != test.count {
			t.Errorf("after the step %s of page %d: %d starts, %d alone; want %d, %d", test.step, test.page, f.Starts, f.Alone, test.starts, test.count)
		}
	}
}

// BenchmarkFinishFile shows that the cost of finishing a file does not depend on the number
// of files in the job.
func BenchmarkFinishFile(b *testing.B) {
	for _, files := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			h := &Handler{Log: events.NewLog(memory.New())}
			defer h.Log.Close()
			uploads := make([]Upload, files)
			for i := range uploads {
				uploads[i] = upload(i)
			}
			next, started := files, Started{}
			for b.Loop() {
				if next == files {
					b.StopTimer()
					var err error
					if started, err = h.StartImport(b.Context(), alice, "", uploads); err != nil {
						b.Fatal(err)
					}
					next = 0
					if _, err := h.FileToImport(b.Context(), started.Job, 0); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if err := finish(b.Context(), h, started.Job, next); err != nil {
					b.Fatal(err)
				}
				next++
			}
		})
	}
}
