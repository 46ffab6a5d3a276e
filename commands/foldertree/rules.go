package foldertree

import (
	"cmp"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Rules restrict who may share folders with whom, and who may create folders at the top
// level. They apply to new requests: what was shared or made under other rules stays.
// Administrators may do everything.
type Rules struct {
	// OpenShares lets a share with a single user count at once. Otherwise it is an
	// invitation, which counts once they accept.
	OpenShares bool
	ShareWith  ShareWith
	TopLevel   TopLevel

	// Bounds of unanswered invitations; 0 means the default.
	MostMade     int // by one user
	MostReceived int // to one user
}

// ShareWith restricts with whom owners may share their folders.
type ShareWith int

// The zero value is ShareWithAnyone.
const (
	ShareWithAnyone    ShareWith = iota
	ShareWithOwnGroups           // with any user, and with groups that the owner is in
	ShareByAdmins                // only administrators share
)

// TopLevel restricts who may create folders at the top level, by default everyone. Inbox
// and the folders in it are created for everyone.
type TopLevel struct {
	Restricted bool
	To         events.Principal // a group, besides administrators; "" means none
}

// Defaults of the bounds, and a bound that cannot be configured.
const (
	DefaultMostMade     = 100
	DefaultMostReceived = 200
	// mostBetween bounds the unanswered invitations by one user to another.
	mostBetween = 20
)

// counts reports whether a share by a user counts at once, without an invitation.
func (r Rules) counts(user events.User, with events.Principal) bool {
	return user.Admin || r.OpenShares || !with.IsUser() || with == user.Principal
}

// mayShare returns an error unless a user who owns a folder may share it with a
// principal.
func (r Rules) mayShare(user events.User, with events.Principal) error {
	switch {
	case user.Admin:
	case r.ShareWith == ShareByAdmins:
		return fault.Errorf(fault.Forbidden, "only administrators may share folders here: ask one to share it with %s", with)
	case r.ShareWith == ShareWithOwnGroups && with.IsGroup() && !slices.Contains(user.Groups, with):
		return fault.Errorf(fault.Forbidden, "folders can only be shared with single users and your own groups here: you are not in %s", with)
	}
	return nil
}

// mayMakeTop returns an error unless a user may put a folder at the top level.
func (r Rules) mayMakeTop(user events.User) error {
	if !r.TopLevel.Restricted || user.Admin || r.TopLevel.To != "" && slices.Contains(user.Groups, r.TopLevel.To) {
		return nil
	}
	who := "administrators"
	if r.TopLevel.To != "" {
		who += " and members of " + string(r.TopLevel.To)
	}
	return fault.Errorf(fault.Forbidden, "only %s may create folders at the top level here", who)
}

// mayInvite returns an error if a user adds too many invitations to a folder's list. The
// message about an invited user is the same whether they accepted, declined, or do not
// exist.
func (t *Tree) mayInvite(user events.User, f *folder, id uuid.UUID, list []events.Invitation) error {
	var added []events.Invitation
	made := t.made(user.Principal, id)
	for _, i := range list {
		if i.By == user.Principal {
			made++
		}
		if at, ok := f.invitation(i.Principal); !ok || f.invited[at] != i {
			added = append(added, i)
		}
	}
	if most := t.rules.mostMade(); len(added) > 0 && made > most {
		return fault.Errorf(fault.Forbidden, "at most %d of your invitations can be unanswered at a time, and these would be %d: withdraw some, or share with a group", most, made)
	}
	for _, i := range added {
		between := 0
		for other := range t.invitations.to[i.Principal] {
			o := t.folders[other]
			if at, ok := o.invitation(i.Principal); ok && other != id && o.invited[at].By == i.By {
				between++
			}
		}
		most := t.rules.mostReceived()
		if between >= mostBetween || len(t.invitations.to[i.Principal]) >= most && t.open(i.Principal, id) >= most {
			return fault.Errorf(fault.Forbidden, "%s cannot be invited to more folders before answering other invitations: ask them to, or share with a group", i.Principal)
		}
	}
	return nil
}

func (r Rules) mostMade() int     { return cmp.Or(r.MostMade, DefaultMostMade) }
func (r Rules) mostReceived() int { return cmp.Or(r.MostReceived, DefaultMostReceived) }
