package commands

import (
	"context"
	"strconv"
	"strings"
	"time"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Deleted is a document that was deleted, by itself and not with its folder. Its user may
// restore it.
type Deleted struct {
	ID     uuid.UUID
	Name   string
	Folder uuid.UUID
	At     time.Time // of the deletion
	// Restored is the document that it was restored as. It is uuid.Nil if there is none, or
	// none that the user may read.
	Restored uuid.UUID
	// File is the last content, with the document's name, folder and tags.
	File Upload
	// Started is the job that restores the document or has restored it, if its user is the
	// same. Its Job is uuid.Nil if there is none.
	Started

	next      uuid.UUID // id of the job that will restore the document; uuid.Nil if one has begun, or too many have
	elsewhere bool      // the job of another user restores it, or has restored it where its user may not read
	deletedIn int64     // revision of the DocumentDeleted
}

// FindDeleted returns a deleted document that a user may restore. Whoever could delete it,
// may: the user needs access events.Own to its folder. The error is fault.NotFound,
// fault.Forbidden, or fault.Conflict if the document is not deleted, was deleted with its
// folder, or is being restored for another user.
func (h *Handler) FindDeleted(ctx context.Context, user events.User, id uuid.UUID) (found Deleted, err error) {
	h.init()
	err = h.documents.View(ctx, events.DocumentStream(id), func(d *document) error {
		return h.onTree(func(t *foldertree.Tree, d *document) error {
			if err := d.mayRestore(t, user, id); err != nil {
				return err
			}
			found = Deleted{
				ID: id, Name: d.name, Folder: d.folder, deletedIn: d.deletedIn,
				File: Upload{
					Name: d.name, Folder: strings.Join(t.ReadablePath(user, d.folder), "/"), Under: d.folder, Tags: d.tags,
					SHA256: d.content.SHA256, Size: d.content.Size, MediaType: d.content.MediaType,
				},
			}
			return nil
		})(ctx, d)
	})
	if err != nil {
		return found, err
	}
	// A state in the cache does not have the times of events that this process appended.
	err = h.Log.ReadStream(ctx, events.DocumentStream(id), found.deletedIn, func(e events.Event) error {
		found.At = e.Metadata.Time
		return nil
	})
	if err == nil {
		err = h.findRestore(ctx, user, &found)
	}
	return found, err
}

// mayRestore returns an error unless the document is deleted and a user may restore it. The
// errors about access come first, and do not depend on whether the folder was deleted.
func (d *document) mayRestore(t *foldertree.Tree, user events.User, id uuid.UUID) error {
	access := t.LastAccess(user, d.folder)
	switch {
	case !d.exists || access == events.NoAccess:
		return fault.Errorf(fault.NotFound, "no document %s", id)
	case access < events.Own:
		return fault.Errorf(fault.Forbidden, "you have %s access to the folder of document %q; this needs %s access", access, d.name, events.Own)
	case d.deletedWithFolder(t):
		return fault.Errorf(fault.Conflict, "the folder of document %q was deleted: import the document again, into another folder", d.name)
	case !d.deleted:
		return fault.Errorf(fault.Conflict, "document %q is not deleted", d.name)
	}
	return nil
}

// findRestore looks for the job that restores a document. A job that failed, or whose
// document was deleted again, makes room for the next one.
func (h *Handler) findRestore(ctx context.Context, user events.User, found *Deleted) error {
	for _, job := range events.RestoreJobs(found.ID) {
		j, err := h.readRestore(ctx, job)
		if err != nil {
			return err
		}
		if !j.begun {
			found.next = job
			return nil
		}
		there, readable := false, false
		if j.document != uuid.Nil {
			err = h.documents.View(ctx, events.DocumentStream(j.document), func(d *document) error {
				return h.onTree(func(t *foldertree.Tree, d *document) error {
					there = d.exists && !d.deleted && !d.deletedWithFolder(t)
					readable = there && t.Access(user, d.folder) >= events.Read
					return nil
				})(ctx, d)
			})
		}
		switch {
		case err != nil:
			return err
		case j.failed || j.document != uuid.Nil && !there:
			continue
		}
		if readable {
			found.Restored = j.document
		}
		if j.user == user.Principal {
			found.Started = Started{job, j.at}
		}
		found.elsewhere = j.user != user.Principal && !readable
		return nil
	}
	return nil
}

// restore is a job that restores a document, as its stream says.
type restore struct {
	begun    bool
	user     events.Principal
	at       events.Position // of the event that created it
	document uuid.UUID       // that it restored; uuid.Nil if it has not ended
	failed   bool
}

func (h *Handler) readRestore(ctx context.Context, job uuid.UUID) (r restore, err error) {
	err = h.Log.ReadStream(ctx, events.JobStream(job), 0, func(e events.Event) error {
		switch d := e.Data.(type) {
		case events.ImportRequested:
			r.begun, r.user, r.at = true, d.User, e.Position
		case events.FileImported:
			r.document = d.Document
		case events.FileFailed:
			r.failed = true
		}
		return nil
	})
	return r, err
}

// StartRestore starts a job that imports the last content of a deleted document again, with
// its name and tags, into its folder. The original must have been committed again. The
// document gets a new id. If a job of the user restores the document already, or has restored
// it, StartRestore returns that job. Its errors are those of FindDeleted and StartImport.
func (h *Handler) StartRestore(ctx context.Context, user events.User, correlation string, id uuid.UUID) (Started, error) {
	return aggregate.Retry(ctx, "a document that is being restored", func() (Started, error) {
		found, err := h.FindDeleted(ctx, user, id)
		switch {
		case err != nil || found.Job != uuid.Nil:
			return found.Started, err
		case found.Restored != uuid.Nil:
			return Started{}, fault.Errorf(fault.Conflict, "document %q was restored already, as document %s", found.Name, found.Restored)
		case found.elsewhere:
			return Started{}, fault.Errorf(fault.Conflict, "document %q is being restored, or was restored, by another owner of its folder", found.Name)
		case found.next == uuid.Nil:
			return Started{}, fault.Errorf(fault.Conflict, "document %q cannot be restored again: this was begun %d times; import it again", found.Name, events.MaxRestores)
		}
		return h.startImport(ctx, user, correlation, []Upload{found.File}, func(ctx context.Context, cause events.Cause, data []events.Data) (Started, error) {
			if f, ok := data[0].(events.FileAccepted); ok && f.Refused != "" {
				return Started{}, fault.Errorf(fault.Conflict, "document %q cannot be restored: %s", found.Name, f.Refused)
			}
			cause.Via, cause.Causation = user.Via(events.ViaRestore(id)), events.DocumentStream(id)+"@"+strconv.FormatInt(found.deletedIn, 10)
			started, err := h.appendJob(ctx, found.next, 0, cause, data)
			if fault.Is(err, fault.Conflict) {
				err = aggregate.ErrRaced // another request has started the job
			}
			return started, err
		})
	})
}
