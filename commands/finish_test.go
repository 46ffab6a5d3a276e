package commands

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
)

// gated is a driver on which each append to a job first takes a token from gate.
type gated struct {
	events.Driver
	gate    chan struct{}
	appends int
}

func (d *gated) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if d.gate != nil && strings.HasPrefix(stream, "job-") {
		select {
		case <-d.gate:
		case <-ctx.Done():
			return events.Appended{}, ctx.Err()
		}
		d.appends++
	}
	return d.Driver.Append(ctx, stream, expected, records)
}

// waiting calls FinishFile for a number of files of one job. The append of the first file
// blocks, and the other files wait for it. waiting returns the channels of the results.
func waiting(t *testing.T, files int, ctxOf func(file int) context.Context) (d *gated, h *Handler, started Started, got []chan error) {
	d = &gated{Driver: memory.New()}
	h = &Handler{Log: events.NewLog(d)}
	var uploads []Upload
	for i := range files {
		uploads = append(uploads, upload(i))
	}
	started, err := h.StartImport(t.Context(), alice, "", uploads)
	if err != nil {
		t.Fatal(err)
	}
	d.gate = make(chan struct{})
	for i := range files {
		f, err := h.FileToImport(t.Context(), started.Job, i)
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		got = append(got, result)
		go func() { result <- h.FinishFile(ctxOf(i), f, events.FileImported{Document: id(byte(i))}, true) }()
		synctest.Wait()
	}
	return d, h, started, got
}

func TestOutcomesShareAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const files = maxOutcomes + 5
		d, h, started, got := waiting(t, files, func(int) context.Context { return t.Context() })
		defer h.Log.Close()
		if f, err := h.FileToImport(t.Context(), started.Job, 3); err != nil || f.Ended {
			t.Errorf("FileToImport during an append = %+v, %v, want a file that is not finished", f, err)
		}
		close(d.gate)
		for i, result := range got {
			if err := <-result; err != nil {
				t.Errorf("FinishFile of file %d: %v", i, err)
			}
		}
		if d.appends != 3 {
			t.Errorf("%d files were finished by %d appends, want 3: of one file, %d files and the rest", files, d.appends, maxOutcomes)
		}
		if f, err := h.FileToImport(t.Context(), started.Job, files-1); err != nil || !f.Ended {
			t.Errorf("FileToImport of the last file = %+v, %v; want it finished", f, err)
		}
	})
}

func TestCancelledAppenderFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second, cancel := context.WithCancel(t.Context())
		d, h, started, got := waiting(t, 5, func(file int) context.Context {
			if file == 1 { // file 1 appends the second batch
				return second
			}
			return t.Context()
		})
		defer h.Log.Close()
		cancel()
		synctest.Wait()
		close(d.gate)
		for i, result := range got {
			if err := <-result; fault.Is(err, fault.Canceled) != (i == 1) || i != 1 && err != nil {
				t.Errorf("FinishFile of file %d: %v; want only file 1 canceled", i, err)
			}
		}
		for i := range got {
			if f, err := h.FileToImport(t.Context(), started.Job, i); err != nil || f.Ended != (i != 1) {
				t.Errorf("FileToImport of file %d = %+v, %v", i, f, err)
			}
		}
	})
}

func TestStaleStateNeverDecidesAccess(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	other := &Handler{Log: h.Log}
	folder, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, foldertree.Destination{Path: "Library"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.EnsureFolder(t.Context(), bob, events.Cause{}, foldertree.Destination{Path: "Library/b"}); !fault.Is(err, fault.Forbidden) {
		t.Fatalf("EnsureFolder before sharing: %v, want forbidden", err)
	}
	shared := events.FolderShared{Folder: folder, Permissions: []events.Permission{{Principal: bob.Principal, Access: "write"}}}
	if _, err := h.Log.Append(t.Context(), events.Folders, events.AnyRevision, events.Cause{}, events.New{Data: shared}); err != nil {
		t.Fatal(err)
	}
	b, err := h.EnsureFolder(t.Context(), bob, events.Cause{}, foldertree.Destination{Path: "Library/b"})
	if err != nil {
		t.Fatalf("EnsureFolder after sharing: %v", err)
	}
	if got, err := other.EnsureFolder(t.Context(), bob, events.Cause{}, foldertree.Destination{Path: "Library/b"}); err != nil || got != b {
		t.Errorf("EnsureFolder by another handler = %v, %v; want %v", got, err, b)
	}
	// The handler's cached tree still grants bob access after the withdrawal. The command
	// must fail all the same, because its append conflicts.
	withdrawn := events.FolderShared{Folder: folder}
	if _, err := h.Log.Append(t.Context(), events.Folders, events.AnyRevision, events.Cause{}, events.New{Data: withdrawn}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.EnsureFolder(t.Context(), bob, events.Cause{}, foldertree.Destination{Path: "Library/c"}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("EnsureFolder after access was withdrawn: %v, want forbidden", err)
	}
}
