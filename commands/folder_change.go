package commands

import (
	"context"
	"time"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// CreateFolder creates a folder and returns its id. If the name is taken, the error is
// fault.Conflict.
func (h *Handler) CreateFolder(ctx context.Context, user events.User, correlation string, c foldertree.CreateFolder) (id uuid.UUID, at events.Position, err error) {
	id = uuid.New()
	may, err := h.mayMake(ctx, user, quota.Folders)
	if err == nil {
		at, err = h.changeTree(ctx, user, correlation, "create folder", func(t *foldertree.Tree) ([]events.Data, error) {
			data, err := c.Decide(t, user, id)
			if err == nil {
				err = may.check(t.MadeFolders(user.Principal), int64(len(data)))
			}
			return data, err
		})
	}
	if err != nil {
		return uuid.Nil, 0, err
	}
	return id, at, nil
}

// ChangeFolder executes the command. The error is fault.Conflict for a stale version, a
// name that is taken, and a move of a folder into itself.
func (h *Handler) ChangeFolder(ctx context.Context, user events.User, correlation string, c foldertree.ChangeFolder) (at events.Position, err error) {
	h.init()
	hold, err := h.holdFolder(ctx, user, c)
	if err != nil {
		return 0, err
	}
	defer hold.Close()
	at, err = h.changeTree(ctx, user, correlation, "change folder", func(t *foldertree.Tree) ([]events.Data, error) { return c.Decide(t, user) })
	if err == nil {
		hold.Settle(at)
	}
	return at, err
}

// holdFolder holds quota for a folder with all below it in the folder that it is moved to,
// if its user may move it.
func (h *Handler) holdFolder(ctx context.Context, user events.User, c foldertree.ChangeFolder) (*quota.Hold, error) {
	if c.Parent == nil || !h.limitsMoves(user, *c.Parent) {
		return nil, nil
	}
	err := h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		_, err := c.Decide(t, user)
		return err
	})
	if err != nil {
		return nil, err
	}
	return h.holdMove(ctx, user, c.ID, *c.Parent, func() (quota.Limits, error) { return h.Quota.Usage.UsedBelow(ctx, c.ID) })
}

// DeleteFolder executes the command. The error is fault.Conflict for a stale version, and
// for a folder that is not empty.
func (h *Handler) DeleteFolder(ctx context.Context, user events.User, correlation string, c foldertree.DeleteFolder) (at events.Position, err error) {
	h.init()
	// A deletion that is refused here does not block filing. The read side also
	// catches up here, so the check inside the gate is quick.
	if err := h.checkDeletion(ctx, user, c); err != nil {
		return 0, err
	}
	err = h.filing.remove(ctx, func(ctx context.Context, still func() error) error {
		if err := h.checkQuickly(ctx, user, c); err != nil {
			return err
		}
		at, err = h.changeTree(ctx, user, correlation, "delete folder", func(t *foldertree.Tree) ([]events.Data, error) {
			data, err := c.Decide(t, user)
			if err == nil {
				err = still()
			}
			return data, err
		})
		return err
	})
	return at, err
}

// checkDeletion returns an error unless a folder may be deleted and, if the deletion is
// not recursive, the read side finds no documents in it. The query may take a while, so it
// is made without holding the tree.
func (h *Handler) checkDeletion(ctx context.Context, user events.User, c foldertree.DeleteFolder) error {
	var notEmpty error
	err := h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		_, err := c.Decide(t, user)
		if err == nil {
			notEmpty = t.NotEmpty(c.ID)
		}
		return err
	})
	if err != nil || c.Recursive {
		return err
	}
	if h.Contents == nil {
		return fault.Errorf(fault.Unavailable, "delete folder %s: whether it is empty cannot be determined now: try again", c.ID)
	}
	head, err := h.Log.Head(ctx)
	if err != nil {
		return err
	}
	holds, err := h.Contents.HoldsDocuments(ctx, c.ID, head)
	if err == nil && holds {
		err = notEmpty
	}
	return err
}

// shortly bounds how long filing is blocked while the read side is asked whether a
// folder is empty.
const shortly = 400 * time.Millisecond

// checkQuickly is like checkDeletion, but fails after the time shortly.
func (h *Handler) checkQuickly(ctx context.Context, user events.User, c foldertree.DeleteFolder) error {
	quick, cancel := context.WithTimeout(ctx, shortly)
	defer cancel()
	err := h.checkDeletion(quick, user, c)
	if err != nil && quick.Err() != nil && ctx.Err() == nil {
		return fault.Errorf(fault.Unavailable, "delete folder %s: whether it is empty cannot be determined now: try again", c.ID)
	}
	return err
}

// changeTree executes a user's command on the folders.
func (h *Handler) changeTree(ctx context.Context, user events.User, correlation, name string, decide func(*foldertree.Tree) ([]events.Data, error)) (events.Position, error) {
	h.init()
	return h.folders.Do(ctx, aggregate.Command[*foldertree.Tree]{Name: name, Stream: events.Folders, Cause: causedBy(ctx, user, correlation), User: user, Decide: decide})
}

// causedBy returns the cause of a user's change in the vault.
func causedBy(ctx context.Context, user events.User, correlation string) events.Cause {
	return events.Cause{Actor: user.Principal, Via: via(ctx, user, "vault"), Correlation: correlation}
}

// ShareFolder executes the command. The error is fault.Conflict for a stale version.
func (h *Handler) ShareFolder(ctx context.Context, user events.User, correlation string, c foldertree.ShareFolder) (at events.Position, err error) {
	may, err := h.mayMake(ctx, user, quota.Shares)
	if err != nil {
		return 0, err
	}
	return h.changeTree(ctx, user, correlation, "share folder", func(t *foldertree.Tree) ([]events.Data, error) {
		data, err := c.Decide(t, user)
		if err == nil && len(data) > 0 {
			err = may.check(t.MadeShares(user.Principal), t.NewShares(c))
		}
		return data, err
	})
}

// AcceptInvitation executes the command. The error is fault.NotFound if no invitation
// exists; it is nil if the invitation was accepted before.
func (h *Handler) AcceptInvitation(ctx context.Context, user events.User, correlation string, c foldertree.AcceptInvitation) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "accept invitation", func(t *foldertree.Tree) ([]events.Data, error) { return c.Decide(t, user) })
}

// DeclineInvitation executes the command. The error is fault.NotFound if no invitation
// exists.
func (h *Handler) DeclineInvitation(ctx context.Context, user events.User, correlation string, c foldertree.DeclineInvitation) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "decline invitation", func(t *foldertree.Tree) ([]events.Data, error) { return c.Decide(t, user) })
}

// UnblockInviter executes the command.
func (h *Handler) UnblockInviter(ctx context.Context, user events.User, correlation string, c foldertree.UnblockInviter) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "unblock inviter", func(t *foldertree.Tree) ([]events.Data, error) { return c.Decide(t, user) })
}
