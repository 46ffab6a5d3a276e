package commands

import (
	"context"
	"slices"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// ChangeDocument renames, moves and tags a document; what is nil stays. It
// needs write access to the document's folder, and to the one it moves to.
type ChangeDocument struct {
	ID      uuid.UUID
	Version int // that was read
	Name    *string
	Folder  *uuid.UUID
	Tags    *[]string // the full list
}

// normalize returns the command with its texts as they are kept.
func (c ChangeDocument) normalize() (ChangeDocument, error) {
	if c.Name != nil {
		name, err := normalizeName(*c.Name)
		if err != nil {
			return c, err
		}
		c.Name = &name
	}
	if c.Tags != nil {
		tags, err := NormalizeTags(*c.Tags)
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

// allow judges access by the folders alone.
func (c ChangeDocument) allow(t *tree, user events.User, d *document) error {
	if err := d.need(t, user, c.ID, events.Write); err != nil {
		return err
	}
	if c.Folder == nil || *c.Folder == d.folder {
		return nil
	}
	return t.mayMove(user, t.access(user, d.folder), nil, d.folder, *c.Folder)
}

// decide takes a command that is normalized. All of its events make the same
// version: they are one change.
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

// need returns an error unless a user may do so much with the document.
func (d *document) need(t *tree, user events.User, id uuid.UUID, least events.Access) error {
	switch access := t.access(user, d.folder); {
	case !d.exists || d.deleted || d.dropped(t) || access == events.NoAccess:
		return fault.Errorf(fault.NotFound, "no document %s", id)
	case access < least:
		return fault.Errorf(fault.Forbidden, "you have %s access to document %q; this needs %s access", access, d.name, least)
	}
	return nil
}

// fresh returns an error where the document is not at the version that
// somebody read.
func (d *document) fresh(version int) error {
	if version != d.version {
		return fault.Errorf(fault.Conflict, "document %q is at version %d, not %d", d.name, d.version, version)
	}
	return nil
}

// DeleteDocument ends a document. It needs own access to its folder.
type DeleteDocument struct {
	ID      uuid.UUID
	Version int // that was read
}

func (c DeleteDocument) decide(d *document) ([]events.Data, error) {
	if err := d.fresh(c.Version); err != nil {
		return nil, err
	}
	return []events.Data{events.DocumentDeleted{Version: d.version + 1}}, nil
}

// ChangeDocument carries the command out. A stale version is fault.Conflict,
// and so is a folder that was deleted around the document while it moved: it
// is gone then.
func (h *Handler) ChangeDocument(ctx context.Context, user events.User, correlation string, c ChangeDocument) (at events.Position, err error) {
	if c, err = c.normalize(); err != nil {
		return 0, err
	}
	h.init()
	change := func() error {
		at, err = h.changeDocument(ctx, user, correlation, c.ID, action[*document]{
			name: "change document", decide: c.decide,
			allow: func(ctx context.Context, d *document) error {
				err := h.onTree(func(t *tree, d *document) error { return c.allow(t, user, d) })(ctx, d)
				if err == nil {
					err = h.unlikeDocument(ctx, c, d)
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

// holdDocument takes room for a document where it is to be moved, if its user may
// see it.
func (h *Handler) holdDocument(ctx context.Context, user events.User, c ChangeDocument) (hold *quota.Hold, err error) {
	if !h.limitsMoves(user, *c.Folder) {
		return nil, nil
	}
	var folder uuid.UUID
	var takes quota.Limits
	err = view(ctx, h, h.documents, events.DocumentStream(c.ID), func(d *document) error {
		folder, takes = d.folder, quota.Limits{quota.Bytes: d.bytes, quota.Documents: 1}
		return h.onTree(func(t *tree, d *document) error { return c.allow(t, user, d) })(ctx, d)
	})
	if err != nil {
		return nil, err
	}
	return h.holdMove(ctx, user, folder, *c.Folder, func() (quota.Limits, error) { return takes, nil })
}

// checkTime bounds the look at the folders after a document was moved, with the
// wait at the gate before it, which takes up to three seconds.
const checkTime = 5 * time.Second

// checkMoved returns an error if another process deleted the folder that a
// document was moved out of, or into, around the move. That is in the log:
// nothing else may look as if it had failed, neither that whoever asked has
// left nor that the folders cannot be read now.
func (h *Handler) checkMoved(ctx context.Context, id uuid.UUID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()
	dropped := false
	err := h.filing.settle(ctx)
	if err == nil {
		err = view(ctx, h, h.documents, events.DocumentStream(id), func(d *document) error {
			return view(ctx, h, h.folders, events.Folders, func(t *tree) error {
				dropped = d.dropped(t)
				return nil
			})
		})
	}
	if err != nil {
		h.Logger.WarnContext(ctx, "whether a folder was deleted around a moved document cannot be told", "document", id, "error", err)
	}
	if dropped {
		return fault.Errorf(fault.Conflict, "document %s was deleted with its folder while it was being moved", id)
	}
	return nil
}

// DeleteDocument carries the command out. A stale version is fault.Conflict.
func (h *Handler) DeleteDocument(ctx context.Context, user events.User, correlation string, c DeleteDocument) (at events.Position, err error) {
	return h.changeDocument(ctx, user, correlation, c.ID, action[*document]{
		name: "delete document", decide: c.decide,
		allow: h.onTree(func(t *tree, d *document) error { return d.need(t, user, c.ID, events.Own) }),
	})
}

// changeDocument carries out what a user asks of a document.
func (h *Handler) changeDocument(ctx context.Context, user events.User, correlation string, id uuid.UUID, a action[*document]) (events.Position, error) {
	h.init()
	a.stream, a.cause, a.user = events.DocumentStream(id), causedBy(ctx, user, correlation), user
	return do(ctx, h, h.documents, a)
}

// onTree is a judgement of a document by the folders as they are now.
func (h *Handler) onTree(judge func(*tree, *document) error) func(context.Context, *document) error {
	return func(ctx context.Context, d *document) error {
		return view(ctx, h, h.folders, events.Folders, func(t *tree) error { return judge(t, d) })
	}
}
