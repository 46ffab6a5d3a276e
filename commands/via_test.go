package commands

import (
	"context"
	"testing"

	"annals/commands/foldertree"
	"annals/events"
	"annals/events/memory"
)

// Events name the part of the program that the command came through.
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
		t.Fatalf("log holds %+v, %v", written, err)
	}
	for _, e := range written {
		if name := e.Data.(events.FolderCreated).Name; e.Metadata.Via != name {
			t.Errorf("folder %q was made through %q", name, e.Metadata.Via)
		}
	}
}
