package commands

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"

	"github.com/google/uuid"
)

func TestFilingWaitsEndWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, folder, document := filed(t)
		elsewhere, _, err := h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Parent: folder, Name: "elsewhere"})
		if err != nil {
			t.Fatal(err)
		}
		left := func(what string, do func(context.Context) error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := do(ctx); !fault.Is(err, fault.Canceled) {
				t.Errorf("%s: %v, want canceled", what, err)
			}
		}
		remove := func(ctx context.Context) error {
			_, err := h.DeleteFolder(ctx, alice, "", foldertree.DeleteFolder{ID: folder, Version: -1, Recursive: true})
			return err
		}
		err = h.filing.remove(t.Context(), func(context.Context, func() error) error {
			left("a move during a deletion", func(ctx context.Context) error {
				_, err := h.ChangeDocument(ctx, alice, "", ChangeDocument{ID: document, Version: 1, Folder: &elsewhere})
				return err
			})
			left("an import", func(ctx context.Context) error {
				_, err := h.ImportDocument(ctx, importInto(folder, shaB, "upload 2"))
				return err
			})
			left("another deletion", remove)
			name := "b.md" // files nothing, and so waits for nothing
			_, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Name: &name})
			return err
		})
		if err != nil {
			t.Errorf("a rename during a deletion: %v", err)
		}
		_ = h.filing.file(t.Context(), func() error {
			left("a deletion during filing", remove)
			return nil
		})
		if err := remove(t.Context()); err != nil {
			t.Errorf("DeleteFolder after all that: %v", err)
		}
	})
}

// catchingUp is a read side that answers once and then is behind.
type catchingUp struct{ asked int }

func (c *catchingUp) HoldsDocuments(ctx context.Context, _ uuid.UUID, _ events.Position) (bool, error) {
	if c.asked++; c.asked == 1 {
		return false, nil
	}
	<-ctx.Done()
	return false, ctx.Err()
}

func TestFilingIgnoresReadSideLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, folder := library(t)
		h.Contents = &catchingUp{}
		begun := time.Now()
		_, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1})
		if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took >= time.Second {
			t.Errorf("DeleteFolder: %v after %v; want unavailable, well within a second", err, took)
		}
		if there, err := h.HasFolder(t.Context(), folder); !there || err != nil {
			t.Errorf("HasFolder = %v, %v", there, err)
		}
		if _, err := h.ImportDocument(t.Context(), importInto(folder, shaA, "upload")); err != nil {
			t.Errorf("ImportDocument after it: %v", err)
		}
	})
}

func TestRefusedDeletionDoesNotBlockFiling(t *testing.T) {
	h, folder := library(t)
	_ = h.filing.file(t.Context(), func() error {
		if _, err := h.DeleteFolder(t.Context(), bob, "", foldertree.DeleteFolder{ID: folder, Version: -1, Recursive: true}); !fault.Is(err, fault.NotFound) {
			t.Errorf("DeleteFolder by another user during filing: %v, want not found", err)
		}
		return nil
	})
}

// around is a driver that calls before and after the next append to a
// document's stream, and can no longer be read once broken.
type around struct {
	events.Driver
	before, after func()
	broken        bool
}

func (d *around) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if !strings.HasPrefix(stream, "document-") {
		return d.Driver.Append(ctx, stream, expected, records)
	}
	before, after := d.before, d.after
	d.before, d.after = func() {}, func() {}
	before()
	defer after()
	return d.Driver.Append(ctx, stream, expected, records)
}

func (d *around) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	if d.broken {
		return nil, fault.Errorf(fault.Unavailable, "the log is away")
	}
	return d.Driver.ReadStream(ctx, stream, from, limit)
}

