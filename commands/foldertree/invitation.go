package foldertree

import (
	"cmp"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// invitations is an index of all invitations.
type invitations struct {
	to      map[events.Principal]map[uuid.UUID]bool        // folders, by invited user
	by      map[events.Principal]map[uuid.UUID]bool        // folders, by inviter
	blocked map[events.Principal]map[events.Principal]bool // inviters, by the user who has blocked them
}

func newInvitations() invitations {
	return invitations{
		to: make(map[events.Principal]map[uuid.UUID]bool), by: make(map[events.Principal]map[uuid.UUID]bool),
		blocked: make(map[events.Principal]map[events.Principal]bool),
	}
}

// setMember adds item to the set of a principal if member is true, and removes it
// otherwise.
func setMember[T comparable](sets map[events.Principal]map[T]bool, who events.Principal, item T, member bool) {
	switch {
	case !member:
		delete(sets[who], item)
		if len(sets[who]) == 0 {
			delete(sets, who)
		}
		return
	case sets[who] == nil:
		sets[who] = make(map[T]bool)
	}
	sets[who][item] = true
}

// applyHidden applies events that a folder's owners must not notice, and which therefore do
// not change the folder's version. It reports whether data is such an event.
func (t *Tree) applyHidden(data events.Data) bool {
	switch d := data.(type) {
	case events.FolderInvitationDeclined:
		setMember(t.invitations.blocked, d.Principal, d.By, true)
	case events.InviterUnblocked:
		setMember(t.invitations.blocked, d.Principal, d.By, false)
	default:
		return false
	}
	return true
}

// hidden reports whether the invited user has blocked the inviter by declining an invitation
// of the inviter to this or another folder.
func (t *Tree) hidden(i events.Invitation) bool { return t.invitations.blocked[i.Principal][i.By] }

// setInvitations replaces a folder's invitations.
func (t *Tree) setInvitations(id uuid.UUID, list []events.Invitation) {
	f := t.folders[id]
	for _, i := range f.invited {
		t.unindexInvitation(id, i)
	}
	f.invited = slices.Clone(list)
	for _, i := range f.invited {
		setMember(t.invitations.to, i.Principal, id, true)
		setMember(t.invitations.by, i.By, id, true)
	}
}

// unindexInvitation removes an invitation from the index. The caller must then add the
// folder's other invitations by the same inviter again.
func (t *Tree) unindexInvitation(id uuid.UUID, i events.Invitation) {
	setMember(t.invitations.to, i.Principal, id, false)
	setMember(t.invitations.by, i.By, id, false)
}

// removeInvitation removes a user's invitation to a folder.
func (t *Tree) removeInvitation(id uuid.UUID, who events.Principal) {
	f := t.folders[id]
	at, ok := f.invitation(who)
	if !ok {
		return
	}
	removed := f.invited[at]
	f.invited = slices.Delete(slices.Clone(f.invited), at, at+1)
	t.unindexInvitation(id, removed)
	for _, i := range f.invited {
		setMember(t.invitations.by, i.By, id, true)
	}
}

// removeInvitationsBelow removes the invitations to a folder and to all folders below it.
func (t *Tree) removeInvitationsBelow(id uuid.UUID) {
	f := t.folders[id]
	for _, i := range f.invited {
		t.unindexInvitation(id, i)
	}
	f.invited = nil
	for _, child := range t.children[id] {
		t.removeInvitationsBelow(child)
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

// withEntry returns a copy of a list, sorted by principal, with an entry inserted. The list
// itself belongs to an event and must not be changed.
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

// valid reports whether an invitation is still valid: the folder exists, and the inviter is
// still one of its owners, or the group through which the inviter was an owner still is.
func (t *Tree) valid(id uuid.UUID, i events.Invitation) bool {
	owned := false
	for _, f := range t.ancestry(id) {
		if f == nil || f.deleted {
			return false
		}
		owned = owned || f.ownedBy(cmp.Or(i.Through, i.By))
	}
	return owned
}

// ownedBy reports whether a principal owns this folder, not counting the folders above.
func (f *folder) ownedBy(who events.Principal) bool {
	return slices.Contains(f.owners, who) || slices.Contains(f.permissions, events.Permission{Principal: who, Access: events.Own.String()})
}

// ownsThrough returns the group whose membership makes a user an owner of a folder, or ""
// if the user is an owner personally.
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

// countReceived returns how many invitations a user sees. It does not count an invitation to
// the folder whose id is except.
func (t *Tree) countReceived(who events.Principal, except uuid.UUID) (n int) {
	for id := range t.invitations.to[who] {
		f := t.folders[id]
		if at, ok := f.invitation(who); ok && id != except && !t.hidden(f.invited[at]) && t.valid(id, f.invited[at]) {
			n++
		}
	}
	return n
}

// countSent returns how many invitations a user has sent that were not accepted. It counts
// declined invitations, because the inviter must not notice that they were declined. It does
// not count invitations to the folder whose id is except.
func (t *Tree) countSent(by events.Principal, except uuid.UUID) (n int) {
	for id := range t.invitations.by[by] {
		if id == except {
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

// Decide returns the event of the command, none if nothing changes.
func (c AcceptInvitation) Decide(t *Tree, user events.User) ([]events.Data, error) {
	if t.hasEntry(c.Folder, user.Principal) {
		return nil, nil // the user accepted earlier
	}
	i, ok := t.visibleInvitation(c.Folder, user.Principal)
	if !ok {
		return nil, noInvitation(c.Folder)
	}
	return []events.Data{events.FolderInvitationAccepted{Folder: c.Folder, Principal: i.Principal, Access: i.Access, By: i.By}}, nil
}

// DeclineInvitation declines an invitation to a folder and blocks its inviter: the user does
// not see further invitations by the same inviter. A user who has accepted the invitation
// already leaves the folder.
type DeclineInvitation struct{ Folder uuid.UUID }

// Decide returns the event of the command, none if nothing changes.
func (c DeclineInvitation) Decide(t *Tree, user events.User) ([]events.Data, error) {
	if t.hasEntry(c.Folder, user.Principal) {
		return []events.Data{events.FolderLeft{Folder: c.Folder, Principal: user.Principal}}, nil
	}
	i, ok := t.visibleInvitation(c.Folder, user.Principal)
	if !ok {
		return nil, noInvitation(c.Folder)
	}
	return []events.Data{events.FolderInvitationDeclined{Folder: c.Folder, Principal: i.Principal, By: i.By}}, nil
}

// noInvitation returns the error for a missing invitation. It is the same whether or not
// the folder exists.
func noInvitation(id uuid.UUID) error {
	return fault.Errorf(fault.NotFound, "you have no invitation to folder %s", id)
}

// hasEntry reports whether a folder's permission list has an entry for the user.
func (t *Tree) hasEntry(id uuid.UUID, who events.Principal) bool {
	if len(t.Path(id)) == 0 {
		return false
	}
	_, ok := entry(t.folders[id].permissions, who)
	return ok
}

// visibleInvitation returns a user's invitation to a folder if it is valid and its inviter
// is not blocked.
func (t *Tree) visibleInvitation(id uuid.UUID, who events.Principal) (events.Invitation, bool) {
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

// UnblockInviter unblocks an inviter: the user sees the inviter's invitations again,
// including earlier ones that are still valid.
type UnblockInviter struct{ By events.Principal }

// Decide returns the event of the command, none if nothing changes.
func (c UnblockInviter) Decide(t *Tree, user events.User) ([]events.Data, error) {
	if !t.invitations.blocked[user.Principal][c.By] {
		return nil, nil
	}
	return []events.Data{events.InviterUnblocked{Principal: user.Principal, By: c.By}}, nil
}
