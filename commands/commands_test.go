package commands

import (
	"fmt"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"
	"annals/events/memory"
)

func TestDroppedViewStaysCorrect(t *testing.T) {
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
		t.Errorf("%d documents were made of 8 files", count)
	}
	if _, err := h.EnsureFolder(t.Context(), bob, events.Cause{}, foldertree.Destination{Path: "Library"}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("EnsureFolder: %v, want forbidden", err)
	}
}
