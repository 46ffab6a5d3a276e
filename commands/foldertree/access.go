package foldertree

import (
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// Access returns a user's access to a folder: the highest access that the folder or a folder
// above it grants. There is no access to a deleted folder, to folders below it, or to the
// top level.
func (t *Tree) Access(user events.User, id uuid.UUID) events.Access {
	for _, f := range t.ancestry(id) {
		if f == nil || f.deleted {
			return events.NoAccess
		}
	}
	return t.LastAccess(user, id)
}

// LastAccess is like Access, but if the folder was deleted, it returns the access that the
// user had before.
func (t *Tree) LastAccess(user events.User, id uuid.UUID) events.Access {
	granted := events.NoAccess
	if user.Admin && id != uuid.Nil {
		granted = events.Own
	}
	for _, f := range t.ancestry(id) {
		if f == nil {
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

// need returns an error unless a user has at least the given access to a folder. The error
// for a folder that the user may not read is the same as for one that does not exist.
func (t *Tree) need(user events.User, id uuid.UUID, least events.Access) error {
	switch access := t.Access(user, id); {
	case access == events.NoAccess:
		return fault.Errorf(fault.NotFound, "no folder %s", id)
	case access < least:
		return fault.Errorf(fault.Forbidden, "you have %s access to folder %q; this needs %s access", access, t.displayPath(user, id), least)
	}
	return nil
}

// mayPutInto returns an error unless a user may put documents and folders into the folder
// target.
func (t *Tree) mayPutInto(user events.User, target uuid.UUID) error {
	if err := t.need(user, target, events.Write); err != nil {
		return err
	}
	if t.isInbox(target) {
		return fault.Errorf(fault.Forbidden, "nothing can be put directly into %s: use a folder in it", events.Inbox)
	}
	return nil
}

// MayMove returns an error unless a user may move a document or folder from one folder to
// another. access is the user's access to the moved document or folder, and own has its
// owners, without those of the folders above. If the owners of the target folder differ,
// only an owner may move it there. Otherwise a user could become its owner, or remove its
// owners, by moving it.
func (t *Tree) MayMove(user events.User, access events.Access, own []events.Principal, from, to uuid.UUID) error {
	if err := t.mayPutInto(user, to); err != nil {
		return err
	}
	if access < events.Own && !slices.Equal(t.owners(from, own), t.owners(to, own)) {
		return fault.Errorf(fault.Forbidden, "folder %q has other owners: only an owner may move it there", t.displayPath(user, to))
	}
	return nil
}

// owners returns the sorted owners of a document or folder that is in the folder id: the
// given ones, and the owners of that folder and of the folders above.
func (t *Tree) owners(id uuid.UUID, own []events.Principal) []events.Principal {
	all := slices.Clone(own)
	for _, f := range t.ancestry(id) {
		if f == nil {
			break
		}
		all = append(all, f.ownOwners()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ownOwners returns the owners of a folder, without those of the folders above.
func (f *folder) ownOwners() []events.Principal {
	all := slices.Clone(f.owners)
	for _, p := range f.permissions {
		if p.Access == events.Own.String() {
			all = append(all, p.Principal)
		}
	}
	return all
}
