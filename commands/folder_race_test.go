package commands

import (
	"context"
	"fmt"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

// holding is a read side that knows of one folder with documents in it, and
// keeps how far it was asked to be.
type holding struct {
	folder uuid.UUID
	after  events.Position
}

func (h *holding) HoldsDocuments(_ context.Context, folder uuid.UUID, after events.Position) (bool, error) {
	h.after = after
	return folder == h.folder, nil
}

func TestDeletionRacesFiling(t *testing.T) {
	h, folder := library(t)
	if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("DeleteFolder with the read side unavailable: %v, want unavailable", err)
	}
	contents := &holding{folder: folder}
	h.Contents = contents
	head, _ := h.Log.Head(t.Context())
	if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1}); !fault.Is(err, fault.Conflict) {
		t.Errorf("DeleteFolder with documents: %v, want conflict", err)
	}
	if contents.after != head {
		t.Errorf("the read side was asked as of position %d, want the log's head %d", contents.after, head)
	}
	contents.folder, contents.after = uuid.Nil, 0
	if _, err := h.DeleteFolder(t.Context(), bob, "", foldertree.DeleteFolder{ID: folder, Version: -1}); !fault.Is(err, fault.NotFound) || contents.after != 0 {
		t.Errorf("DeleteFolder by another user: %v, want not found before any query", err)
	}
	if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1}); err != nil {
		t.Errorf("DeleteFolder without documents: %v", err)
	}
}

// reading is a read side that is never behind: it reads the log.
type reading struct{ log *events.Log }

func (r reading) HoldsDocuments(ctx context.Context, folder uuid.UUID, _ events.Position) (holds bool, err error) {
	batch, _, err := r.log.Read(ctx, 0, 10_000, "DocumentImported", "DocumentMoved")
	for _, e := range batch {
		switch d := e.Data.(type) {
		case events.DocumentImported:
			holds = holds || d.Folder == folder
		case events.DocumentMoved:
			holds = holds || d.Folder == folder
		}
	}
	return holds, err
}

func TestNonEmptyFolderIsKept(t *testing.T) {
	h, library, document := filed(t)
	h.Contents = reading{h.Log}
	version := 1
	for i := range 100 {
		folder, _, err := h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Parent: library, Name: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		file := func() error {
			_, err := h.ImportDocument(t.Context(), importInto(folder, shaA, fmt.Sprint(i)))
			return err
		}
		if i%2 == 0 {
			file = func() error {
				_, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: version, Folder: &folder})
				return err
			}
		}
		result := make(chan error)
		go func() { result <- file() }()
		_, deleted := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1})
		filed := <-result
		if (deleted == nil) == (filed == nil) {
			t.Fatalf("a document was filed (%v) and the folder deleted (%v)", filed, deleted)
		}
		if i%2 == 0 && filed == nil {
			version++
		}
	}
}

func TestRacingFolderWritersOneWins(t *testing.T) {
	h, folder := library(t)
	other := &Handler{Log: h.Log}
	testOneWins(t, func(i int) (events.Position, error) {
		name := fmt.Sprint("Library ", i)
		return []*Handler{h, other}[i%2].ChangeFolder(t.Context(), alice, "", foldertree.ChangeFolder{ID: folder, Version: 1, Name: &name})
	})
}

func TestRacingFolderMakersOneWins(t *testing.T) {
	h, folder := library(t)
	other := &Handler{Log: h.Log}
	errs := make(chan error)
	for i := range 16 {
		go func() {
			_, _, err := []*Handler{h, other}[i%2].CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Parent: folder, Name: "one"})
			errs <- err
		}()
	}
	made := 0
	for range 16 {
		if err := <-errs; err == nil {
			made++
		} else if !fault.Is(err, fault.Conflict) {
			t.Errorf("CreateFolder: %v", err)
		}
	}
	if made != 1 {
		t.Errorf("%d folders were made by one name", made)
	}
}

func TestChangePosition(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	folder, at, err := h.CreateFolder(t.Context(), alice, "request-7", foldertree.CreateFolder{Name: "Library"})
	if head, _ := h.Log.Head(t.Context()); err != nil || at != head {
		t.Errorf("CreateFolder stands at %d, %v; the log's head is %d", at, err, head)
	}
	name := "Library"
	same, err := h.ChangeFolder(t.Context(), alice, "", foldertree.ChangeFolder{ID: folder, Version: 1, Name: &name})
	if err != nil || same != at {
		t.Errorf("a change that changes nothing stands at %d, %v; want %d", same, err, at)
	}
	batch, _, err := h.Log.Read(t.Context(), 0, 10)
	if err != nil || len(batch) != 1 {
		t.Fatalf("the log holds %v, %v", batch, err)
	}
	if m := batch[0].Metadata; m.Actor != "user:alice" || m.Via != "vault" || m.Correlation != "request-7" {
		t.Errorf("metadata is %+v", m)
	}
}
