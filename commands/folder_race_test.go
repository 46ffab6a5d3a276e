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

// oneFolder are read models that report documents in one folder, and none in others. They
// record the position after of the last query.
type oneFolder struct {
	folder uuid.UUID
	after  events.Position
}

func (h *oneFolder) HoldsDocuments(_ context.Context, folder uuid.UUID, after events.Position) (bool, error) {
	h.after = after
	return folder == h.folder, nil
}

func TestDeletionRacesFiling(t *testing.T) {
	h, folder := library(t)
	if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("DeleteFolder without read models: %v, want unavailable", err)
	}
	contents := &oneFolder{folder: folder}
	h.Contents = contents
	head, _ := h.Log.Head(t.Context())
	if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1}); !fault.Is(err, fault.Conflict) {
		t.Errorf("DeleteFolder with documents: %v, want conflict", err)
	}
	if contents.after != head {
		t.Errorf("HoldsDocuments was called with position %d, want the head %d", contents.after, head)
	}
	contents.folder, contents.after = uuid.Nil, 0
	if _, err := h.DeleteFolder(t.Context(), bob, "", foldertree.DeleteFolder{ID: folder, Version: -1}); !fault.Is(err, fault.NotFound) || contents.after != 0 {
		t.Errorf("DeleteFolder by another user: %v, want not found without a query", err)
	}
	if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1}); err != nil {
		t.Errorf("DeleteFolder without documents: %v", err)
	}
}

// current are read models that never lag, because they read the log itself.
type current struct{ log *events.Log }

func (r current) HoldsDocuments(ctx context.Context, folder uuid.UUID, _ events.Position) (holds bool, err error) {
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

func TestDeleteFolderRacesFiling(t *testing.T) {
	h, library, document := filed(t)
	h.Contents = current{h.Log}
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
			t.Fatalf("filing the document: %v, deleting its folder: %v; want one to succeed", filed, deleted)
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

func TestRacingCreateFolderOneWins(t *testing.T) {
	h, folder := library(t)
	other := &Handler{Log: h.Log}
	errs := make(chan error)
	for i := range 16 {
		go func() {
			_, _, err := []*Handler{h, other}[i%2].CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Parent: folder, Name: "one"})
			errs <- err
		}()
	}
	created := 0
	for range 16 {
		if err := <-errs; err == nil {
			created++
		} else if !fault.Is(err, fault.Conflict) {
			t.Errorf("CreateFolder: %v", err)
		}
	}
	if created != 1 {
		t.Errorf("%d folders of one name were created, want 1", created)
	}
}

func TestCommandReturnsPosition(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	folder, at, err := h.CreateFolder(t.Context(), alice, "request-7", foldertree.CreateFolder{Name: "Library"})
	if head, _ := h.Log.Head(t.Context()); err != nil || at != head {
		t.Errorf("CreateFolder = %d, %v; want the head %d", at, err, head)
	}
	name := "Library"
	same, err := h.ChangeFolder(t.Context(), alice, "", foldertree.ChangeFolder{ID: folder, Version: 1, Name: &name})
	if err != nil || same != at {
		t.Errorf("ChangeFolder without change = %d, %v; want %d", same, err, at)
	}
	batch, _, err := h.Log.Read(t.Context(), 0, 10)
	if err != nil || len(batch) != 1 {
		t.Fatalf("Read = %v, %v, want one event", batch, err)
	}
	if m := batch[0].Metadata; m.Actor != "user:alice" || m.Via != "vault" || m.Correlation != "request-7" {
		t.Errorf("metadata is %+v", m)
	}
}
