// Package foldertree folds the stream of folders into a tree. It computes users' access to
// folders, and decides the commands that create, change, delete and share folders and
// answer invitations. It does no I/O. It imports commands/naming, commands/quota, events,
// events/fault and events/lookalike.
package foldertree

import (
	"iter"
	"slices"
	"strings"

	"annals/events"

	"github.com/google/uuid"
)

// Tree is the tree of all folders, folded from the stream events.Folders.
type Tree struct {
	folders     map[uuid.UUID]*folder
	children    map[uuid.UUID]map[string]uuid.UUID // folders that are not deleted, by parent and name; uuid.Nil is the top level
	byLook      map[lookKey][]uuid.UUID            // folders that are not deleted, by parent and appearance of the name
	invitations invitations
	rules       Rules // for commands; events are applied whatever the rules
	counts      counts
}

type folder struct {
	version     int64 // number of the folder's events
	parent      uuid.UUID
	name        string
	owners      []events.Principal
	permissions []events.Permission // sorted by principal
	invited     []events.Invitation // sorted by principal; nobody is in both invited and permissions
	creator     events.Principal
	sharers     map[events.Principal]events.Principal // for each principal in permissions or invited, the user who added the entry
	uncounted   bool                                  // the folder does not count for its creator any more
	deleted     bool                                  // the folder itself was deleted, not just a folder above it
	deletedAt   events.Position
	// shadowed is another folder with the same parent and name as this one. There can only
	// be one between the two events of a request that renames and moves a folder.
	shadowed uuid.UUID
}

// New returns an empty tree. Commands on it follow the rules.
func New(rules Rules) *Tree {
	return &Tree{
		folders: make(map[uuid.UUID]*folder), children: make(map[uuid.UUID]map[string]uuid.UUID), byLook: make(map[lookKey][]uuid.UUID),
		invitations: newInvitations(), counts: newCounts(), rules: rules,
	}
}

// Apply folds in the next event of the stream.
func (t *Tree) Apply(e events.Event) {
	if created, ok := e.Data.(events.FolderCreated); ok {
		f := &folder{version: 1}
		f.addOwner(created.Owner)
		t.countFolder(f, e.Metadata.Actor)
		t.folders[created.Folder] = f
		t.attach(created.Folder, created.Parent, created.Name)
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
		t.attach(d.Folder, f.parent, d.Name)
	case events.FolderMoved:
		f.addOwner(d.Owner)
		t.attach(d.Folder, d.Parent, f.name)
	case events.FolderShared:
		f.permissions = d.Permissions
		t.setInvitations(d.Folder, d.Invitations)
		t.countShares(f, d, e.Metadata.Actor)
	case events.FolderInvitationAccepted:
		t.removeInvitation(d.Folder, d.Principal)
		f.permissions = withEntry(f.permissions, events.Permission{Principal: d.Principal, Access: d.Access})
	case events.FolderLeft:
		f.permissions = withoutEntry(f.permissions, d.Principal)
		t.uncountShare(f, d.Principal)
	case events.FolderDeleted:
		t.removeInvitationsBelow(d.Folder)
		t.uncount(d.Folder)
		t.detach(d.Folder)
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

// attach puts a folder into a parent under a name.
func (t *Tree) attach(id, parent uuid.UUID, name string) {
	t.detach(id)
	f := t.folders[id]
	f.parent, f.name = parent, name
	if f.deleted {
		return
	}
	if t.children[parent] == nil {
		t.children[parent] = make(map[string]uuid.UUID)
	}
	f.shadowed = t.children[parent][name]
	t.children[parent][name] = id
	t.indexLook(id)
}

func (t *Tree) detach(id uuid.UUID) {
	f := t.folders[id]
	t.unindexLook(id)
	siblings := t.children[f.parent]
	if siblings[f.name] != id {
		return
	}
	delete(siblings, f.name)
	if f.shadowed != uuid.Nil {
		siblings[f.name], f.shadowed = f.shadowed, uuid.Nil
	}
}

// Find returns the deepest existing folder of a path and its depth. If no folder of the path
// exists it returns uuid.Nil and 0.
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

// ancestry yields a folder and the folders above it, starting with the folder itself. If the
// chain does not end at the top level, because of a cycle or an unknown parent, the last
// folder is nil.
func (t *Tree) ancestry(id uuid.UUID) iter.Seq2[uuid.UUID, *folder] {
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

// Path returns the names on the path of a folder. It returns nil for the top level, and if
// a folder on the path is deleted or unknown.
func (t *Tree) Path(id uuid.UUID) (names []string) {
	for _, f := range t.ancestry(id) {
		if f == nil || f.deleted {
			return nil
		}
		names = append(names, f.name)
	}
	slices.Reverse(names)
	return names
}

// ReadablePath is like Path, but starts at the topmost folder that the user may read: the
// user must not see the names above it.
func (t *Tree) ReadablePath(user events.User, id uuid.UUID) []string {
	names := t.Path(id)
	readable := 0
	for step := range t.ancestry(id) {
		if t.Access(user, step) < events.Read {
			break
		}
		readable++
	}
	return names[max(0, len(names)-readable):]
}

// displayPath returns ReadablePath as a string, for messages.
func (t *Tree) displayPath(user events.User, id uuid.UUID) string {
	return strings.Join(t.ReadablePath(user, id), "/")
}

// DeletedBefore reports whether a folder, or a folder above it, was deleted before a
// position. It uses the present folders above: they are the same as at the deletion, because
// nothing below a deleted folder can be moved.
func (t *Tree) DeletedBefore(id uuid.UUID, at events.Position) bool {
	for _, f := range t.ancestry(id) {
		if f == nil || f.deleted && f.deletedAt < at {
			return true
		}
	}
	return false
}

// height returns the number of levels from a folder to the deepest folder below it. Both
// folders count.
func (t *Tree) height(id uuid.UUID) int {
	deepest := 0
	for _, child := range t.children[id] {
		deepest = max(deepest, t.height(child))
	}
	return 1 + deepest
}

// within reports whether the folder id is the folder above, or is somewhere below it.
func (t *Tree) within(id, above uuid.UUID) bool {
	for step := range t.ancestry(id) {
		if step == above {
			return true
		}
	}
	return false
}

func (t *Tree) isInbox(id uuid.UUID) bool {
	return id != uuid.Nil && t.children[uuid.Nil][events.Inbox] == id
}
