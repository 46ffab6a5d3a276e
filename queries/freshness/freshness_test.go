package freshness_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/projections/projectionstest"
	"annals/queries/freshness"
	"annals/queries/queriestest"

	"github.com/google/uuid"
)

// others returns the read models that AwaitWrite waits for, except one.
func others(w *queriestest.World, except *projections.Runner) []*projections.Runner {
	return slices.DeleteFunc(w.Models.Awaited(), func(m *projections.Runner) bool { return m == except })
}

func TestAwaitWriteAwaitsEachReadModel(t *testing.T) {
	w, engine := queriestest.OpenWithEngine(t)
	top := w.AddFolder(uuid.Nil, "Top", "user:alice")
	w.Settle()
	blocks := map[*projections.Runner]func() func(){
		w.Models.Passages: func() func() {
			entered, release := engine.Hold()
			w.AddDocument(top, "held.md", nil, "Text.")
			w.Models.Passages.Hurry(w.At)
			<-entered
			return release
		},
	}
	for _, m := range w.Models.Awaited() {
		block, ok := blocks[m]
		if !ok {
			block = func() func() {
				release := projectionstest.Block(t, w.Home, m.Name()+"-1")
				w.AddDocument(top, m.Name()+".md", nil, "Text.")
				job := events.JobStream(uuid.New())
				w.Append(job, events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"})
				return release
			}
		}
		release := block()
		replied := make(chan error, 1)
		go func() { replied <- w.Models.AwaitWrite(t.Context(), w.At) }()
		for _, other := range others(w, m) {
			w.Await(other)
		}
		select {
		case err := <-replied:
			t.Errorf("AwaitWrite returned %v while %s was behind", err, m.Name())
			release()
			continue
		case <-time.After(20 * time.Millisecond):
		}
		release()
		if err := <-replied; err != nil {
			t.Errorf("AwaitWrite = %v after %s has caught up", err, m.Name())
		}
		if p := m.Position(); p < w.At {
			t.Errorf("AwaitWrite returned while %s was at position %d of %d", m.Name(), p, w.At)
		}
	}
}

func TestAwaitWriteReturnsFirstError(t *testing.T) {
	w := queriestest.Open(t)
	w.AddFolder(uuid.Nil, "Top", "user:alice")
	w.Settle()
	first := w.Models.Awaited()[0]
	release := projectionstest.Block(t, w.Home, first.Name()+"-1")
	defer release()
	job := events.JobStream(uuid.New())
	w.Append(job, events.FileAccepted{Name: "a.md", Folder: "Top"}, events.ImportRequested{Files: 1, User: "user:alice"})
	top := w.AddFolder(uuid.Nil, "Other", "user:alice")
	w.AddDocument(top, "a.md", nil, "Text.")
	for _, m := range others(w, first) {
		w.Await(m)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := w.Models.AwaitWrite(ctx, w.At)
	if want := first.Wait(ctx, w.At); !errors.Is(err, context.DeadlineExceeded) || err.Error() != want.Error() {
		t.Errorf("AwaitWrite = %v, want %v", err, want)
	}
}

func TestAwaitWriteSkipsStoppedReadModel(t *testing.T) {
	w, engine := queriestest.OpenWithEngine(t)
	top := w.AddFolder(uuid.Nil, "Top", "user:alice")
	w.Settle()
	engine.FailWrites()
	w.AddDocument(top, "a.md", nil, "Text.")
	w.AwaitStop(w.Models.Passages)
	if err := w.Models.AwaitWrite(t.Context(), w.At); err != nil {
		t.Errorf("AwaitWrite = %v, want nil", err)
	}
	for _, m := range others(w, w.Models.Passages) {
		if p := m.Position(); p < w.At {
			t.Errorf("AwaitWrite returned while %s was at position %d of %d", m.Name(), p, w.At)
		}
	}
}

func TestUsableRejectsStoppedReadModel(t *testing.T) {
	w, engine := queriestest.OpenWithEngine(t)
	top := w.AddFolder(uuid.Nil, "Top", "user:alice")
	w.Settle()
	for _, m := range w.Models.All() {
		if err := w.Models.Usable(t.Context(), m); err != nil {
			t.Errorf("Usable(%s) = %v, want nil", m.Name(), err)
		}
	}
	passed := w.At
	engine.FailWrites()
	w.AddDocument(top, "a.md", nil, "Text.")
	w.AwaitStop(w.Models.Passages)
	if err := w.Models.Usable(t.Context(), w.Models.Passages); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Usable(passages) = %v after it has stopped, want fault.Unavailable", err)
	}
	if err := w.Models.Await(t.Context(), w.Models.Passages, passed); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Await(passages) = %v after it has stopped, want fault.Unavailable", err)
	}
	if err := w.Models.Usable(t.Context(), w.Models.Vault); err != nil {
		t.Errorf("Usable(vault) = %v, want nil", err)
	}
}

func TestReadModelsMustReachStart(t *testing.T) {
	w := queriestest.Open(t)
	w.AddFolder(uuid.Nil, "Top", "user:alice")
	w.Settle()
	w.Models.Start, w.Models.MaxLag = w.At+1, time.Nanosecond
	if err := w.Models.Trusted(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Trusted = %v before the start, want fault.Unavailable", err)
	}
	if err := w.Models.Usable(t.Context(), w.Models.Jobs); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Usable = %v before the start, want fault.Unavailable", err)
	}
	w.AddFolder(uuid.Nil, "Other", "user:alice")
	w.Settle()
	if err := w.Models.Trusted(t.Context()); err != nil {
		t.Errorf("Trusted = %v after the start, want nil", err)
	}
	if err := w.Models.Usable(t.Context(), w.Models.Jobs); err != nil {
		t.Errorf("Usable = %v after the start, want nil", err)
	}
}

func TestTrustedRejectsStoppedVault(t *testing.T) {
	w := queriestest.Open(t)
	w.AppendUnreadable(events.Folders, "FolderCreated")
	w.AwaitStop(w.Models.Vault)
	if err := w.Models.Trusted(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Trusted = %v, want fault.Unavailable", err)
	}
}

func TestAskLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		_, err := freshness.AskLog(t.Context(), func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if took := time.Since(begun); !fault.Is(err, fault.Unavailable) || took != 2*time.Second {
			t.Errorf("AskLog = %v after %v, want fault.Unavailable after 2s", err, took)
		}
	})
}

func TestUntilPassedOutlivesMaxLag(t *testing.T) {
	w := queriestest.Open(t)
	w.AddFolder(uuid.Nil, "Top", "user:alice")
	w.Settle()
	w.Models.MaxLag = time.Nanosecond
	release := projectionstest.Block(t, w.Home, "vault-1")
	w.AddFolder(uuid.Nil, "Other", "user:alice")
	if err := w.Models.Await(t.Context(), w.Models.Vault, w.At); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Await = %v after MaxLag, want fault.Unavailable", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := freshness.UntilPassed(ctx, w.Models.Vault, w.At); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("UntilPassed = %v while the vault is behind, want %v", err, context.DeadlineExceeded)
	}
	release()
	if err := freshness.UntilPassed(t.Context(), w.Models.Vault, w.At); err != nil {
		t.Errorf("UntilPassed = %v after the vault has caught up", err)
	}
}
