// Package foldertree holds the tree of all folders, folded from one stream. It computes
// what each user may do in which folder, and decides the commands that create, change,
// delete and share folders, and those on invitations. It does no I/O. It imports
// commands/naming, commands/quota, events, events/fault and events/lookalike.
package foldertree

import (
	"iter"
	"slices"
	"strings"

	"annals/events"

	"github.com/google/uuid"
)

// Tree is all folders, folded from the one stream that holds them.
type Tree struct {
	folders     map[uuid.UUID]*folder
	children    map[uuid.UUID]map[string]uuid.UUID // by parent and name, without deleted ones; uuid.Nil is the top level
	looks       map[look][]uuid.UUID               // children by parent and look of the name
	invitations invitations
	// rules restrict new decisions. Past ones are valid under any rules.
	rules  Rules
	counts counts
}

type folder struct {
	version     int64 // number of its events
	parent      uuid.UUID
	name        string
	owners      []events.Principal
	permissions []events.Permission // in order of principal
	invited     []events.Invitation // in order of principal; nobody is in both lists
	maker       events.Principal
	sharers     map[events.Principal]events.Principal // who added each principal's entry to either list
	released    bool                                  // no longer counted for its maker
	deleted     bool                                  // this folder itself was deleted, not one above it
	deletedAt   events.Position
	// hides is another folder with the same parent and name. It exists only between
	// two events of one request that renames and moves a folder.
	hides uuid.UUID
}

// New returns the tree of an empty stream, whose decisions follow the rules.
func New(rules Rules) *Tree {
	return &Tree{
		folders: make(map[uuid.UUID]*folder), children: make(map[uuid.UUID]map[string]uuid.UUID), looks: make(map[look][]uuid.UUID),
		invitations: newInvitations(), counts: newCounts(), rules: rules,
	}
}

// Apply folds the next event in.
func (t *Tree) Apply(e events.Event) {
	if created, ok := e.Data.(events.FolderCreated); ok {
		f := &folder{version: 1}
		f.addOwner(created.Owner)
		t.charge(f, e.Metadata.Actor)
		t.folders[created.Folder] = f
		t.place(created.Folder, created.Parent, created.Name)
		return
	}
	if t.applyHidden(e.Data) {
		return
	}
	f := t.folders[subject(e.Data)]
	if f == nil {
		return
	}
	f.version++
	switch d := e.Data.(type) {
	case events.FolderRenamed:
		t.place(d.Folder, f.parent, d.Name)
	case events.FolderMoved:
		f.addOwner(d.Owner)
		t.place(d.Folder, d.Parent, f.name)
	case events.FolderShared:
		f.permissions = d.Permissions
		t.invite(d.Folder, d.Invitations)
		t.chargeShares(f, d, e.Metadata.Actor)
	case events.FolderInvitationAccepted:
		t.uninvite(d.Folder, d.Principal)
		f.permissions = withEntry(f.permissions, events.Permission{Principal: d.Principal, Access: d.Access})
	case events.FolderLeft:
		f.permissions = withoutEntry(f.permissions, d.Principal)
		t.dropShare(f, d.Principal)
	case events.FolderDeleted:
		t.uninviteBelow(d.Folder)
		t.release(d.Folder)
		t.unplace(d.Folder)
		f.deleted, f.deletedAt = true, e.Position
	}
}

// subject returns the folder that an event changes.
func subject(data events.Data) uuid.UUID {
	switch d := data.(type) {
	case events.FolderRenamed:
		return d.Folder
	case events.FolderMoved:
		return d.Folder
	case events.FolderShared:
		return d.Folder
	case events.FolderInvitationAccepted:
		return d.Folder
	case events.FolderLeft:
		return d.Folder
	case events.FolderDeleted:
		return d.Folder
	}
	return uuid.Nil
}

func (f *folder) addOwner(p events.Principal) {
	if p != "" && !slices.Contains(f.owners, p) {
		f.owners = append(f.owners, p)
	}
}

// place puts a folder into a parent under a name.
func (t *Tree) place(id, parent uuid.UUID, name string) {
	t.unplace(id)
	f := t.folders[id]
	f.parent, f.name = parent, name
	if f.deleted {
		return
	}
	if t.children[parent] == nil {
		t.children[parent] = make(map[string]uuid.UUID)
	}
	f.hides = t.children[parent][name]
	t.children[parent][name] = id
	t.show(id)
}

func (t *Tree) unplace(id uuid.UUID) {
	f := t.folders[id]
	t.unshow(id)
	siblings := t.children[f.parent]
	if siblings[f.name] != id {
		return
	}
	delete(siblings, f.name)
	if f.hides != uuid.Nil {
		siblings[f.name], f.hides = f.hides, uuid.Nil
	}
}

// Find follows a path as far as its folders exist. It returns the deepest one, uuid.Nil
// if none exists, and its depth in the path.
func (t *Tree) Find(path []string) (deepest uuid.UUID, depth int) {
	for depth < len(path) {
		id, ok := t.children[deepest][path[depth]]
		if !ok {
			break
		}
		deepest, depth = id, depth+1
	}
	return deepest, depth
}

// up yields a folder and those above it, the outermost last. If the chain does not end at
// the top level, the last folder is nil.
func (t *Tree) up(id uuid.UUID) iter.Seq2[uuid.UUID, *folder] {
	return func(yield func(uuid.UUID, *folder) bool) {
		for steps := 0; id != uuid.Nil; steps++ {
			f := t.folders[id]
			if steps > len(t.folders) {
				f = nil
			}
			if !yield(id, f) || f == nil {
				return
			}
			id = f.parent
		}
	}
}

// Path returns the names of the folders above a folder and its own, which is last. It
// returns nil for the top level, and if one of the folders is deleted or unknown.
func (t *Tree) Path(id uuid.UUID) (names []string) {
	for _, f := range t.up(id) {
		if f == nil || f.deleted {
			return nil
		}
		names = append(names, f.name)
	}
	slices.Reverse(names)
	return names
}

// ReadablePath is like Path, but starts at the topmost folder that the user may read,
// because the user must not see the names above it.
func (t *Tree) ReadablePath(user events.User, id uuid.UUID) []string {
	names := t.Path(id)
	readable := 0
	for step := range t.up(id) {
		if t.Access(user, step) < events.Read {
			break
		}
		readable++
	}
	return names[max(0, len(names)-readable):]
}

// shownPath returns ReadablePath as a string, for messages.
func (t *Tree) shownPath(user events.User, id uuid.UUID) string {
	return strings.Join(t.ReadablePath(user, id), "/")
}

// GoneBefore reports whether a folder, or one above it, was deleted before a position.
// Folders below a deleted folder cannot be moved, so its parents are still the same.
func (t *Tree) GoneBefore(id uuid.UUID, at events.Position) bool {
	for _, f := range t.up(id) {
		if f == nil || f.deleted && f.deletedAt < at {
			return true
		}
	}
	return false
}

// height returns the number of names on the longest path down from a folder, including
// the folder.
func (t *Tree) height(id uuid.UUID) int {
	deepest := 0
	for _, child := range t.children[id] {
		deepest = max(deepest, t.height(child))
	}
	return 1 + deepest
}

// within reports whether a folder is the folder above, or below it.
func (t *Tree) within(id, above uuid.UUID) bool {
	for step := range t.up(id) {
		if step == above {
			return true
		}
	}
	return false
}

func (t *Tree) isInbox(id uuid.UUID) bool {
	return id != uuid.Nil && t.children[uuid.Nil][events.Inbox] == id
}
