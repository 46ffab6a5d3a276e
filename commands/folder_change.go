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
	limit, err := h.creationQuota(ctx, user, quota.Folders)
	if err == nil {
		at, err = h.changeTree(ctx, user, correlation, "create folder", func(t *foldertree.Tree) ([]events.Data, error) {
			data, err := c.Decide(t, user, id)
			if err == nil {
				err = limit.check(t.CreatedFolders(user.Principal), int64(len(data)))
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
// name that is taken, and a move of a folder into itself or below itself.
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

// holdFolder reserves quota in the target folder of a move, for the moved folder and
// everything below it. It reserves nothing if the user may not move the folder.
func (h *Handler) holdFolder(ctx context.Context, user events.User, c foldertree.ChangeFolder) (*quota.Hold, error) {
	if c.Parent == nil || !h.movesLimited(user, *c.Parent) {
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
	// Check before taking the lock: a deletion that is refused here does not block
	// filing, and the read models catch up, so the second check is fast.
	if err := h.checkDeletion(ctx, user, c); err != nil {
		return 0, err
	}
	err = h.filing.remove(ctx, func(ctx context.Context, still func() error) error {
		if err := h.recheckDeletion(ctx, user, c); err != nil {
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

// checkDeletion returns an error unless the user may delete a folder and, if the deletion
// is not recursive, the read models find no documents in it. It does not lock the tree
// during that query, which may take a while.
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
		return fault.Errorf(fault.Unavailable, "delete folder %s: cannot check now whether it is empty: try again", c.ID)
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

// recheckTimeout limits how long filing is blocked while the read models check whether the
// folder contains documents.
const recheckTimeout = 400 * time.Millisecond

// recheckDeletion calls checkDeletion with a timeout.
func (h *Handler) recheckDeletion(ctx context.Context, user events.User, c foldertree.DeleteFolder) error {
	limited, cancel := context.WithTimeout(ctx, recheckTimeout)
	defer cancel()
	err := h.checkDeletion(limited, user, c)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fault.Errorf(fault.Unavailable, "delete folder %s: cannot check now whether it is empty: try again", c.ID)
	}
	return err
}

// changeTree executes a user's command on the folders.
func (h *Handler) changeTree(ctx context.Context, user events.User, correlation, name string, decide func(*foldertree.Tree) ([]events.Data, error)) (events.Position, error) {
	h.init()
	return h.folders.Do(ctx, aggregate.Command[*foldertree.Tree]{Name: name, Stream: events.Folders, Cause: causedBy(ctx, user, correlation), User: user, Decide: decide})
}

// ShareFolder executes the command. The error is fault.Conflict for a stale version.
func (h *Handler) ShareFolder(ctx context.Context, user events.User, correlation string, c foldertree.ShareFolder) (at events.Position, err error) {
	limit, err := h.creationQuota(ctx, user, quota.Shares)
	if err != nil {
		return 0, err
	}
	return h.changeTree(ctx, user, correlation, "share folder", func(t *foldertree.Tree) ([]events.Data, error) {
		data, err := c.Decide(t, user)
		if err == nil && len(data) > 0 {
			err = limit.check(t.CreatedShares(user.Principal), t.NewShares(c))
		}
		return data, err
	})
}

// AcceptInvitation executes the command. The error is fault.NotFound if the user has no
// invitation to the folder. It is nil if the user has accepted the invitation before.
func (h *Handler) AcceptInvitation(ctx context.Context, user events.User, correlation string, c foldertree.AcceptInvitation) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "accept invitation", func(t *foldertree.Tree) ([]events.Data, error) { return c.Decide(t, user) })
}

// DeclineInvitation executes the command. The error is fault.NotFound if there is no
// invitation.
func (h *Handler) DeclineInvitation(ctx context.Context, user events.User, correlation string, c foldertree.DeclineInvitation) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "decline invitation", func(t *foldertree.Tree) ([]events.Data, error) { return c.Decide(t, user) })
}

// UnblockInviter executes the command.
func (h *Handler) UnblockInviter(ctx context.Context, user events.User, correlation string, c foldertree.UnblockInviter) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "unblock inviter", func(t *foldertree.Tree) ([]events.Data, error) { return c.Decide(t, user) })
}
