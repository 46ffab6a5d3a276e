package foldertree

import (
	"cmp"
	"slices"

	"annals/commands/naming"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// MaxPermissions is the maximum number of entries in a folder's permission list.
const MaxPermissions = 1000

// ShareFolder replaces a folder's permission list. The user needs access events.Own to the
// folder. Whoever created the folder, or moved it to the top level, stays an owner.
//
// A new entry for a user is an invitation, which grants nothing until the user accepts it,
// unless Rules let it take effect immediately. An accepted entry stays accepted, even if its
// access changes later.
type ShareFolder struct {
	ID          uuid.UUID
	Version     int64 // the version that the caller read; negative means any
	Permissions []events.Permission
	// Pending are the users whose entries were invitations when the caller read the list.
	// Their entries stay invitations, even if other shares by the caller take effect
	// immediately.
	Pending []events.Principal
}

// Decide returns the event that sets the permission list, or none if the folder already has
// that list.
func (c ShareFolder) Decide(t *Tree, user events.User) ([]events.Data, error) {
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
	shared, err := c.split(t, user, list)
	if err != nil {
		return nil, err
	}
	f := t.folders[c.ID]
	if slices.Equal(f.permissions, shared.Permissions) && slices.Equal(f.invited, shared.Invitations) {
		return nil, nil
	}
	return []events.Data{shared}, nil
}

// split splits a list into permissions and invitations.
func (c ShareFolder) split(t *Tree, user events.User, list []events.Permission) (events.FolderShared, error) {
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
			immediate := t.rules.immediate(user, p.Principal)
			if stays && (!immediate || slices.Contains(c.Pending, p.Principal)) {
				shared.Invitations = append(shared.Invitations, f.invited[invited])
				continue
			}
			if !granted && !immediate && !slices.Contains(f.owners, p.Principal) {
				shared.Invitations = append(shared.Invitations, events.Invitation{Principal: p.Principal, Access: p.Access, By: user.Principal, Through: through})
				continue
			}
		}
		shared.Permissions = append(shared.Permissions, p)
	}
	return shared, t.mayInvite(user, f, c.ID, shared.Invitations)
}

// atMost reports whether the access of p is not higher than that of than.
func atMost(p, than events.Permission) bool {
	a, _ := events.ParseAccess(p.Access)
	b, _ := events.ParseAccess(than.Access)
	return a <= b
}

// normalizePermissions returns a valid list as it is stored: sorted by principal, so that
// equal lists compare equal.
func normalizePermissions(list []events.Permission) ([]events.Permission, error) {
	if len(list) > MaxPermissions {
		return nil, fault.Errorf(fault.Invalid, "a folder has at most %d permissions, not %d", MaxPermissions, len(list))
	}
	kept := slices.SortedFunc(slices.Values(list), func(a, b events.Permission) int { return cmp.Compare(a.Principal, b.Principal) })
	for i, p := range kept {
		text, err := naming.Text("a principal", string(p.Principal), naming.MaxPrincipal)
		if err != nil {
			return nil, err
		}
		if text != string(p.Principal) || !p.Principal.IsUser() && !p.Principal.IsGroup() {
			return nil, fault.Errorf(fault.Invalid, "%.300q is not a principal: write user:<name> or group:<name>, in Unicode form NFC", p.Principal)
		}
		if _, ok := events.ParseAccess(p.Access); !ok {
			return nil, fault.Errorf(fault.Invalid, "%.300q is not an access level: use read, write or own", p.Access)
		}
		if i > 0 && kept[i-1].Principal == p.Principal {
			return nil, fault.Errorf(fault.Invalid, "%s has more than one permission", p.Principal)
		}
	}
	return kept, nil
}
