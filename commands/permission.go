package commands

import (
	"cmp"
	"context"
	"slices"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// MaxPermissions is how many entries a folder's permission list has at most.
const MaxPermissions = 1000

// ShareFolder replaces a folder's own permission list. It needs own access;
// whoever made the folder, or moved it to the top level, stays its owner.
//
// An entry for a user that the list does not have yet is an invitation, which
// grants nothing until they accept, unless Rules let it count at once. Whoever
// accepted one stays accepted, whatever access the entry is given later.
type ShareFolder struct {
	ID          uuid.UUID
	Version     int64 // that was read; negative: whatever it is
	Permissions []events.Permission
	// Pending are users whose entries were read as invitations: they stay that
	// though the share of this user would count at once.
	Pending []events.Principal
}

func (c ShareFolder) decide(t *tree, user events.User) ([]events.Data, error) {
	list, err := normalizePermissions(c.Permissions)
	if err == nil {
		err = t.need(user, c.ID, events.Own)
	}
	if err == nil {
		err = t.fresh(c.ID, c.Version)
	}
	if err != nil {
		return nil, err
	}
	shared, err := c.judge(t, user, list)
	if err != nil {
		return nil, err
	}
	f := t.folders[c.ID]
	if slices.Equal(f.permissions, shared.Permissions) && slices.Equal(f.invited, shared.Invitations) {
		return nil, nil
	}
	return []events.Data{shared}, nil
}

// judge sorts the entries of a list into those that count and invitations.
func (c ShareFolder) judge(t *tree, user events.User, list []events.Permission) (events.FolderShared, error) {
	shared := events.FolderShared{Folder: c.ID}
	f := t.folders[c.ID]
	through := t.ownsThrough(user, c.ID)
	for _, p := range list {
		at, granted := entry(f.permissions, p.Principal)
		if !granted || !atMost(p, f.permissions[at]) {
			invited, open := f.invitation(p.Principal)
			stays := open && f.invited[invited].Access == p.Access
			if !stays {
				if err := t.rules.mayShare(user, p.Principal); err != nil {
					return shared, err
				}
			}
			counts := t.rules.counts(user, p.Principal)
			if stays && (!counts || slices.Contains(c.Pending, p.Principal)) {
				shared.Invitations = append(shared.Invitations, f.invited[invited])
				continue
			}
			if !granted && !counts && !slices.Contains(f.owners, p.Principal) {
				shared.Invitations = append(shared.Invitations, events.Invitation{Principal: p.Principal, Access: p.Access, By: user.Principal, Through: through})
				continue
			}
		}
		shared.Permissions = append(shared.Permissions, p)
	}
	return shared, t.mayInvite(user, f, c.ID, shared.Invitations)
}

// atMost reports whether an entry grants no more than another.
func atMost(p, than events.Permission) bool {
	a, _ := events.ParseAccess(p.Access)
	b, _ := events.ParseAccess(than.Access)
	return a <= b
}

// ShareFolder carries the command out. A stale version is fault.Conflict.
func (h *Handler) ShareFolder(ctx context.Context, user events.User, correlation string, c ShareFolder) (at events.Position, err error) {
	may, err := h.mayMake(ctx, user, quota.Shares)
	if err != nil {
		return 0, err
	}
	return h.changeTree(ctx, user, correlation, "share folder", func(t *tree) ([]events.Data, error) {
		data, err := c.decide(t, user)
		if err == nil && len(data) > 0 {
			err = may.check(t.counts.shares[user.Principal], t.folders[c.ID].newShares(c.Permissions))
		}
		return data, err
	})
}

// normalizePermissions returns a list as it is kept: ordered by principal,
// so that equal lists are told to be equal.
func normalizePermissions(list []events.Permission) ([]events.Permission, error) {
	if len(list) > MaxPermissions {
		return nil, fault.Errorf(fault.Invalid, "a folder has at most %d permissions, not %d", MaxPermissions, len(list))
	}
	kept := slices.SortedFunc(slices.Values(list), func(a, b events.Permission) int { return cmp.Compare(a.Principal, b.Principal) })
	for i, p := range kept {
		text, err := normalizeText("a principal", string(p.Principal), MaxPrincipal)
		if err != nil {
			return nil, err
		}
		if text != string(p.Principal) || !p.Principal.IsUser() && !p.Principal.IsGroup() {
			return nil, fault.Errorf(fault.Invalid, "%.300q names nobody: a principal is user:<name> or group:<name>, in Unicode form NFC", p.Principal)
		}
		if _, ok := events.ParseAccess(p.Access); !ok {
			return nil, fault.Errorf(fault.Invalid, "%.300q is no access: it is read, write or own", p.Access)
		}
		if i > 0 && kept[i-1].Principal == p.Principal {
			return nil, fault.Errorf(fault.Invalid, "%s has more than one permission", p.Principal)
		}
	}
	return kept, nil
}
