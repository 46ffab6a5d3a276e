package commands

import (
	"context"
	"strings"

	"annals/commands/foldertree"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// MaxReread is the maximum number of documents that one job reads again.
const MaxReread = 100

// RereadDocuments reads the originals of documents again, because they may have been read
// incompletely or by an older extractor. It needs write access to the folder of each document.
type RereadDocuments struct {
	IDs []uuid.UUID // without repetitions, at most MaxReread
	// Skip leaves out documents that do not exist or that the user may not change. Otherwise
	// one such document is an error.
	Skip bool
}

// accept returns the FileAccepted for a document.
func (c RereadDocuments) accept(d *document, id uuid.UUID, file int, folder string) events.FileAccepted {
	return events.FileAccepted{
		File: file, Name: d.name, Folder: folder, Under: d.folder, SHA256: d.content.SHA256, Size: d.content.Size, MediaType: d.content.MediaType,
		Document: id, Version: d.version, Reread: true,
	}
}

// StartReread starts a job that reads documents again, and returns the number of its
// documents. If all documents are skipped, there is no job. A document changes when its new
// text is complete, and only if the text differs or was read by another extractor. A document
// that gets new content before that keeps it.
func (h *Handler) StartReread(ctx context.Context, user events.User, correlation string, c RereadDocuments) (started Started, documents int, err error) {
	if len(c.IDs) == 0 || len(c.IDs) > MaxReread {
		return Started{}, 0, fault.Errorf(fault.Invalid, "1 to %d documents can be read again at a time, not %d", MaxReread, len(c.IDs))
	}
	h.init()
	var data []events.Data
	for _, id := range c.IDs {
		err := h.documents.View(ctx, events.DocumentStream(id), func(d *document) error {
			return h.onTree(func(t *foldertree.Tree, d *document) error {
				if err := d.need(t, user, id, events.Write); err != nil {
					return err
				}
				data = append(data, c.accept(d, id, len(data), strings.Join(t.ReadablePath(user, d.folder), "/")))
				return nil
			})(ctx, d)
		})
		if err != nil && !(c.Skip && (fault.Is(err, fault.NotFound) || fault.Is(err, fault.Forbidden))) {
			return Started{}, 0, err
		}
	}
	documents = len(data)
	if documents == 0 {
		return Started{}, 0, nil
	}
	data = append(data, requestedBy(user, documents))
	hold := func() (*quota.Hold, error) {
		hold, err := h.Quota.Open(ctx, user)
		if err == nil {
			err = hold.Admit(ctx, quota.Limits{quota.Imports: int64(documents)}, nil)
		}
		return hold, err
	}
	started, err = h.startHeld(ctx, user, hold, events.Cause{Actor: user.Principal, Via: user.Via(events.ViaReread), Correlation: correlation}, data, h.startJob)
	return started, documents, err
}

// ContentOf returns the content of a document, whose text a file that reads it again is
// compared with.
func (h *Handler) ContentOf(ctx context.Context, id uuid.UUID) (c events.Content, err error) {
	h.init()
	err = h.documents.View(ctx, events.DocumentStream(id), func(d *document) error {
		c = d.content
		return nil
	})
	return c, err
}
