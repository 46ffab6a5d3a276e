package commands

import (
	"context"
	"fmt"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
)

// Concurrent commands on different documents succeed even if the cache has room for only one
// document.
func TestSmallCacheStaysCorrect(t *testing.T) {
	h := &Handler{Log: events.NewLog(memory.New())}
	defer h.Log.Close()
	h.init()
	h.documents.Limit = 1
	folder, err := h.EnsureFolder(t.Context(), alice, events.Cause{}, foldertree.Destination{Path: "Library"})
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for i := range 64 {
		go func() {
			_, err := h.ImportDocument(t.Context(), importInto(folder, fmt.Sprintf("%064x", i%8), fmt.Sprint(i)))
			errs <- err
		}()
	}
	for range 64 {
		if err := <-errs; err != nil {
			t.Errorf("ImportDocument: %v", err)
		}
	}
	count := 0
	for after := events.Position(0); ; {
		batch, through, err := h.Log.Read(t.Context(), after, 100, "DocumentImported")
		if err != nil {
			t.Fatal(err)
		}
		if count += len(batch); through == after {
			break
		}
		after = through
	}
	if count != 8 {
		t.Errorf("8 files became %d documents", count)
	}
	if _, err := h.EnsureFolder(t.Context(), bob, events.Cause{}, foldertree.Destination{Path: "Library"}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("EnsureFolder: %v, want forbidden", err)
	}
}

// Each event records the part of the program (Through) that its command was sent through.
func TestThrough(t *testing.T) {
	log := events.NewLog(memory.New())
	defer log.Close()
	h := &Handler{Log: log}
	for name, ctx := range map[string]context.Context{"vault": t.Context(), "tools": Through(t.Context(), "tools")} {
		if _, _, err := h.CreateFolder(ctx, events.User{Principal: "user:alice"}, "", foldertree.CreateFolder{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	written, _, err := log.Read(t.Context(), 0, 10)
	if err != nil || len(written) != 2 {
		t.Fatalf("Read = %+v, %v, want two events", written, err)
	}
	for _, e := range written {
		if name := e.Data.(events.FolderCreated).Name; e.Metadata.Via != name {
			t.Errorf("folder %q was created through %q", name, e.Metadata.Via)
		}
	}
}
