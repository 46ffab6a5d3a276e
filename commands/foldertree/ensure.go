package foldertree

import (
	"slices"
	"strings"

	"annals/commands/naming"
	"annals/events"

	"github.com/google/uuid"
)

// EnsureFolder creates the missing folders of a path. The user becomes the owner of a new
// top-level folder, and of their own folder in the inbox.
type EnsureFolder struct {
	user events.User
	to   Target
	// ids has one id for each name of the path, for the folders to be created. They are
	// random, because a folder created after the deletion of one with the same path is
	// a different folder. If several commands create the same path concurrently, the
	// expected revision of the stream lets only one succeed.
	ids []uuid.UUID
}

// NewEnsureFolder returns the command with random ids for the folders that it creates.
func NewEnsureFolder(user events.User, to Target) EnsureFolder {
	c := EnsureFolder{user: user, to: to}
	for range to.names {
		c.ids = append(c.ids, uuid.New())
	}
	return c
}

// Decide returns the events that create the missing folders.
func (c EnsureFolder) Decide(t *Tree) (data []events.Data, err error) {
	path, err := t.MayFile(c.user, c.to)
	if err != nil {
		return nil, err
	}
	above := len(path) - len(c.ids) // depth of the existing folder below which c.ids create folders
	parent, depth := t.Find(path)
	own := strings.Split(naming.InboxFolder(c.user), "/")
	for ; depth < len(path); depth++ {
		if err := t.checkAlike(c.user, uuid.Nil, parent, path[depth]); err != nil {
			return nil, err
		}
		created := events.FolderCreated{Folder: c.ids[depth-above], Parent: parent, Name: path[depth]}
		switch {
		case depth == 0 && path[0] != events.Inbox, depth == 1 && slices.Equal(path[:2], own):
			created.Owner = c.user.Principal
		}
		data = append(data, created)
		parent = created.Folder
	}
	return data, nil
}
