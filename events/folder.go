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
	Parent uuid.UUID `json:"parent,omitzero"` // absent at the top level
	Name   string    `json:"name"`            // unique among its siblings
	Owner  Principal `json:"owner,omitempty"` // set for folders at the top level and for a user's own folder in the inbox
}

// FolderRenamed gives a folder a new name.
type FolderRenamed struct {
	Folder uuid.UUID `json:"folder"`
	Name   string    `json:"name"`
}

// FolderMoved moves a folder and everything below it to another parent. A user who moves
// a folder to the top level becomes an additional owner.
type FolderMoved struct {
	Folder uuid.UUID `json:"folder"`
	Parent uuid.UUID `json:"parent,omitzero"` // absent at the top level
	Owner  Principal `json:"owner,omitempty"` // set for moves to the top level
}

// Permission is what one principal may do.
type Permission struct {
	Principal Principal `json:"principal"`
	Access    string    `json:"access"` // read, write or own
}

// FolderShared replaces a folder's whole permission list; permissions of the folders
// above it apply in addition. Invitations grant nothing until they are accepted. They
// are separate from Permissions so that programs that do not know the field Invitations
// grant nothing for them.
type FolderShared struct {
	Folder      uuid.UUID    `json:"folder"`
	Permissions []Permission `json:"permissions"` // at most 1,000 together with Invitations
	Invitations []Invitation `json:"invitations,omitempty"`
}

// Invitation offers a user access to a folder. It has no effect until the user accepts.
type Invitation struct {
	Principal Principal `json:"principal"` // user:…
	Access    string    `json:"access"`    // read, write or own
	By        Principal `json:"by"`        // who invites
	// Through is the group through which the inviter owns the folder, or empty if the
	// inviter is an owner personally. The invitation is valid while that ownership lasts.
	Through Principal `json:"through,omitempty"`
}

// FolderInvitationAccepted grants a user what a folder's invitation offered.
type FolderInvitationAccepted struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
	Access    string    `json:"access"`
	By        Principal `json:"by"` // who invited
}

// FolderInvitationDeclined says that a user declined an invitation. Further invitations
// by the same inviter are hidden from the user. The invitation stays in the folder's
// list, so the owners do not see that it was declined.
type FolderInvitationDeclined struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
	By        Principal `json:"by"` // who invited
}

// FolderLeft removes a user's entry from a folder's permission list, at that user's
// request.
type FolderLeft struct {
	Folder    uuid.UUID `json:"folder"`
	Principal Principal `json:"principal"`
}

// InviterUnblocked says that invitations by an inviter, which were hidden after the user
// declined one, are shown to the user again.
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
