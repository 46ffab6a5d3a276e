package commands

import (
	"cmp"
	"context"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// invitations are what the tree knows of all invitations together.
type invitations struct {
	to      map[events.Principal]map[uuid.UUID]bool        // folders, by who is invited
	by      map[events.Principal]map[uuid.UUID]bool        // and by who invites
	blocked map[events.Principal]map[events.Principal]bool // whose invitations a user does not see
}

func newInvitations() invitations {
	return invitations{
		to: make(map[events.Principal]map[uuid.UUID]bool), by: make(map[events.Principal]map[uuid.UUID]bool),
		blocked: make(map[events.Principal]map[events.Principal]bool),
	}
}

// mark notes that a principal has one thing, or has it no longer.
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

// applyHidden folds in what a folder's owners do not learn, which is no change
// of the folder: its version would tell them. It reports whether data is that.
func (t *tree) applyHidden(data events.Data) bool {
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

// hidden reports whether an invitation is by somebody of whom its user declined
// one: this, or another.
func (t *tree) hidden(i events.Invitation) bool { return t.invitations.blocked[i.Principal][i.By] }

// invite replaces a folder's invitations.
func (t *tree) invite(id uuid.UUID, list []events.Invitation) {
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

// forget takes an invitation out of what is known of all together. Others of
// the folder may be by the same inviter, and are noted anew.
func (t *tree) forget(id uuid.UUID, i events.Invitation) {
	mark(t.invitations.to, i.Principal, id, false)
	mark(t.invitations.by, i.By, id, false)
}

// uninvite removes a user's invitation to a folder.
func (t *tree) uninvite(id uuid.UUID, who events.Principal) {
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
func (t *tree) uninviteBelow(id uuid.UUID) {
	f := t.folders[id]
	for _, i := range f.invited {
		t.forget(id, i)
	}
	f.invited = nil
	for _, child := range t.children[id] {
		t.uninviteBelow(child)
	}
}

// invitation returns the place of a user's invitation in a folder's list.
func (f *folder) invitation(who events.Principal) (at int, ok bool) {
	at = slices.IndexFunc(f.invited, func(i events.Invitation) bool { return i.Principal == who })
	return at, at >= 0
}

// entry returns the place of a principal in a list of permissions.
func entry(list []events.Permission, who events.Principal) (at int, ok bool) {
	at = slices.IndexFunc(list, func(p events.Permission) bool { return p.Principal == who })
	return at, at >= 0
}

// withEntry returns a list with an entry at its place in the order of
// principals. The list itself is the event's that it came with.
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

// stands reports whether an invitation to a folder still holds: the folder is
// there, and owned by whoever invited, or by the group through which they do.
func (t *tree) stands(id uuid.UUID, i events.Invitation) bool {
	owned := false
	for _, f := range t.up(id) {
		if f == nil || f.deleted {
			return false
		}
		owned = owned || f.ownedBy(cmp.Or(i.Through, i.By))
	}
	return owned
}

// ownedBy reports whether somebody owns a folder by itself.
func (f *folder) ownedBy(who events.Principal) bool {
	return slices.Contains(f.owners, who) || slices.Contains(f.permissions, events.Permission{Principal: who, Access: events.Own.String()})
}

// ownsThrough returns the group by which a user owns a folder, none where they
// own it themselves.
func (t *tree) ownsThrough(user events.User, id uuid.UUID) (group events.Principal) {
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

// open returns how many invitations wait for a user's answer, one to a folder
// left out.
func (t *tree) open(who events.Principal, besides uuid.UUID) (n int) {
	for id := range t.invitations.to[who] {
		f := t.folders[id]
		if at, ok := f.invitation(who); ok && id != besides && !t.hidden(f.invited[at]) && t.stands(id, f.invited[at]) {
			n++
		}
	}
	return n
}

// made returns how many unanswered invitations are somebody's, those of one
// folder left out. Whether they were declined is not for them to know, so that
// those count as well.
func (t *tree) made(by events.Principal, besides uuid.UUID) (n int) {
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

// AcceptInvitation accepts what a folder's list offers to the user.
type AcceptInvitation struct{ Folder uuid.UUID }

func (c AcceptInvitation) decide(t *tree, user events.User) ([]events.Data, error) {
	if t.listed(c.Folder, user.Principal) {
		return nil, nil // it was accepted before
	}
	i, ok := t.shown(c.Folder, user.Principal)
	if !ok {
		return nil, noInvitation(c.Folder)
	}
	return []events.Data{events.FolderInvitationAccepted{Folder: c.Folder, Principal: i.Principal, Access: i.Access, By: i.By}}, nil
}

// DeclineInvitation declines it, and hides what its inviter offers from then
// on. A user who had accepted leaves the folder.
type DeclineInvitation struct{ Folder uuid.UUID }

func (c DeclineInvitation) decide(t *tree, user events.User) ([]events.Data, error) {
	if t.listed(c.Folder, user.Principal) {
		return []events.Data{events.FolderLeft{Folder: c.Folder, Principal: user.Principal}}, nil
	}
	i, ok := t.shown(c.Folder, user.Principal)
	if !ok {
		return nil, noInvitation(c.Folder)
	}
	return []events.Data{events.FolderInvitationDeclined{Folder: c.Folder, Principal: i.Principal, By: i.By}}, nil
}

// noInvitation is the same whatever there is.
func noInvitation(id uuid.UUID) error {
	return fault.Errorf(fault.NotFound, "you have no invitation to a folder %s", id)
}

// listed reports whether a folder's list grants something to a user by name.
func (t *tree) listed(id uuid.UUID, who events.Principal) bool {
	if len(t.path(id)) == 0 {
		return false
	}
	_, ok := entry(t.folders[id].permissions, who)
	return ok
}

// shown returns the invitation to a folder that a user sees.
func (t *tree) shown(id uuid.UUID, who events.Principal) (events.Invitation, bool) {
	f := t.folders[id]
	if f == nil {
		return events.Invitation{}, false
	}
	at, ok := f.invitation(who)
	if !ok || t.hidden(f.invited[at]) || !t.stands(id, f.invited[at]) {
		return events.Invitation{}, false
	}
	return f.invited[at], true
}

// UnblockInviter lets the user see somebody's invitations again, those that
// still stand in lists of folders, too. To unblock whoever is not blocked is no
// change.
type UnblockInviter struct{ By events.Principal }

func (c UnblockInviter) decide(t *tree, user events.User) ([]events.Data, error) {
	if !t.invitations.blocked[user.Principal][c.By] {
		return nil, nil
	}
	return []events.Data{events.InviterUnblocked{Principal: user.Principal, By: c.By}}, nil
}

// AcceptInvitation carries the command out. Where there is no invitation it is
// fault.NotFound; one that was accepted before is no error.
func (h *Handler) AcceptInvitation(ctx context.Context, user events.User, correlation string, c AcceptInvitation) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "accept invitation", func(t *tree) ([]events.Data, error) { return c.decide(t, user) })
}

// DeclineInvitation carries the command out. Where there is no invitation it is
// fault.NotFound.
func (h *Handler) DeclineInvitation(ctx context.Context, user events.User, correlation string, c DeclineInvitation) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "decline invitation", func(t *tree) ([]events.Data, error) { return c.decide(t, user) })
}

// UnblockInviter carries the command out.
func (h *Handler) UnblockInviter(ctx context.Context, user events.User, correlation string, c UnblockInviter) (events.Position, error) {
	return h.changeTree(ctx, user, correlation, "unblock inviter", func(t *tree) ([]events.Data, error) { return c.decide(t, user) })
}
