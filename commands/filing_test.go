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

func TestFilingLockHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, folder, document := filed(t)
		elsewhere, _, err := h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Parent: folder, Name: "elsewhere"})
		if err != nil {
			t.Fatal(err)
		}
		cancelled := func(what string, do func(context.Context) error) {
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
			cancelled("a move during a deletion", func(ctx context.Context) error {
				_, err := h.ChangeDocument(ctx, alice, "", ChangeDocument{ID: document, Version: 1, Folder: &elsewhere})
				return err
			})
			cancelled("an import", func(ctx context.Context) error {
				_, err := h.ImportDocument(ctx, importInto(folder, shaB, "upload 2"))
				return err
			})
			cancelled("another deletion", remove)
			name := "b.md" // a rename does not need the lock
			_, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Name: &name})
			return err
		})
		if err != nil {
			t.Errorf("a rename during a deletion: %v", err)
		}
		_ = h.filing.file(t.Context(), func() error {
			cancelled("a deletion during filing", remove)
			return nil
		})
		if err := remove(t.Context()); err != nil {
			t.Errorf("DeleteFolder afterwards: %v", err)
		}
	})
}

// lagging are read models that report no lag on the first call, and lag on all later calls.
type lagging struct{ calls int }

func (c *lagging) HoldsDocuments(ctx context.Context, _ uuid.UUID, _ events.Position) (bool, error) {
	if c.calls++; c.calls == 1 {
		return false, nil
	}
	<-ctx.Done()
	return false, ctx.Err()
}

func TestFilingIgnoresReadSideLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, folder := library(t)
		h.Contents = &lagging{}
		begun := time.Now()
		_, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: folder, Version: -1})
		if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took >= time.Second {
			t.Errorf("DeleteFolder: %v after %v; want unavailable within a second", err, took)
		}
		if exists, err := h.HasFolder(t.Context(), folder); !exists || err != nil {
			t.Errorf("HasFolder = %v, %v", exists, err)
		}
		if _, err := h.ImportDocument(t.Context(), importInto(folder, shaA, "upload")); err != nil {
			t.Errorf("ImportDocument afterwards: %v", err)
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

// hooked is a driver that calls before and after around the next append to the stream of a
// document. If broken is set, reads of streams fail.
type hooked struct {
	events.Driver
	before, after func()
	broken        bool
}

func (d *hooked) Append(ctx context.Context, stream string, expected int64, records []events.Record) (events.Appended, error) {
	if !strings.HasPrefix(stream, "document-") {
		return d.Driver.Append(ctx, stream, expected, records)
	}
	before, after := d.before, d.after
	d.before, d.after = func() {}, func() {}
	before()
	defer after()
	return d.Driver.Append(ctx, stream, expected, records)
}

func (d *hooked) ReadStream(ctx context.Context, stream string, from int64, limit int) ([]events.Record, error) {
	if d.broken {
		return nil, fault.Errorf(fault.Unavailable, "the log is unreachable")
	}
	return d.Driver.ReadStream(ctx, stream, from, limit)
}

// moving creates two folders, from and to, and a document in from. It returns a function
// that moves the document to the folder to. The move runs in a second process, which shares
// the log with h through the driver d.
func moving(t *testing.T) (d *hooked, h *Handler, move func(context.Context) (events.Position, error), document, from, to uuid.UUID) {
	t.Helper()
	d = &hooked{Driver: memory.New(), before: func() {}, after: func() {}}
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
		deleted := map[string]uuid.UUID{"from": from, "to": to}[what]
		d.before = func() {
			if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: deleted, Version: -1, Recursive: true}); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		d.after = cancel // the caller is cancelled after the move is in the log
		if _, err := move(ctx); !fault.Is(err, fault.Conflict) {
			t.Errorf("move %s a deleted folder: %v, want conflict", what, err)
		}
		name := "b.md"
		for _, h := range []*Handler{h, {Log: h.Log}} {
			if _, err := h.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 2, Name: &name}); !fault.Is(err, fault.NotFound) {
				t.Errorf("ChangeDocument afterwards: %v, want not found", err)
			}
			if err := h.CheckRevision(t.Context(), alice, document, 2); !fault.Is(err, fault.NotFound) {
				t.Errorf("CheckRevision afterwards: %v, want not found", err)
			}
			if _, err := h.DeleteDocument(t.Context(), alice, "", DeleteDocument{ID: document, Version: 2}); !fault.Is(err, fault.NotFound) {
				t.Errorf("DeleteDocument afterwards: %v, want not found", err)
			}
		}
	}
}

// A document is moved to another folder and back, and that other folder is deleted during
// the move back. The document is deleted then, although its stream alone says that it is in
// the first folder. So the same bytes filed there must become a new document.
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
		t.Errorf("move back: %v, want conflict", err)
	}
	claim, err := h.ClaimDocument(t.Context(), importInto(from, shaA, "upload 2"))
	if want := events.DocumentID(from, shaA, 1); err != nil || claim.Filed || claim.Document != want {
		t.Errorf("ClaimDocument = %+v, %v; want a new document %v", claim, err, want)
	}
}

func TestMovedDocumentSurvivesOldFolder(t *testing.T) {
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
	for name, after := range map[string]func(*hooked, context.CancelFunc){
		"the caller has gone":    func(_ *hooked, cancel context.CancelFunc) { cancel() },
		"the log cannot be read": func(d *hooked, _ context.CancelFunc) { d.broken = true },
	} {
		d, h, move, _, _, _ := moving(t)
		ctx, cancel := context.WithCancel(t.Context())
		d.after = func() { after(d, cancel) }
		at, err := move(ctx)
		if head, _ := h.Log.Head(t.Context()); err != nil || at != head {
			t.Errorf("%s: move = %d, %v; want the head %d", name, at, err, head)
		}
		cancel()
	}
}

// slowGate is a gate that another process has shut when Pass is called for the second time.
// That process calls do, and opens the gate after shutFor.
type slowGate struct {
	passes  int
	shutFor time.Duration
	do      func()
}

func (g *slowGate) Pass(ctx context.Context) (time.Time, error) {
	if g.passes++; g.passes > 1 {
		g.do()
		select {
		case <-time.After(g.shutFor):
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
	return time.Now(), nil
}

func (g *slowGate) Shut(context.Context, func(context.Context, func() error) error) error {
	panic("unexpected call")
}

// A move waits for a deletion that takes almost as long as a gate can stay shut. It must see
// the deletion.
func TestMoveSeesSlowDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _, document := filed(t)
		to, _, err := h.CreateFolder(t.Context(), alice, "", foldertree.CreateFolder{Name: "to"})
		if err != nil {
			t.Fatal(err)
		}
		moves := &Handler{Log: h.Log, Logger: h.Logger, Gate: &slowGate{shutFor: 2900 * time.Millisecond, do: func() {
			if _, err := h.DeleteFolder(t.Context(), alice, "", foldertree.DeleteFolder{ID: to, Version: -1, Recursive: true}); err != nil {
				t.Errorf("DeleteFolder: %v", err)
			}
		}}}
		_, err = moves.ChangeDocument(t.Context(), alice, "", ChangeDocument{ID: document, Version: 1, Folder: &to})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("ChangeDocument: %v, want conflict", err)
		}
	})
}
