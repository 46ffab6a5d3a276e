package ingest

import (
	"context"
	"fmt"
	"net/http"

	"annals/commands"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
	"annals/http/problem"

	"github.com/google/uuid"
)

// Restorer restores deleted documents.
type Restorer interface {
	Importer
	FindDeleted(ctx context.Context, user events.User, id uuid.UUID) (commands.Deleted, error)
	StartRestore(ctx context.Context, user events.User, correlation string, id uuid.UUID) (commands.Started, error)
}

// errSwept is the error for a deleted document whose original was deleted since.
var errSwept = &problem.Error{Status: http.StatusGone, Text: "the document was deleted for good: its file is kept for a day after the deletion, and is gone now"}

// Restorable returns a deleted document that a user may restore, and whose original is kept.
func Restorable(ctx context.Context, to Restorer, store originals.Store, user events.User, id uuid.UUID) (commands.Deleted, error) {
	d, err := to.FindDeleted(ctx, user, id)
	if err != nil || d.Job != uuid.Nil || d.Restored != uuid.Nil {
		return d, err
	}
	kept, err := open(ctx, store, d)
	if err != nil {
		return d, err
	}
	return d, kept.Close()
}

func open(ctx context.Context, store originals.Store, d commands.Deleted) (originals.Original, error) {
	kept, err := store.Open(ctx, d.File.SHA256)
	if fault.Is(err, fault.NotFound) {
		err = errSwept
	}
	return kept, err
}

// Restore starts a job that imports the original of a deleted document again, or returns the
// job that does so already. It commits a copy of the original first: from then on the original
// counts as new, so that it is not deleted before the job refers to it.
func Restore(ctx context.Context, to Restorer, store originals.Store, user events.User, correlation string, id uuid.UUID) (started commands.Started, err error) {
	d, err := to.FindDeleted(ctx, user, id)
	if err != nil || d.Job != uuid.Nil {
		return d.Started, err
	}
	if d.Restored != uuid.Nil {
		return to.StartRestore(ctx, user, correlation, id) // says so
	}
	hold, err := to.HoldImport(ctx, user)
	if err != nil {
		return started, err
	}
	defer hold.Close()
	if err := to.AdmitImport(ctx, user, hold, []commands.Upload{d.File}); err != nil {
		return started, err
	}
	staged, err := copyOf(ctx, store, d)
	if err != nil {
		return started, err
	}
	defer func() { _ = staged.Discard() }() // what is left is removed after a day
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AcceptTimeout)
	defer cancel()
	if err := staged.Commit(ctx); err != nil {
		return started, fmt.Errorf("commit the file of document %s: %w", id, err)
	}
	return to.StartRestore(quota.With(ctx, hold), user, correlation, id)
}

// copyOf stages a copy of the original of a deleted document.
func copyOf(ctx context.Context, store originals.Store, d commands.Deleted) (originals.Staged, error) {
	kept, err := open(ctx, store, d)
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	staged, err := store.Stage(ctx, kept, kept.Size())
	if err != nil {
		return nil, fmt.Errorf("copy the file of document %s: %w", d.ID, err)
	}
	if staged.SHA256() != d.File.SHA256 {
		_ = staged.Discard()
		return nil, fault.Errorf(fault.Internal, "the original %s of document %s is corrupt: its bytes have the SHA-256 %s", d.File.SHA256, d.ID, staged.SHA256())
	}
	return staged, nil
}