// moving returns two processes on one log: h, and the one on d in which move
// takes a document of version 1 from one folder to another.
func moving(t *testing.T) (d *around, h *Handler, move func(context.Context) (events.Position, error), document, from, to uuid.UUID) {
	t.Helper()
	d = &around{Driver: memory.New(), before: func() {}, after: func() {}}
	h = &Handler{Log: events.NewLog(d.Driver)}
	t.Cleanup(func() { h.Log.Close() })
	for name, id := range map[string]*uuid.UUID{"from": &from, "to": &to} {
		var err error
		if *id, _, err = h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	claim, err := h.ImportDocument(t.Context(), importInto(from, shaA, "upload"))
	if err != nil {
		t.Fatal(err)
	}
	process := &Handler{Log: events.NewLog(d), Logger: slog.New(slog.DiscardHandler)}
	return d, h, func(ctx context.Context) (events.Position, error) {
		return process.ChangeDocument(ctx, alice, "", ChangeDocument{ID: claim.Document, Version: 1, Folder: &to})
	}, claim.Document, from, to
}

func TestMoveDuringDeletionConflicts(t *testing.T) {
	for _, what := range []string{"from", "to"} {
		d, h, move, document, from, to := moving(t)
		gone := map[string]uuid.UUID{"from": from, "to": to}[what]
		d.before = func() {
			if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: gone, Version: -1, Recursive: true}); err != nil {
				t.Error(err)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		d.after = leave // the folder is left all the same
		if _, err := move(ctx); !fault.Is(err, fault.Conflict) {
			t.Errorf("the folder it moves %s is deleted: %v, want conflict", what, err)
		}
		name := "b.md"
		for _, h := range []*Handler{h, {Log: h.Log}} {
			if _, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 2, Name: &name}); !fault.Is(err, fault.NotFound) {
				t.Errorf("a change after that: %v, want not found", err)
			}
			if err := h.CheckRevision(t.Context(), alice, document, 2); !fault.Is(err, fault.NotFound) {
				t.Errorf("a revision after that: %v, want not found", err)
			}
			if _, err := h.DeleteDocument(t.Context(), alice, "", DeleteDocument{ID: document, Version: 2}); !fault.Is(err, fault.NotFound) {
				t.Errorf("a deletion after that: %v, want not found", err)
			}
		}
	}
}

// It was moved to another folder and back when that one was deleted: its
// stream says that it is where it began.
func TestDeletedBytesCanBeFiledAgain(t *testing.T) {
	d, h, move, document, from, to := moving(t)
	if _, err := move(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.before = func() {
		if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: to, Version: -1, Recursive: true}); err != nil {
			t.Error(err)
		}
	}
	process := &Handler{Log: events.NewLog(d)}
	if _, err := process.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 2, Folder: &from}); !fault.Is(err, fault.Conflict) {
		t.Errorf("the move back: %v, want conflict", err)
	}
	claim, err := h.ClaimDocument(t.Context(), importInto(from, shaA, "upload 2"))
	if want := events.DocumentID(from, shaA, 1); err != nil || claim.Filed || claim.Document != want {
		t.Errorf("ClaimDocument = %+v, %v; want a new document %v", claim, err, want)
	}
}

func TestMovedDocumentOutlivesFolder(t *testing.T) {
	_, h, move, document, from, _ := moving(t)
	if _, err := move(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: from, Version: -1, Recursive: true}); err != nil {
		t.Fatal(err)
	}
	if err := h.CheckRevision(t.Context(), alice, document, 2); err != nil {
		t.Errorf("CheckRevision: %v", err)
	}
}

func TestMoveSucceedsDespiteLaterErrors(t *testing.T) {
	for name, after := range map[string]func(*around, context.CancelFunc){
		"the caller has left":        func(_ *around, leave context.CancelFunc) { leave() },
		"the log cannot be read now": func(d *around, _ context.CancelFunc) { d.broken = true },
	} {
		d, h, move, _, _, _ := moving(t)
		ctx, leave := context.WithCancel(t.Context())
		d.after = func() { after(d, leave) }
		at, err := move(ctx)
		if head, _ := h.Log.Head(t.Context()); err != nil || at != head {
			t.Errorf("%s: the move stands at %d, %v; the log's head is %d", name, at, err, head)
		}
		leave()
	}
}

// slowGate is a gate that is shut from the second time that it is passed, for so
// long, by one who does something meanwhile.
type slowGate struct {
	passed int
	shut   time.Duration
	do     func()
}

func (g *slowGate) Pass(ctx context.Context) (time.Time, error) {
	if g.passed++; g.passed > 1 {
		g.do()
		select {
		case <-time.After(g.shut):
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
	return time.Now(), nil
}

func (g *slowGate) Shut(context.Context, func(context.Context, func() error) error) error {
	panic("nobody deletes by this handler")
}

// A move waits for a deletion that takes nearly as long as a gate waits for it.
func TestMoveSeesSlowDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, document := filed(t)
		to, _, err := h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Name: "to"})
		if err != nil {
			t.Fatal(err)
		}
		moves := &Handler{Log: h.Log, Logger: h.Logger, Gate: &slowGate{shut: 2900 * time.Millisecond, do: func() {
			if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: to, Version: -1, Recursive: true}); err != nil {
				t.Errorf("DeleteFolder: %v", err)
			}
		}}}
		_, err = moves.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Folder: &to})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("the move: %v, want conflict", err)
		}
	})
}
