package commands

import (
	"context"
	"slices"
	"strings"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// ReviseDocument gives a document new content, from an original that is
// committed. It needs write access to the document's folder.
type ReviseDocument struct {
	ID      uuid.UUID
	Version int // that was read
	SHA256  string
	Size    int64
}

// accept is the file of the job that revises the document.
func (c ReviseDocument) accept(d *document, folder string) events.FileAccepted {
	return events.FileAccepted{
		Name: d.name, Folder: folder, Under: d.folder, SHA256: c.SHA256, Size: c.Size, MediaType: d.mediaType,
		Document: c.ID, Version: c.Version,
	}
}

// CheckRevision returns an error unless a user may give a document new content
// in place of a version: fault.NotFound, fault.Forbidden, or fault.Conflict
// where it is at another version. It is called before an upload is taken.
func (h *Handler) CheckRevision(ctx context.Context, user events.User, id uuid.UUID, version int) error {
	return h.viewRevision(ctx, user, id, version, func(*tree, *document) {})
}

// viewRevision calls look with a document that may be revised, and the
// folders.
func (h *Handler) viewRevision(ctx context.Context, user events.User, id uuid.UUID, version int, look func(*tree, *document)) error {
	h.init()
	return view(ctx, h, h.documents, events.DocumentStream(id), func(d *document) error {
		return h.onTree(func(t *tree, d *document) error {
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

// StartRevision accepts new content of a document, whose original must be
// committed, as a job of one file. Its errors are those of CheckRevision. The
// document changes when the content was read, if it is at that version still.
func (h *Handler) StartRevision(ctx context.Context, user events.User, correlation string, c ReviseDocument) (Started, error) {
	var accepted events.FileAccepted
	err := h.viewRevision(ctx, user, c.ID, c.Version, func(t *tree, d *document) {
		accepted = c.accept(d, strings.Join(t.readablePath(user, d.folder), "/"))
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

// claimRevision judges whether an upload may become the document's content,
// or is it. Its own revision it knows by what caused it, whatever came after.
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

// allowRevision judges whether the user of an upload may still revise the
// document.
func (h *Handler) allowRevision(f ImportFile) func(context.Context, *document) error {
	may := h.onTree(func(t *tree, d *document) error { return d.need(t, f.User, f.Accepted.Document, events.Write) })
	return func(ctx context.Context, d *document) error {
		if claim, err := d.claimRevision(f); err == nil && claim.Own {
			return nil // it was made when the user could
		}
		return may(ctx, d)
	}
}

// ClaimRevision tells whether a file that is to be a document's new content is
// it already, by its own work or because the bytes are the same. Where it
// cannot become it any more the errors are those of CheckRevision. Nothing is
// appended.
func (h *Handler) ClaimRevision(ctx context.Context, f ImportFile) (claim Claim, err error) {
	h.init()
	allow := h.allowRevision(f)
	err = view(ctx, h, h.documents, events.DocumentStream(f.Accepted.Document), func(d *document) (err error) {
		if err = allow(ctx, d); err == nil {
			claim, err = d.claimRevision(f)
		}
		return err
	})
	return claim, err
}

// reviseDocument makes what was read of a file the document's content.
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

// FileRevision makes what was read of a file the document's content, and
// tells what became of it, as ClaimRevision does.
func (h *Handler) FileRevision(ctx context.Context, f ImportFile, content events.Content) (claim Claim, err error) {
	h.init()
	stream := events.DocumentStream(f.Accepted.Document)
	_, err = do(ctx, h, h.documents, action[*document]{
		name: "revise document", stream: stream, cause: f.Cause,
		allow: h.allowRevision(f), decide: reviseDocument{f, content}.decide,
		id:   func(revision int64, data events.Data) uuid.UUID { return f.EventID(stream, revision, data) },
		seen: func(d *document) { claim, _ = d.claimRevision(f) },
	})
	return claim, err
}
