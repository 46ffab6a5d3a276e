package commands

import (
	"cmp"
	"context"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// CreateFolder makes a folder below another one, for which its maker must
// have write access there, or at the top level, where he owns it.
type CreateFolder struct {
	Parent uuid.UUID // uuid.Nil: the top level
	Name   string
}

func (c CreateFolder) decide(t *tree, user events.User, id uuid.UUID) ([]events.Data, error) {
	name, err := normalizeFolderName(c.Name)
	if err != nil {
		return nil, err
	}
	created := events.FolderCreated{Folder: id, Parent: c.Parent, Name: name}
	switch {
	case c.Parent == uuid.Nil:
		created.Owner = user.Principal
		err = t.rules.mayMakeTop(user)
	default:
		err = t.mayFill(user, c.Parent)
	}
	if err == nil {
		err = t.mayName(c.Parent, name)
	}
	if err == nil {
		err = t.fits(id, c.Parent, name)
	}
	if err == nil {
		err = t.unlike(user, id, c.Parent, name)
	}
	if err != nil {
		return nil, err
	}
	return []events.Data{created}, nil
}

// mayName returns an error for the one name that nobody gives: that of the
// inbox, at the top level.
func (t *tree) mayName(parent uuid.UUID, name string) error {
	if parent == uuid.Nil && name == inbox {
		return fault.Errorf(fault.Forbidden, "the top-level folder %s is made by Annals alone", inbox)
	}
	return nil
}

// fits returns an error unless a folder can stand under a parent by a name.
// It need not exist yet.
func (t *tree) fits(id, parent uuid.UUID, name string) error {
	if t.within(parent, id) {
		return fault.Errorf(fault.Conflict, "folder %q cannot be moved into itself, or below itself", t.folders[id].name)
	}
	if taken, ok := t.children[parent][name]; ok && taken != id {
		return fault.Errorf(fault.Conflict, "the name %q is taken in this folder", name)
	}
	if n := len(t.path(parent)) + t.height(id); n > MaxSegments {
		return fault.Errorf(fault.Invalid, "a folder path has at most %d names, not %d", MaxSegments, n)
	}
	return nil
}

// fresh returns an error where a folder is not at the version that somebody
// read; a negative one stands for whichever it is at.
func (t *tree) fresh(id uuid.UUID, version int64) error {
	if current := t.folders[id].version; version >= 0 && version != current {
		return fault.Errorf(fault.Conflict, "folder %q is at version %d, not %d", t.folders[id].name, current, version)
	}
	return nil
}

// ChangeFolder renames a folder, moves it, or both. It needs write access to
// the folder and to where it moves; to the top level owners alone move it.
type ChangeFolder struct {
	ID      uuid.UUID
	Version int64 // that was read; negative: whatever it is
	Name    *string
	Parent  *uuid.UUID // uuid.Nil: the top level
}

func (c ChangeFolder) decide(t *tree, user events.User) (data []events.Data, err error) {
	rename := ""
	if c.Name != nil {
		if rename, err = normalizeFolderName(*c.Name); err != nil {
			return nil, err
		}
	}
	if err := t.need(user, c.ID, events.Write); err != nil {
		return nil, err
	}
	f := t.folders[c.ID]
	name, parent := cmp.Or(rename, f.name), f.parent
	if c.Parent != nil {
		parent = *c.Parent
	}
	if err := c.allowed(t, user, name, parent); err != nil {
		return nil, err
	}
	if err := t.fresh(c.ID, c.Version); err != nil {
		return nil, err
	}
	if name != f.name {
		data = append(data, events.FolderRenamed{Folder: c.ID, Name: name})
	}
	if parent != f.parent {
		moved := events.FolderMoved{Folder: c.ID, Parent: parent}
		if parent == uuid.Nil {
			moved.Owner = user.Principal
		}
		data = append(data, moved)
	}
	if len(data) > 0 {
		err = t.fits(c.ID, parent, name)
	}
	if len(data) > 0 && err == nil {
		err = t.unlike(user, c.ID, parent, name)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// allowed judges whether a user who may write in the folder may give it a
// name and a parent.
func (c ChangeFolder) allowed(t *tree, user events.User, name string, parent uuid.UUID) error {
	f := t.folders[c.ID]
	renamed, moved := name != f.name, parent != f.parent
	switch {
	case t.isInbox(c.ID):
		return fault.Errorf(fault.Forbidden, "%s cannot be renamed or moved", inbox)
	case renamed && !moved && t.isInbox(f.parent):
		return fault.Errorf(fault.Forbidden, "the folders in %s bear the names of their users", inbox)
	case !moved:
	case parent != uuid.Nil:
		if err := t.mayMove(user, t.access(user, c.ID), f.own(), f.parent, parent); err != nil {
			return err
		}
	case t.access(user, c.ID) < events.Own:
		return fault.Errorf(fault.Forbidden, "only an owner may move folder %q to the top level", f.name)
	default:
		if err := t.rules.mayMakeTop(user); err != nil {
			return err
		}
	}
	return t.mayName(parent, name)
}

// DeleteFolder ends a folder, and hides all below it. It needs own access.
type DeleteFolder struct {
	ID        uuid.UUID
	Version   int64 // that was read; negative: whatever it is
	Recursive bool  // else only an empty one is deleted
}

func (c DeleteFolder) decide(t *tree, user events.User) ([]events.Data, error) {
	if err := t.need(user, c.ID, events.Own); err != nil {
		return nil, err
	}
	if t.isInbox(c.ID) {
		return nil, fault.Errorf(fault.Forbidden, "%s cannot be deleted", inbox)
	}
	if err := t.fresh(c.ID, c.Version); err != nil {
		return nil, err
	}
	if len(t.children[c.ID]) > 0 && !c.Recursive {
		return nil, notEmpty(t.folders[c.ID].name)
	}
	return []events.Data{events.FolderDeleted{Folder: c.ID}}, nil
}

func notEmpty(name string) error {
	return fault.Errorf(fault.Conflict, "folder %q is not empty: empty it first, or delete it with all that is in it (recursive=true)", name)
}

// CreateFolder makes a folder and returns its id. A name that is taken there
// is fault.Conflict.
func (h *Handler) CreateFolder(ctx context.Context, user events.User, correlation string, c CreateFolder) (id uuid.UUID, at events.Position, err error) {
	id = uuid.New()
	may, err := h.mayMake(ctx, user, quota.Folders)
	if err == nil {
		at, err = h.changeTree(ctx, user, correlation, "create folder", func(t *tree) ([]events.Data, error) {
			data, err := c.decide(t, user, id)
			if err == nil {
				err = may.check(t.counts.folders[user.Principal], int64(len(data)))
			}
			return data, err
		})
	}
	if err != nil {
		return uuid.Nil, 0, err
	}
	return id, at, nil
}

// ChangeFolder carries the command out. A stale version, a name that is taken
// and a folder to be moved into itself are fault.Conflict.
func (h *Handler) ChangeFolder(ctx context.Context, user events.User, correlation string, c ChangeFolder) (at events.Position, err error) {
	h.init()
	hold, err := h.holdFolder(ctx, user, c)
	if err != nil {
		return 0, err
	}
	defer hold.Close()
	at, err = h.changeTree(ctx, user, correlation, "change folder", func(t *tree) ([]events.Data, error) { return c.decide(t, user) })
	if err == nil {
		hold.Settle(at)
	}
	return at, err
}

// holdFolder takes room for a folder, with all below it, where it is to be moved,
// if its user may move it.
func (h *Handler) holdFolder(ctx context.Context, user events.User, c ChangeFolder) (*quota.Hold, error) {
	if c.Parent == nil || !h.limitsMoves(user, *c.Parent) {
		return nil, nil
	}
	err := view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		_, err := c.decide(t, user)
		return err
	})
	if err != nil {
		return nil, err
	}
	return h.holdMove(ctx, user, c.ID, *c.Parent, func() (quota.Limits, error) { return h.Quota.Usage.UsedBelow(ctx, c.ID) })
}

// DeleteFolder carries the command out. A stale version, and a folder that is
// not empty, are fault.Conflict.
func (h *Handler) DeleteFolder(ctx context.Context, user events.User, correlation string, c DeleteFolder) (at events.Position, err error) {
	h.init()
	// Who is refused stops nobody's filing; and the read side is let catch up
	// first, so that it is quick to answer again.
	if err := h.checkDeletion(ctx, user, c); err != nil {
		return 0, err
	}
	err = h.filing.remove(ctx, func(ctx context.Context, still func() error) error {
		if err := h.checkQuickly(ctx, user, c); err != nil {
			return err
		}
		at, err = h.changeTree(ctx, user, correlation, "delete folder", func(t *tree) ([]events.Data, error) {
			data, err := c.decide(t, user)
			if err == nil {
				err = still()
			}
			return data, err
		})
		return err
	})
	return at, err
}

// checkDeletion returns an error unless a folder may be deleted and, where
// only an empty one is, the read side knows of no documents in it. That is
// asked without the tree being held: the answer may take a while.
func (h *Handler) checkDeletion(ctx context.Context, user events.User, c DeleteFolder) error {
	var name string
	err := view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		_, err := c.decide(t, user)
		if err == nil {
			name = t.folders[c.ID].name
		}
		return err
	})
	if err != nil || c.Recursive {
		return err
	}
	if h.Contents == nil {
		return fault.Errorf(fault.Unavailable, "whether folder %q is empty cannot be determined now; try again", name)
	}
	head, err := h.Log.Head(ctx)
	if err != nil {
		return err
	}
	holds, err := h.Contents.HoldsDocuments(ctx, c.ID, head)
	if err == nil && holds {
		err = notEmpty(name)
	}
	return err
}

// shortly is how long nothing can be filed while the read side is asked
// whether a folder is empty.
const shortly = 400 * time.Millisecond

// checkQuickly is checkDeletion that nobody waits long for.
func (h *Handler) checkQuickly(ctx context.Context, user events.User, c DeleteFolder) error {
	quick, cancel := context.WithTimeout(ctx, shortly)
	defer cancel()
	err := h.checkDeletion(quick, user, c)
	if err != nil && quick.Err() != nil && ctx.Err() == nil {
		return fault.Errorf(fault.Unavailable, "whether folder %s is empty cannot be told now: try again", c.ID)
	}
	return err
}

// changeTree carries out what a user asks of the folders.
func (h *Handler) changeTree(ctx context.Context, user events.User, correlation, name string, decide func(*tree) ([]events.Data, error)) (events.Position, error) {
	h.init()
	return do(ctx, h, h.folders, action[*tree]{name: name, stream: events.Folders, cause: causedBy(ctx, user, correlation), user: user, decide: decide})
}

// causedBy is the cause of what a user asks of the vault.
func causedBy(ctx context.Context, user events.User, correlation string) events.Cause {
	return events.Cause{Actor: user.Principal, Via: via(ctx, user, "vault"), Correlation: correlation}
}
