package events

import "github.com/google/uuid"

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
// folders above it grant comes on top.
type FolderShared struct {
	Folder      uuid.UUID    `json:"folder"`
	Permissions []Permission `json:"permissions"` // at most 1,000
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
