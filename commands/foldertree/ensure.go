package foldertree

import (
	"slices"
	"strings"

	"annals/commands/naming"
	"annals/events"

	"github.com/google/uuid"
)

// EnsureFolder creates the missing folders of a path. Its user becomes the owner of a
// top-level folder, and of their own folder in the inbox.
type EnsureFolder struct {
	user events.User
	to   Target
	// ids are for the folders that may have to be created, one for each name. They
	// are random, because a folder that is created again after its deletion is
	// another one. If several commands create the same path at once, they conflict
	// at the expected revision of the stream.
	ids []uuid.UUID
}

// NewEnsureFolder returns the command for a user, with ids for the folders it creates.
func NewEnsureFolder(user events.User, to Target) EnsureFolder {
	c := EnsureFolder{user: user, to: to}
	for range to.names {
		c.ids = append(c.ids, uuid.New())
	}
	return c
}

// Decide returns the events that create the missing folders.
func (c EnsureFolder) Decide(t *Tree) (made []events.Data, err error) {
	path, err := t.MayFile(c.user, c.to)
	if err != nil {
		return nil, err
	}
	above := len(path) - len(c.ids) // number of names above the target's own
	parent, depth := t.Find(path)
	own := strings.Split(naming.InboxFolder(c.user), "/")
	for ; depth < len(path); depth++ {
		if err := t.unlike(c.user, uuid.Nil, parent, path[depth]); err != nil {
			return nil, err
		}
		created := events.FolderCreated{Folder: c.ids[depth-above], Parent: parent, Name: path[depth]}
		switch {
		case depth == 0 && path[0] != events.Inbox, depth == 1 && slices.Equal(path[:2], own):
			created.Owner = c.user.Principal
		}
		made = append(made, created)
		parent = created.Folder
	}
	return made, nil
}
