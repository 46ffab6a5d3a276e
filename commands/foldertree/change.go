package foldertree

import (
	"cmp"

	"annals/commands/naming"
	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// CreateFolder creates a folder. In another folder this needs write access to that folder.
// At the top level the user becomes the owner.
type CreateFolder struct {
	Parent uuid.UUID // uuid.Nil is the top level
	Name   string
}

// Decide returns the event that creates the folder with an id.
func (c CreateFolder) Decide(t *Tree, user events.User, id uuid.UUID) ([]events.Data, error) {
	name, err := naming.FolderName(c.Name)
	if err != nil {
		return nil, err
	}
	created := events.FolderCreated{Folder: id, Parent: c.Parent, Name: name}
	switch {
	case c.Parent == uuid.Nil:
		created.Owner = user.Principal
		err = t.rules.mayMakeTop(user)
	default:
		err = t.mayPutInto(user, c.Parent)
	}
	if err == nil {
		err = t.mayName(c.Parent, name)
	}
	if err == nil {
		err = t.checkPlace(id, c.Parent, name)
	}
	if err == nil {
		err = t.checkAlike(user, id, c.Parent, name)
	}
	if err != nil {
		return nil, err
	}
	return []events.Data{created}, nil
}

// mayName returns an error for the reserved name of the inbox at the top level.
func (t *Tree) mayName(parent uuid.UUID, name string) error {
	if parent == uuid.Nil && name == events.Inbox {
		return fault.Errorf(fault.Forbidden, "the name %s is reserved at the top level: choose another one", events.Inbox)
	}
	return nil
}

// ChangeFolder renames a folder, moves it, or both. The user needs access events.Write to
// the folder and to the new parent. For a move to the top level the user needs access
// events.Own to the folder.
type ChangeFolder struct {
	ID      uuid.UUID
	Version int64 // the version that the caller read; negative means any
	Name    *string
	Parent  *uuid.UUID // uuid.Nil is the top level
}

// Decide returns the events of the command, none if nothing changes.
func (c ChangeFolder) Decide(t *Tree, user events.User) (data []events.Data, err error) {
	rename := ""
	if c.Name != nil {
		if rename, err = naming.FolderName(*c.Name); err != nil {
			return nil, err
		}
	}
	if err := t.need(user, c.ID, events.Write); err != nil {
		return nil, err
	}
	f := t.folders[c.ID]
	name, parent := cmp.Or(rename, f.name), f.parent
	if c.Parent != nil {
		parent = *c.Parent
	}
	if err := c.allowed(t, user, name, parent); err != nil {
		return nil, err
	}
	if err := t.fresh(c.ID, c.Version); err != nil {
		return nil, err
	}
	if name != f.name {
		data = append(data, events.FolderRenamed{Folder: c.ID, Name: name})
	}
	if parent != f.parent {
		moved := events.FolderMoved{Folder: c.ID, Parent: parent}
		if parent == uuid.Nil {
			moved.Owner = user.Principal
		}
		data = append(data, moved)
	}
	if len(data) > 0 {
		err = t.checkPlace(c.ID, parent, name)
	}
	if len(data) > 0 && err == nil {
		err = t.checkAlike(user, c.ID, parent, name)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// allowed returns an error unless a user with write access to the folder may change its name
// and parent to these.
func (c ChangeFolder) allowed(t *Tree, user events.User, name string, parent uuid.UUID) error {
	f := t.folders[c.ID]
	renamed, moved := name != f.name, parent != f.parent
	switch {
	case t.isInbox(c.ID):
		return fault.Errorf(fault.Forbidden, "%s cannot be renamed or moved", events.Inbox)
	case renamed && !moved && t.isInbox(f.parent):
		return fault.Errorf(fault.Forbidden, "folders in %s cannot be renamed: they have the names of their users", events.Inbox)
	case !moved:
	case parent != uuid.Nil:
		if err := t.MayMove(user, t.Access(user, c.ID), f.ownOwners(), f.parent, parent); err != nil {
			return err
		}
	case t.Access(user, c.ID) < events.Own:
		return fault.Errorf(fault.Forbidden, "only an owner may move folder %q to the top level", f.name)
	default:
		if err := t.rules.mayMakeTop(user); err != nil {
			return err
		}
	}
	return t.mayName(parent, name)
}

// DeleteFolder deletes a folder and everything in it. The user needs access events.Own to
// the folder.
type DeleteFolder struct {
	ID        uuid.UUID
	Version   int64 // the version that the caller read; negative means any
	Recursive bool  // otherwise only an empty folder can be deleted
}

// Decide returns the event of the command. The caller must check that the folder contains
// no documents: the tree has only folders.
func (c DeleteFolder) Decide(t *Tree, user events.User) ([]events.Data, error) {
	if err := t.need(user, c.ID, events.Own); err != nil {
		return nil, err
	}
	if t.isInbox(c.ID) {
		return nil, fault.Errorf(fault.Forbidden, "%s cannot be deleted", events.Inbox)
	}
	if err := t.fresh(c.ID, c.Version); err != nil {
		return nil, err
	}
	if len(t.children[c.ID]) > 0 && !c.Recursive {
		return nil, t.NotEmpty(c.ID)
	}
	return []events.Data{events.FolderDeleted{Folder: c.ID}}, nil
}
