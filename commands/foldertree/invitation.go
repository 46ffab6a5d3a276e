package foldertree

import (
	"cmp"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// invitations index the invitations of the whole tree.
type invitations struct {
	to      map[events.Principal]map[uuid.UUID]bool        // folders, by invited user
	by      map[events.Principal]map[uuid.UUID]bool        // folders, by inviter
	blocked map[events.Principal]map[events.Principal]bool // inviters, by user who does not see their invitations
}

func newInvitations() invitations {
	return invitations{
		to: make(map[events.Principal]map[uuid.UUID]bool), by: make(map[events.Principal]map[uuid.UUID]bool),
		blocked: make(map[events.Principal]map[events.Principal]bool),
	}
}

// mark adds an item to those of a principal if has is true, and removes it otherwise.
func mark[T comparable](all map[events.Principal]map[T]bool, who events.Principal, one T, has bool) {
	switch {
	case !has:
		delete(all[who], one)
		if len(all[who]) == 0 {
			delete(all, who)
		}
		return
	case all[who] == nil:
		all[who] = make(map[T]bool)
	}
	all[who][one] = true
}

// applyHidden folds in an event that a folder's owners must not notice, and which
// therefore does not change the folder's version. It reports whether data is one.
func (t *Tree) applyHidden(data events.Data) bool {
	switch d := data.(type) {
	case events.FolderInvitationDeclined:
		mark(t.invitations.blocked, d.Principal, d.By, true)
	case events.InviterUnblocked:
		mark(t.invitations.blocked, d.Principal, d.By, false)
	default:
		return false
	}
	return true
}

// hidden reports whether the invited user has declined this or another invitation by
// the same inviter.
func (t *Tree) hidden(i events.Invitation) bool { return t.invitations.blocked[i.Principal][i.By] }

// invite replaces a folder's invitations.
func (t *Tree) invite(id uuid.UUID, list []events.Invitation) {
	f := t.folders[id]
	for _, i := range f.invited {
		t.forget(id, i)
	}
	f.invited = slices.Clone(list)
	for _, i := range f.invited {
		mark(t.invitations.to, i.Principal, id, true)
		mark(t.invitations.by, i.By, id, true)
	}
}

// forget removes an invitation from the indices. The caller adds other invitations of
// the folder by the same inviter again.
func (t *Tree) forget(id uuid.UUID, i events.Invitation) {
	mark(t.invitations.to, i.Principal, id, false)
	mark(t.invitations.by, i.By, id, false)
}

// uninvite removes a user's invitation to a folder.
func (t *Tree) uninvite(id uuid.UUID, who events.Principal) {
	f := t.folders[id]
	at, ok := f.invitation(who)
	if !ok {
		return
	}
	gone := f.invited[at]
	f.invited = slices.Delete(slices.Clone(f.invited), at, at+1)
	t.forget(id, gone)
	for _, i := range f.invited {
		mark(t.invitations.by, i.By, id, true)
	}
}

// uninviteBelow removes the invitations to a folder and to all below it.
func (t *Tree) uninviteBelow(id uuid.UUID) {
	f := t.folders[id]
	for _, i := range f.invited {
		t.forget(id, i)
	}
	f.invited = nil
	for _, child := range t.children[id] {
		t.uninviteBelow(child)
	}
}

// invitation returns the index of a user's invitation in a folder's list.
func (f *folder) invitation(who events.Principal) (at int, ok bool) {
	at = slices.IndexFunc(f.invited, func(i events.Invitation) bool { return i.Principal == who })
	return at, at >= 0
}

// entry returns the index of a principal's entry in a list of permissions.
func entry(list []events.Permission, who events.Principal) (at int, ok bool) {
	at = slices.IndexFunc(list, func(p events.Permission) bool { return p.Principal == who })
	return at, at >= 0
}

// withEntry returns a copy of a list with an entry inserted in the order of principals.
// The list itself belongs to an event, and must not change.
func withEntry(list []events.Permission, p events.Permission) []events.Permission {
	list = slices.Clone(withoutEntry(list, p.Principal))
	at, _ := slices.BinarySearchFunc(list, p.Principal, func(q events.Permission, who events.Principal) int { return cmp.Compare(q.Principal, who) })
	return slices.Insert(list, at, p)
}

func withoutEntry(list []events.Permission, who events.Principal) []events.Permission {
	at, ok := entry(list, who)
	if !ok {
		return list
	}
	return slices.Delete(slices.Clone(list), at, at+1)
}

// valid reports whether an invitation to a folder is still valid: the folder exists, and
// the inviter, or the group through which they invited, still owns it.
func (t *Tree) valid(id uuid.UUID, i events.Invitation) bool {
	owned := false
	for _, f := range t.up(id) {
		if f == nil || f.deleted {
			return false
		}
		owned = owned || f.ownedBy(cmp.Or(i.Through, i.By))
	}
	return owned
}

// ownedBy reports whether a principal owns this folder itself, not through one above.
func (f *folder) ownedBy(who events.Principal) bool {
	return slices.Contains(f.owners, who) || slices.Contains(f.permissions, events.Permission{Principal: who, Access: events.Own.String()})
}

// ownsThrough returns the group by which a user owns a folder, "" if they own it
// themselves.
func (t *Tree) ownsThrough(user events.User, id uuid.UUID) (group events.Principal) {
	owners := t.owners(id, nil)
	if slices.Contains(owners, user.Principal) {
		return ""
	}
	for _, g := range user.Groups {
		if slices.Contains(owners, g) {
			return g
		}
	}
	return ""
}

// open returns how many invitations wait for a user's answer, except one to the folder
// besides.
func (t *Tree) open(who events.Principal, besides uuid.UUID) (n int) {
	for id := range t.invitations.to[who] {
		f := t.folders[id]
		if at, ok := f.invitation(who); ok && id != besides && !t.hidden(f.invited[at]) && t.valid(id, f.invited[at]) {
			n++
		}
	}
	return n
}

// made returns how many unanswered invitations a user has made, except those to the folder
// besides. Declined ones count, because the inviter must not notice that they were
// declined.
func (t *Tree) made(by events.Principal, besides uuid.UUID) (n int) {
	for id := range t.invitations.by[by] {
		if id == besides {
			continue
		}
		for _, i := range t.folders[id].invited {
			if i.By == by {
				n++
			}
		}
	}
	return n
}

// AcceptInvitation accepts an invitation to a folder.
type AcceptInvitation struct{ Folder uuid.UUID }

// Decide returns the events of the command for a user, none if nothing changes.
func (c AcceptInvitation) Decide(t *Tree, user events.User) ([]events.Data, error) {
	if t.listed(c.Folder, user.Principal) {
		return nil, nil // it was accepted before
	}
	i, ok := t.shown(c.Folder, user.Principal)
	if !ok {
		return nil, noInvitation(c.Folder)
	}
	return []events.Data{events.FolderInvitationAccepted{Folder: c.Folder, Principal: i.Principal, Access: i.Access, By: i.By}}, nil
}

// DeclineInvitation declines an invitation, and hides later ones by the same inviter. A
// user who had accepted it leaves the folder.
type DeclineInvitation struct{ Folder uuid.UUID }

// Decide returns the events of the command for a user, none if nothing changes.
func (c DeclineInvitation) Decide(t *Tree, user events.User) ([]events.Data, error) {
	if t.listed(c.Folder, user.Principal) {
		return []events.Data{events.FolderLeft{Folder: c.Folder, Principal: user.Principal}}, nil
	}
	i, ok := t.shown(c.Folder, user.Principal)
	if !ok {
		return nil, noInvitation(c.Folder)
	}
	return []events.Data{events.FolderInvitationDeclined{Folder: c.Folder, Principal: i.Principal, By: i.By}}, nil
}

// noInvitation returns the error for a missing invitation. It does not show whether the
// folder exists.
func noInvitation(id uuid.UUID) error {
	return fault.Errorf(fault.NotFound, "you have no invitation to a folder %s", id)
}

// listed reports whether a folder's list has an entry for the user.
func (t *Tree) listed(id uuid.UUID, who events.Principal) bool {
	if len(t.Path(id)) == 0 {
		return false
	}
	_, ok := entry(t.folders[id].permissions, who)
	return ok
}

// shown returns the invitation to a folder that a user sees.
func (t *Tree) shown(id uuid.UUID, who events.Principal) (events.Invitation, bool) {
	f := t.folders[id]
	if f == nil {
		return events.Invitation{}, false
	}
	at, ok := f.invitation(who)
	if !ok || t.hidden(f.invited[at]) || !t.valid(id, f.invited[at]) {
		return events.Invitation{}, false
	}
	return f.invited[at], true
}

// UnblockInviter lets the user see the invitations of an inviter again, including earlier
// ones that are still valid. If the inviter is not blocked it changes nothing.
type UnblockInviter struct{ By events.Principal }

// Decide returns the events of the command for a user, none if nothing changes.
func (c UnblockInviter) Decide(t *Tree, user events.User) ([]events.Data, error) {
	if !t.invitations.blocked[user.Principal][c.By] {
		return nil, nil
	}
	return []events.Data{events.InviterUnblocked{Principal: user.Principal, By: c.By}}, nil
}
