package foldertree

import (
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Access returns what a user may do in a folder: the highest access that it, or a folder
// above it, grants. A deleted folder, the folders below it, and the top level grant
// nothing.
func (t *Tree) Access(user events.User, id uuid.UUID) events.Access {
	granted := events.NoAccess
	if user.Admin && id != uuid.Nil {
		granted = events.Own
	}
	for _, f := range t.up(id) {
		if f == nil || f.deleted {
			return events.NoAccess
		}
		granted = max(granted, f.grants(user))
	}
	return granted
}

func (f *folder) grants(user events.User) (granted events.Access) {
	if slices.Contains(f.owners, user.Principal) {
		return events.Own
	}
	for _, p := range f.permissions {
		if p.Principal == user.Principal || slices.Contains(user.Groups, p.Principal) {
			access, _ := events.ParseAccess(p.Access)
			granted = max(granted, access)
		}
	}
	return granted
}

// Need returns an error unless a user has at least this access to a folder. The error for
// a folder that the user may not read is the same as for one that does not exist.
func (t *Tree) Need(user events.User, id uuid.UUID, least events.Access) error {
	switch access := t.Access(user, id); {
	case access == events.NoAccess:
		return fault.Errorf(fault.NotFound, "no folder %s", id)
	case access < least:
		return fault.Errorf(fault.Forbidden, "you have %s access to folder %q; this needs %s access", access, t.shownPath(user, id), least)
	}
	return nil
}

// mayFill returns an error unless a user may put things into a folder.
func (t *Tree) mayFill(user events.User, target uuid.UUID) error {
	if err := t.Need(user, target, events.Write); err != nil {
		return err
	}
	if t.isInbox(target) {
		return fault.Errorf(fault.Forbidden, "%s itself cannot hold documents: put it into a folder there", events.Inbox)
	}
	return nil
}

// MayMove returns an error unless a user may move a document or folder from one folder to
// another. access is the user's access to it, own are the owners it has itself. A user who
// does not own it may only move it between folders with the same owners. Otherwise the
// move could make the user its owner, or remove its owners.
func (t *Tree) MayMove(user events.User, access events.Access, own []events.Principal, from, to uuid.UUID) error {
	if err := t.mayFill(user, to); err != nil {
		return err
	}
	if access < events.Own && !slices.Equal(t.owners(from, own), t.owners(to, own)) {
		return fault.Errorf(fault.Forbidden, "folder %q has other owners: only an owner may move it there", t.shownPath(user, to))
	}
	return nil
}

// owners returns, sorted, the owners of something in a folder: those that it has itself
// (besides), and the owners of the folder and of those above it.
func (t *Tree) owners(id uuid.UUID, besides []events.Principal) []events.Principal {
	all := slices.Clone(besides)
	for _, f := range t.up(id) {
		if f == nil {
			break
		}
		all = append(all, f.own()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// own returns the owners of a folder itself.
func (f *folder) own() []events.Principal {
	all := slices.Clone(f.owners)
	for _, p := range f.permissions {
		if p.Access == events.Own.String() {
			all = append(all, p.Principal)
		}
	}
	return all
}
