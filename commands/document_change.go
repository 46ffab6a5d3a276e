package commands

import (
	"context"
	"slices"
	"time"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/commands/naming"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// ChangeDocument renames, moves and tags a document; nil fields change nothing. It needs
// write access to the document's folder, and to the folder that it is moved to.
type ChangeDocument struct {
	ID      uuid.UUID
	Version int // the version that the caller read
	Name    *string
	Folder  *uuid.UUID
	Tags    *[]string // the full list
}

// normalize returns the command with name and tags in the form in which they are stored.
func (c ChangeDocument) normalize() (ChangeDocument, error) {
	if c.Name != nil {
		name, err := naming.Document(*c.Name)
		if err != nil {
			return c, err
		}
		c.Name = &name
	}
	if c.Tags != nil {
		tags, err := naming.Tags(*c.Tags)
		if err != nil {
			return c, err
		}
		c.Tags = &tags
	}
	if c.Folder != nil && *c.Folder == uuid.Nil {
		return c, fault.Errorf(fault.Invalid, "a document cannot be moved to the top level")
	}
	return c, nil
}

// allow checks the user's access to the folders.
func (c ChangeDocument) allow(t *foldertree.Tree, user events.User, d *document) error {
	if err := d.need(t, user, c.ID, events.Write); err != nil {
		return err
	}
	if c.Folder == nil || *c.Folder == d.folder {
		return nil
	}
	return t.MayMove(user, t.Access(user, d.folder), nil, d.folder, *c.Folder)
}

// decide returns the events of a normalized command. They all have the same version,
// because they are one change.
func (c ChangeDocument) decide(d *document) (data []events.Data, err error) {
	if err := d.fresh(c.Version); err != nil {
		return nil, err
	}
	next := d.version + 1
	if c.Name != nil && *c.Name != d.name {
		data = append(data, events.DocumentRenamed{Version: next, Name: *c.Name})
	}
	if c.Folder != nil && *c.Folder != d.folder {
		data = append(data, events.DocumentMoved{Version: next, Folder: *c.Folder})
	}
	if c.Tags != nil && !slices.Equal(*c.Tags, d.tags) {
		data = append(data, events.DocumentTagged{Version: next, Tags: *c.Tags})
	}
	return data, nil
}

// need returns an error unless a user has at least the given access to the document.
func (d *document) need(t *foldertree.Tree, user events.User, id uuid.UUID, least events.Access) error {
	switch access := t.Access(user, d.folder); {
	case !d.exists || d.deleted || d.deletedWithFolder(t) || access == events.NoAccess:
		return fault.Errorf(fault.NotFound, "no document %s", id)
	case access < least:
		return fault.Errorf(fault.Forbidden, "you have %s access to document %q; this needs %s access", access, d.name, least)
	}
	return nil
}

// DeleteDocument deletes a document. The user needs access events.Own to the document's
// folder.
type DeleteDocument struct {
	ID      uuid.UUID
	Version int // the version that the caller read
}

func (c DeleteDocument) decide(d *document) ([]events.Data, error) {
	if err := d.fresh(c.Version); err != nil {
		return nil, err
	}
	return []events.Data{events.DocumentDeleted{Version: d.version + 1}}, nil
}

// ChangeDocument executes the command. The error is fault.Conflict if the version is stale.
// It is also fault.Conflict if the folder that the document was moved out of, or into, was
// deleted at the same time; the document is then deleted, too.
func (h *Handler) ChangeDocument(ctx context.Context, user events.User, correlation string, c ChangeDocument) (at events.Position, err error) {
	if c, err = c.normalize(); err != nil {
		return 0, err
	}
	h.init()
	change := func() error {
		at, err = h.changeDocument(ctx, user, correlation, c.ID, aggregate.Command[*document]{
			Name: "change document", Decide: c.decide,
			Allow: func(ctx context.Context, d *document) error {
				err := h.onTree(func(t *foldertree.Tree, d *document) error { return c.allow(t, user, d) })(ctx, d)
				if err == nil {
					err = h.checkAlike(ctx, c, d)
				}
				return err
			},
		})
		return err
	}
	if c.Folder == nil {
		err = change()
		return at, err
	}
	hold, err := h.holdDocument(ctx, user, c)
	if err != nil {
		return 0, err
	}
	defer hold.Close()
	if err = h.filing.file(ctx, change); err == nil {
		hold.Settle(at)
		err = h.checkMoved(ctx, c.ID)
	}
	return at, err
}

// holdDocument reserves quota for a document in the folder that it is moved to, if the user
// may move it.
func (h *Handler) holdDocument(ctx context.Context, user events.User, c ChangeDocument) (hold *quota.Hold, err error) {
	if !h.movesLimited(user, *c.Folder) {
		return nil, nil
	}
	var folder uuid.UUID
	var takes quota.Limits
	err = h.documents.View(ctx, events.DocumentStream(c.ID), func(d *document) error {
		folder, takes = d.folder, quota.Limits{quota.Bytes: d.bytes, quota.Documents: 1}
		return h.onTree(func(t *foldertree.Tree, d *document) error { return c.allow(t, user, d) })(ctx, d)
	})
	if err != nil {
		return nil, err
	}
	return h.holdMove(ctx, user, folder, *c.Folder, func() (quota.Limits, error) { return takes, nil })
}

// movedCheckTimeout limits checkMoved. It includes the wait for the gate, which takes up to
// three seconds.
const movedCheckTimeout = 5 * time.Second

// checkMoved returns an error if another process deleted the folder that a document was
// moved out of, or into, at the same time. The move is in the log already, so checkMoved
// reports no error if the caller has gone or the folders cannot be read.
func (h *Handler) checkMoved(ctx context.Context, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), movedCheckTimeout)
	defer cancel()
	deleted := false
	err := h.filing.settle(ctx)
	if err == nil {
		err = h.documents.View(ctx, events.DocumentStream(id), func(d *document) error {
			return h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
				deleted = d.deletedWithFolder(t)
				return nil
			})
		})
	}
	if err != nil {
		h.Logger.WarnContext(ctx, "cannot check whether a folder was deleted while a document was moved", "document", id, "error", err)
	}
	if deleted {
		return deletedWhileMoved(id)
	}
	return nil
}

// DeleteDocument executes the command. The error is fault.Conflict for a stale version.
func (h *Handler) DeleteDocument(ctx context.Context, user events.User, correlation string, c DeleteDocument) (at events.Position, err error) {
	return h.changeDocument(ctx, user, correlation, c.ID, aggregate.Command[*document]{
		Name: "delete document", Decide: c.decide,
		Allow: h.onTree(func(t *foldertree.Tree, d *document) error { return d.need(t, user, c.ID, events.Own) }),
	})
}

// changeDocument executes a user's command on a document.
func (h *Handler) changeDocument(ctx context.Context, user events.User, correlation string, id uuid.UUID, a aggregate.Command[*document]) (events.Position, error) {
	h.init()
	a.Stream, a.Cause, a.User = events.DocumentStream(id), causedBy(ctx, user, correlation), user
	return h.documents.Do(ctx, a)
}

// onTree returns a function that calls check with the current folder tree and a document.
func (h *Handler) onTree(check func(*foldertree.Tree, *document) error) func(context.Context, *document) error {
	return func(ctx context.Context, d *document) error {
		return h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error { return check(t, d) })
	}
}
