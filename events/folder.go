package events

import (
	"strings"

	"github.com/google/uuid"
)

// Inbox is the top-level folder that holds everybody's own. Nobody owns it:
// it comes with the first folder in it.
const Inbox = "Inbox"

// SpaceName returns of a path the folder whose limits hold for what is in it:
// the first, or in the inbox that of a user.
func SpaceName(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	if first == Inbox && rest != "" {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}

// FolderCreated makes a folder. Whoever created a top-level folder owns it.
type FolderCreated struct {
	Folder uuid.UUID `json:"folder"`
	Parent uuid.UUID `json:"parent,omitzero"` // none at the top level
	Name   string    `json:"name"`            // unique among its siblings
	Owner  Principal `json:"owner,omitempty"` // at the top level, and of a user's own folder in the inbox
}

// FolderRenamed gives a folder a new name.
type FolderRenamed struct {
	Folder uuid.UUID `json:"folder"`
	Name   string    `json:"name"`
}

// FolderMoved puts a folder, with all below it, under another parent. Whoever
// moved it to the top level is an owner from then on, beside those there were.
type FolderMoved struct {
	Folder uuid.UUID `json:"folder"`
	Parent uuid.UUID `json:"parent,omitzero"` // none at the top level
	Owner  Principal `json:"owner,omitempty"` // at the top level
}

// Permission is what one principal may do.
type Permission struct {
	Principal Principal `json:"principal"`
	Access    string    `json:"access"` // read, write or own
}

// FolderShared holds a folder's whole permission list from now on; what
// folders above it grant comes on top. Of Invitations nothing is granted until
// they are accepted: they stand apart from Permissions so that a program that
// does not know the field grants nothing by them.
type FolderShared struct {
	Folder      uuid.UUID    `json:"folder"`
	Permissions []Permission `json:"permissions"` // at most 1,000, with Invitations
	Invitations []Invitation `json:"invitations,omitempty"`
}

// Invitation is what one user may do once they accept.
type Invitation struct {
	Principal Principal `json:"principal"` // user:…
	Access    string    `json:"access"`    // read, write or own
	By        Principal `json:"by"`        // who invites
	// Through is the group by which the inviter owns the folder; none where
	// they own it themselves. The invitation holds while that does.
	Through Principal `json:"through,omitempty"`
}

// FolderInvitationAccepted grants a user what a folder's invitation offered.
type FolderInvitationAccepted struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
	Access    string    `json:"access"`
	By        Principal `json:"by"` // who invited
}

// FolderInvitationDeclined says that a user does not want an invitation, and
// is not to see further ones by the same inviter. It stays in the folder's
// list, so that its owners learn nothing.
type FolderInvitationDeclined struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
	By        Principal `json:"by"` // who invited
}

// FolderLeft takes a user's own entry out of a folder's list, at their wish.
type FolderLeft struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
}

// InviterUnblocked lets a user see the invitations of somebody again whose
// invitation they declined.
type InviterUnblocked struct {
	Principal Principal `json:"principal"`
	By        Principal `json:"by"` // who invites
}

// FolderDeleted ends a folder, and hides all that is in it and that still
// arrives there.
type FolderDeleted struct {
	Folder uuid.UUID `json:"folder"`
}

func (FolderCreated) eventType() string { return "FolderCreated" }
func (FolderRenamed) eventType() string { return "FolderRenamed" }
func (FolderMoved) eventType() string   { return "FolderMoved" }
func (FolderShared) eventType() string  { return "FolderShared" }
func (FolderDeleted) eventType() string { return "FolderDeleted" }

func (FolderInvitationAccepted) eventType() string { return "FolderInvitationAccepted" }
func (FolderInvitationDeclined) eventType() string { return "FolderInvitationDeclined" }
func (FolderLeft) eventType() string               { return "FolderLeft" }
func (InviterUnblocked) eventType() string         { return "InviterUnblocked" }
