package commands

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
)

// One upload does not have the service look up thousands of folders.
func TestFoldersOfOneUploadAreBounded(t *testing.T) {
	h, _ := library(t)
	h.Quota = &quota.Ledger{Policy: &quota.Policy{Folder: quota.Limits{quota.Documents: 1}}, Usage: nothing{}}
	var uploads []Upload
	for i := range maxSpaces + 1 {
		u := upload(1)
		u.Folder = fmt.Sprint("F", i)
		uploads = append(uploads, u)
	}
	if _, err := h.StartImport(t.Context(), alice, "", uploads); !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "256 top-level folders") {
		t.Errorf("an upload into %d folders: %v", len(uploads), err)
	}
}

// nothing is a read side that has seen nothing.
type nothing struct{ quota.Usage }

func (nothing) Used(context.Context, events.Principal) (used quota.Limits, at events.Position, err error) {
	return used, 0, nil
}

// What a limit refuses leaves no event, also of callers that hold nothing before.
func TestStartImportJudgesByItself(t *testing.T) {
	h, _ := library(t)
	h.Quota = &quota.Ledger{Policy: &quota.Policy{User: quota.Limits{quota.Documents: 1}}, Usage: nothing{}}
	before, err := h.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(1), upload(2)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("two documents of one: %v", err)
	}
	if head, err := h.Log.Head(t.Context()); err != nil || head != before {
		t.Errorf("the log went from %d to %d (%v)", before, head, err)
	}
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(1)}); err != nil {
		t.Error(err)
	}
	// The read side has not seen it yet.
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(2)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("another one: %v", err)
	}
}
