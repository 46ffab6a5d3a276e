package foldertree

import (
	"cmp"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Rules restrict who may share folders with whom, and who may create folders at the top
// level. They apply to new requests only; existing shares and folders stay. They do not
// restrict administrators.
type Rules struct {
	// OpenShares makes a share with a single user take effect immediately. Otherwise it
	// is an invitation, which takes effect when the user accepts it.
	OpenShares bool
	ShareWith  ShareWith
	TopLevel   TopLevel

	// Limits of invitations that are not accepted yet; 0 means the default.
	MaxSent     int // sent by one user
	MaxReceived int // received by one user
}

// ShareWith restricts with whom owners may share their folders.
type ShareWith int

// The zero value is ShareWithAnyone.
const (
	ShareWithAnyone    ShareWith = iota // with any user or group
	ShareWithOwnGroups                  // with any user, and with groups that the owner is a member of
	ShareByAdmins                       // only administrators may share
)

// TopLevel restricts who may create folders at the top level. The zero value allows
// everyone. Everyone may create the inbox and their own folder in it.
type TopLevel struct {
	Restricted bool
	To         events.Principal // a group whose members may, as administrators may; "" means no group
}

// Default limits of invitations that are not accepted yet.
const (
	DefaultMaxSent     = 100
	DefaultMaxReceived = 200
	// maxBetween limits how many invitations from one user to another are not accepted yet.
	maxBetween = 20
)

// immediate reports whether a share takes effect without an invitation.
func (r Rules) immediate(user events.User, with events.Principal) bool {
	return user.Admin || r.OpenShares || !with.IsUser() || with == user.Principal
}

// mayShare returns an error unless a user may share their folders with a principal.
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

// mayInvite returns an error if the new invitations in list exceed the limits of the user or
// of an invited user. The message about an invited user does not reveal whether they
// declined, or whether they exist.
func (t *Tree) mayInvite(user events.User, f *folder, id uuid.UUID, list []events.Invitation) error {
	var added []events.Invitation
	sent := t.countSent(user.Principal, id)
	for _, i := range list {
		if i.By == user.Principal {
			sent++
		}
		if at, ok := f.invitation(i.Principal); !ok || f.invited[at] != i {
			added = append(added, i)
		}
	}
	if limit := t.rules.maxSent(); len(added) > 0 && sent > limit {
		return fault.Errorf(fault.Forbidden, "you can have at most %d unanswered invitations, and with these you would have %d: withdraw some, or share with a group", limit, sent)
	}
	for _, i := range added {
		between := 0
		for other := range t.invitations.to[i.Principal] {
			o := t.folders[other]
			if at, ok := o.invitation(i.Principal); ok && other != id && o.invited[at].By == i.By {
				between++
			}
		}
		limit := t.rules.maxReceived()
		if between >= maxBetween || len(t.invitations.to[i.Principal]) >= limit && t.countReceived(i.Principal, id) >= limit {
			return fault.Errorf(fault.Forbidden, "%s has too many unanswered invitations: ask them to answer some, or share with a group", i.Principal)
		}
	}
	return nil
}

func (r Rules) maxSent() int     { return cmp.Or(r.MaxSent, DefaultMaxSent) }
func (r Rules) maxReceived() int { return cmp.Or(r.MaxReceived, DefaultMaxReceived) }
