package events

import (
	"strings"

	"github.com/google/uuid"
)

// Inbox is the top-level folder that contains each user's own folder for uploads. It has
// no owner and is created with the first folder in it.
const Inbox = "Inbox"

// SpaceName returns the folder on a path whose limits apply to the path: the top-level
// folder or, below the inbox, the user's own folder.
func SpaceName(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	if first == Inbox && rest != "" {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}

// FolderCreated creates a folder. The user who creates a top-level folder owns it.
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

// FolderMoved puts a folder, with all below it, under another parent. A user
// who moves it to the top level becomes an additional owner.
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

// FolderShared replaces a folder's whole permission list; permissions of the folders
// above it apply in addition. Invitations grant nothing until they are accepted. They
// are separate from Permissions so that a program that does not know the field
// grants nothing.
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
	// Through is the group through which the inviter owns the folder, empty if
	// they own it themselves. The invitation is valid while that ownership lasts.
	Through Principal `json:"through,omitempty"`
}

// FolderInvitationAccepted grants a user what a folder's invitation offered.
type FolderInvitationAccepted struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
	Access    string    `json:"access"`
	By        Principal `json:"by"` // who invited
}

// FolderInvitationDeclined says that a user declined an invitation, and is not shown
// further ones by the same inviter. The invitation stays in the folder's list, so the
// owners do not see that it was declined.
type FolderInvitationDeclined struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
	By        Principal `json:"by"` // who invited
}

// FolderLeft removes a user's own entry from a folder's permission list, at their
// request.
type FolderLeft struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
}

// InviterUnblocked says that a user who declined an invitation is shown invitations by
// that inviter again.
type InviterUnblocked struct {
	Principal Principal `json:"principal"`
	By        Principal `json:"by"` // who invites
}

// FolderDeleted ends a folder, and hides everything in it, including what is added
// later.
type FolderDeleted struct {
	Folder uuid.UUID `json:"folder"`
}

func init() {
	register[FolderCreated](1)
	register[FolderRenamed](1)
	register[FolderMoved](1)
	register[FolderShared](1)
	register[FolderDeleted](1)
	register[FolderInvitationAccepted](1)
	register[FolderInvitationDeclined](1)
	register[FolderLeft](1)
	register[InviterUnblocked](1)
}

func (FolderCreated) eventType() string            { return "FolderCreated" }
func (FolderRenamed) eventType() string            { return "FolderRenamed" }
func (FolderMoved) eventType() string              { return "FolderMoved" }
func (FolderShared) eventType() string             { return "FolderShared" }
func (FolderDeleted) eventType() string            { return "FolderDeleted" }
func (FolderInvitationAccepted) eventType() string { return "FolderInvitationAccepted" }
func (FolderInvitationDeclined) eventType() string { return "FolderInvitationDeclined" }
func (FolderLeft) eventType() string               { return "FolderLeft" }
func (InviterUnblocked) eventType() string         { return "InviterUnblocked" }
