package commands

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// An upload to more than maxSpaces top-level folders is refused, because the service would
// have to read the usage of each folder.
func TestUploadFoldersAreLimited(t *testing.T) {
	h, _ := library(t)
	h.Quota = &quota.Ledger{Policy: &quota.Policy{Folder: quota.Limits{quota.Documents: 1}}, Usage: empty{}}
	var uploads []Upload
	for i := range maxSpaces + 1 {
		u := upload(1)
		u.Folder = fmt.Sprint("F", i)
		uploads = append(uploads, u)
	}
	if _, err := h.StartImport(t.Context(), alice, "", uploads); !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "256 top-level folders") {
		t.Errorf("StartImport into %d folders: %v, want too large", len(uploads), err)
	}
}

// empty are read models that report no usage.
type empty struct{ quota.Usage }

func (empty) Used(context.Context, events.Principal) (used quota.Limits, at events.Position, err error) {
	return used, 0, nil
}

// If the caller has no hold, StartImport itself checks the quotas. If it refuses, it appends
// nothing.
func TestStartImportChecksQuota(t *testing.T) {
	h, _ := library(t)
	h.Quota = &quota.Ledger{Policy: &quota.Policy{User: quota.Limits{quota.Documents: 1}}, Usage: empty{}}
	before, err := h.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(1), upload(2)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("StartImport of two files with a quota of one: %v, want too large", err)
	}
	if head, err := h.Log.Head(t.Context()); err != nil || head != before {
		t.Errorf("the head moved from %d to %d (%v), want no events", before, head, err)
	}
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(1)}); err != nil {
		t.Error(err)
	}
	// The read models do not count the first file yet, so its hold must count it.
	if _, err := h.StartImport(t.Context(), alice, "", []Upload{upload(2)}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("StartImport of another file: %v, want too large", err)
	}
}

// full are read models that report 100 used bytes.
type full struct{ quota.Usage }

func (full) Used(context.Context, events.Principal) (used quota.Limits, at events.Position, err error) {
	used[quota.Bytes] = 100
	return used, 0, nil
}

// Documents are read again even if no more bytes may be stored, but the files in progress are
// limited.
func TestStartRereadChecksQuota(t *testing.T) {
	h, folder := library(t)
	claim, err := h.ImportDocument(t.Context(), importInto(folder, shaA, "upload"))
	if err != nil {
		t.Fatal(err)
	}
	h.Quota = &quota.Ledger{Policy: &quota.Policy{User: quota.Limits{quota.Bytes: 50, quota.Imports: 1}}, Usage: full{}}
	read := RereadDocuments{IDs: []uuid.UUID{claim.Document}}
	if _, n, err := h.StartReread(t.Context(), alice, "", read); n != 1 || err != nil {
		t.Errorf("StartReread without bytes left: %d documents, %v, want 1", n, err)
	}
	if _, _, err := h.StartReread(t.Context(), alice, "", read); !fault.Is(err, fault.Exhausted) {
		t.Errorf("StartReread with another file in progress: %v, want exhausted", err)
	}
}
