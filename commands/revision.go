package commands

import (
	"context"
	"reflect"
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

// accept returns the FileAccepted for the single file of the job that revises the document.
func (c ReviseDocument) accept(d *document, folder string) events.FileAccepted {
	return events.FileAccepted{
		Name: d.name, Folder: folder, Under: d.folder, SHA256: c.SHA256, Size: c.Size, MediaType: d.content.MediaType,
		Document: c.ID, Version: c.Version,
	}
}

// CheckRevision checks, before an upload is accepted, whether a user may replace the
// content of this version of a document. The error is fault.NotFound, fault.Forbidden, or
// fault.Conflict if the document is at another version.
func (h *Handler) CheckRevision(ctx context.Context, user events.User, id uuid.UUID, version int) error {
	return h.viewRevision(ctx, user, id, version, func(*foldertree.Tree, *document) {})
}

// viewRevision calls view with the folder tree and the document if the user may revise this
// version of the document.
func (h *Handler) viewRevision(ctx context.Context, user events.User, id uuid.UUID, version int, view func(*foldertree.Tree, *document)) error {
	h.init()
	return h.documents.View(ctx, events.DocumentStream(id), func(d *document) error {
		return h.onTree(func(t *foldertree.Tree, d *document) error {
			if err := d.need(t, user, id, events.Write); err != nil {
				return err
			}
			if err := d.fresh(version); err != nil {
				return err
			}
			view(t, d)
			return nil
		})(ctx, d)
	})
}

// StartRevision starts a job whose single file is new content for a document. The original
// of the file must be committed. The errors are those of CheckRevision. The document changes
// after the file was extracted, if the document is still at the same version.
func (h *Handler) StartRevision(ctx context.Context, user events.User, correlation string, c ReviseDocument) (Started, error) {
	var accepted events.FileAccepted
	err := h.viewRevision(ctx, user, c.ID, c.Version, func(t *foldertree.Tree, d *document) {
		accepted = c.accept(d, strings.Join(t.ReadablePath(user, d.folder), "/"))
	})
	if err != nil {
		return Started{}, err
	}
	hold := func() (*quota.Hold, error) {
		hold, err := h.HoldImport(ctx, user)
		if err == nil {
			err = h.AdmitRevision(ctx, user, hold, c)
		}
		return hold, err
	}
	return h.startHeld(ctx, user, hold, causedBy(ctx, user, correlation), []events.Data{accepted, requestedBy(user, 1)}, h.startJob)
}

// claimRevision reports in Claim.Filed whether the document has the file's content already.
// It returns an error if the file must not become the content. An earlier attempt to import
// the same file is recognised by the causation of its revision, even if other revisions
// followed.
func (d *document) claimRevision(f ImportFile) (Claim, error) {
	claim := Claim{
		Document: f.Accepted.Document, Folder: d.folder, Own: slices.Contains(d.revisions, f.Cause.Causation),
		Title: d.content.Title, Warnings: slices.Clone(d.content.Warnings),
	}
	switch {
	case claim.Own:
		claim.Filed = true
		return claim, nil
	case !d.exists || d.deleted:
		return claim, fault.Errorf(fault.NotFound, "no document %s", claim.Document)
	}
	if f.Accepted.Reread {
		// A document that was renamed, moved or tagged meanwhile is read again nevertheless.
		claim.Filed = d.contentVersion > f.Accepted.Version || d.content.SHA256 != f.Accepted.SHA256
		return claim, nil
	}
	claim.Filed = d.content.SHA256 == f.Accepted.SHA256
	return claim, d.fresh(f.Accepted.Version)
}

// allowRevision returns a function that checks whether the user of a file may still revise
// the document.
func (h *Handler) allowRevision(f ImportFile) func(context.Context, *document) error {
	may := h.onTree(func(t *foldertree.Tree, d *document) error {
		return d.need(t, f.User, f.Accepted.Document, events.Write)
	})
	return func(ctx context.Context, d *document) error {
		if claim, err := d.claimRevision(f); err == nil && claim.Own {
			return nil // an earlier attempt filed the file, and the user had access then
		}
		return may(ctx, d)
	}
}

// ClaimRevision reports in Claim.Filed whether the document has the file's content already,
// because of an earlier attempt or because the bytes are the same. It appends nothing. Its
// errors are those of CheckRevision.
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

// reviseDocument makes an extracted file the content of the document.
type reviseDocument struct {
	file    ImportFile
	content events.Content
}

func (c reviseDocument) decide(d *document) ([]events.Data, error) {
	claim, err := d.claimRevision(c.file)
	if err != nil || claim.Filed {
		return nil, err
	}
	if !c.file.Accepted.Reread {
		return []events.Data{events.DocumentRevised{Version: d.version + 1, Content: c.content}}, nil
	}
	if reflect.DeepEqual(c.content, d.content) {
		return nil, nil
	}
	return []events.Data{events.DocumentReread{Version: d.version + 1, Content: c.content}}, nil
}

// FileRevision makes an extracted file the content of its document. It returns a Claim like
// that of ClaimRevision.
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
