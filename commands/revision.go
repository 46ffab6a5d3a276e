package commands

import (
	"context"
	"slices"
	"strings"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// ReviseDocument gives a document new content from a committed original. It needs write
// access to the document's folder.
type ReviseDocument struct {
	ID      uuid.UUID
	Version int // the version that the caller read
	SHA256  string
	Size    int64
}

// accept returns the file of the job that revises the document.
func (c ReviseDocument) accept(d *document, folder string) events.FileAccepted {
	return events.FileAccepted{
		Name: d.name, Folder: folder, Under: d.folder, SHA256: c.SHA256, Size: c.Size, MediaType: d.mediaType,
		Document: c.ID, Version: c.Version,
	}
}

// CheckRevision returns an error unless a user may replace this version of a document's
// content: fault.NotFound, fault.Forbidden, or fault.Conflict if the document is at
// another version. It is called before an upload is accepted.
func (h *Handler) CheckRevision(ctx context.Context, user events.User, id uuid.UUID, version int) error {
	return h.viewRevision(ctx, user, id, version, func(*foldertree.Tree, *document) {})
}

// viewRevision calls look with the folders and the document if the user may revise it.
func (h *Handler) viewRevision(ctx context.Context, user events.User, id uuid.UUID, version int, look func(*foldertree.Tree, *document)) error {
	h.init()
	return h.documents.View(ctx, events.DocumentStream(id), func(d *document) error {
		return h.onTree(func(t *foldertree.Tree, d *document) error {
			if err := d.need(t, user, id, events.Write); err != nil {
				return err
			}
			if err := d.fresh(version); err != nil {
				return err
			}
			look(t, d)
			return nil
		})(ctx, d)
	})
}

// StartRevision accepts new content of a document, whose original must be committed, as a
// job of one file. Its errors are those of CheckRevision. The document changes once the
// file was read, if it is still at the same version.
func (h *Handler) StartRevision(ctx context.Context, user events.User, correlation string, c ReviseDocument) (Started, error) {
	var accepted events.FileAccepted
	err := h.viewRevision(ctx, user, c.ID, c.Version, func(t *foldertree.Tree, d *document) {
		accepted = c.accept(d, strings.Join(t.ReadablePath(user, d.folder), "/"))
	})
	if err != nil {
		return Started{}, err
	}
	hold := func() (*quota.Hold, error) {
		hold, err := h.HoldRevision(ctx, user)
		if err == nil {
			err = h.AdmitRevision(ctx, user, hold, c)
		}
		return hold, err
	}
	return h.startHeld(ctx, user, hold, causedBy(ctx, user, correlation), []events.Data{accepted, requestedBy(user, 1)}, h.startJob)
}

// claimRevision checks whether an upload may become the document's content, or already
// did. The causation of a revision shows whether this upload made it, even if others
// followed.
func (d *document) claimRevision(f ImportFile) (Claim, error) {
	claim := Claim{
		Document: f.Accepted.Document, Folder: d.folder, Own: slices.Contains(d.revisions, f.Cause.Causation),
		Title: d.title, Warnings: slices.Clone(d.warnings),
	}
	switch {
	case claim.Own:
		claim.Filed = true
		return claim, nil
	case !d.exists || d.deleted:
		return claim, fault.Errorf(fault.NotFound, "no document %s", claim.Document)
	}
	claim.Filed = d.sha256 == f.Accepted.SHA256
	return claim, d.fresh(f.Accepted.Version)
}

// allowRevision checks whether the user of an upload may still revise the document.
func (h *Handler) allowRevision(f ImportFile) func(context.Context, *document) error {
	may := h.onTree(func(t *foldertree.Tree, d *document) error {
		return d.need(t, f.User, f.Accepted.Document, events.Write)
	})
	return func(ctx context.Context, d *document) error {
		if claim, err := d.claimRevision(f); err == nil && claim.Own {
			return nil // the user had access when it was made
		}
		return may(ctx, d)
	}
}

// ClaimRevision returns whether a file is already the content of its document, by an
// earlier attempt or because the bytes are the same. Its errors are those of
// CheckRevision. Nothing is appended.
func (h *Handler) ClaimRevision(ctx context.Context, f ImportFile) (claim Claim, err error) {
	h.init()
	allow := h.allowRevision(f)
	err = h.documents.View(ctx, events.DocumentStream(f.Accepted.Document), func(d *document) (err error) {
		if err = allow(ctx, d); err == nil {
			claim, err = d.claimRevision(f)
		}
		return err
	})
	return claim, err
}

// reviseDocument makes the content of a file that was read the content of the document.
type reviseDocument struct {
	file    ImportFile
	content events.Content
}

func (c reviseDocument) decide(d *document) ([]events.Data, error) {
	claim, err := d.claimRevision(c.file)
	if err != nil || claim.Filed {
		return nil, err
	}
	return []events.Data{events.DocumentRevised{Version: d.version + 1, Content: c.content}}, nil
}

// FileRevision gives the document the content of a file that was read, and returns the
// outcome as ClaimRevision does.
func (h *Handler) FileRevision(ctx context.Context, f ImportFile, content events.Content) (claim Claim, err error) {
	h.init()
	stream := events.DocumentStream(f.Accepted.Document)
	_, err = h.documents.Do(ctx, aggregate.Command[*document]{
		Name: "revise document", Stream: stream, Cause: f.Cause,
		Allow: h.allowRevision(f), Decide: reviseDocument{f, content}.decide,
		ID:   func(revision int64, data events.Data) uuid.UUID { return f.EventID(stream, revision, data) },
		Seen: func(d *document) { claim, _ = d.claimRevision(f) },
	})
	return claim, err
}
