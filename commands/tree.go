package commands

import (
	"iter"
	"slices"
	"strings"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// tree is all folders, folded from the one stream that holds them.
type tree struct {
	folders     map[uuid.UUID]*folder
	children    map[uuid.UUID]map[string]uuid.UUID // by parent and name, deleted ones left out; uuid.Nil is the top
	looks       map[look][]uuid.UUID               // children again, by parent and what their names look like
	invitations invitations
	// rules say what may be decided. What was decided counts whatever they are.
	rules  Rules
	counts counts
}

type folder struct {
	version     int64 // the number of events that made it what it is
	parent      uuid.UUID
	name        string
	owners      []events.Principal
	permissions []events.Permission // in order of principal
	invited     []events.Invitation // in order of principal; nobody is in both lists
	maker       events.Principal
	sharers     map[events.Principal]events.Principal // of both lists: who made the entry of whom
	released    bool                                  // not counted for its maker any more
	deleted     bool                                  // itself; one above it may be
	deletedAt   events.Position                       //
	// hides is another folder of the same parent and name, between two events
	// of one request that renames and moves.
	hides uuid.UUID
}

func newTree() *tree {
	return &tree{folders: make(map[uuid.UUID]*folder), children: make(map[uuid.UUID]map[string]uuid.UUID), looks: make(map[look][]uuid.UUID), invitations: newInvitations(), counts: newCounts()}
}

func newTreeUnder(rules Rules) *tree {
	t := newTree()
	t.rules = rules
	return t
}

func (t *tree) apply(e events.Event) {
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

// place puts a folder under a parent by a name, away from where it was.
func (t *tree) place(id, parent uuid.UUID, name string) {
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

func (t *tree) unplace(id uuid.UUID) {
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

// find follows a path as far as its folders exist: the deepest one, uuid.Nil
// if there is none, and the number of names that led to it.
func (t *tree) find(path []string) (deepest uuid.UUID, depth int) {
	for depth < len(path) {
		id, ok := t.children[deepest][path[depth]]
		if !ok {
			break
		}
		deepest, depth = id, depth+1
	}
	return deepest, depth
}

// up yields a folder and those above it, the outermost last. Where the way
// does not come to the top its end is a nil folder.
func (t *tree) up(id uuid.UUID) iter.Seq2[uuid.UUID, *folder] {
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

// path returns the names on the way to a folder, its own last; none at the
// top, or where one of the folders is deleted or unknown.
func (t *tree) path(id uuid.UUID) (names []string) {
	for _, f := range t.up(id) {
		if f == nil || f.deleted {
			return nil
		}
		names = append(names, f.name)
	}
	slices.Reverse(names)
	return names
}

// readablePath is path from the topmost folder on it that a user may read: the
// names above it are none of his business.
func (t *tree) readablePath(user events.User, id uuid.UUID) []string {
	names := t.path(id)
	readable := 0
	for step := range t.up(id) {
		if t.access(user, step) < events.Read {
			break
		}
		readable++
	}
	return names[max(0, len(names)-readable):]
}

// shownPath is readablePath as a text, for what is said of a folder that the user
// may read.
func (t *tree) shownPath(user events.User, id uuid.UUID) string {
	return strings.Join(t.readablePath(user, id), "/")
}

// goneBefore reports whether a folder was deleted, or one above it was, before
// a position. What is below a deleted folder stays there, so that the way up
// is today what it was then.
func (t *tree) goneBefore(id uuid.UUID, at events.Position) bool {
	for _, f := range t.up(id) {
		if f == nil || f.deleted && f.deletedAt < at {
			return true
		}
	}
	return false
}

// height returns how many names are on the longest path that begins with a
// folder and goes down.
func (t *tree) height(id uuid.UUID) int {
	deepest := 0
	for _, child := range t.children[id] {
		deepest = max(deepest, t.height(child))
	}
	return 1 + deepest
}

// within reports whether a folder is another one, or below it.
func (t *tree) within(id, above uuid.UUID) bool {
	for step := range t.up(id) {
		if step == above {
			return true
		}
	}
	return false
}

func (t *tree) isInbox(id uuid.UUID) bool { return id != uuid.Nil && t.children[uuid.Nil][inbox] == id }

// access returns what a user may do in a folder: what it and those above it
// grant, added up. Nothing is granted in a folder that is deleted, or below
// one that is, and at the top.
func (t *tree) access(user events.User, id uuid.UUID) events.Access {
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

// need returns an error unless a user may do so much in a folder: one that he
// may not even read does not exist for him.
func (t *tree) need(user events.User, id uuid.UUID, least events.Access) error {
	switch access := t.access(user, id); {
	case access == events.NoAccess:
		return fault.Errorf(fault.NotFound, "no folder %s", id)
	case access < least:
		return fault.Errorf(fault.Forbidden, "you have %s access to folder %q; this needs %s access", access, t.shownPath(user, id), least)
	}
	return nil
}

// mayFill returns an error unless a user may put things into a folder.
func (t *tree) mayFill(user events.User, target uuid.UUID) error {
	if err := t.need(user, target, events.Write); err != nil {
		return err
	}
	if t.isInbox(target) {
		return fault.Errorf(fault.Forbidden, "nothing can be put into %s directly", inbox)
	}
	return nil
}

// mayMove returns an error unless a user may move a thing, to which he has
// access and which some own wherever it is, from one folder to another.
// Whoever does not own it leaves it with those who do: he could else make
// himself its owner, or another, and take it from them.
func (t *tree) mayMove(user events.User, access events.Access, own []events.Principal, from, to uuid.UUID) error {
	if err := t.mayFill(user, to); err != nil {
		return err
	}
	if access < events.Own && !slices.Equal(t.owners(from, own), t.owners(to, own)) {
		return fault.Errorf(fault.Forbidden, "folder %q has other owners: only an owner may move it there", t.shownPath(user, to))
	}
	return nil
}

// owners returns, in order, who owns what is in a folder: by it and those
// above it, besides some who do anyway.
func (t *tree) owners(id uuid.UUID, besides []events.Principal) []events.Principal {
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

// own returns who owns a folder by itself.
func (f *folder) own() []events.Principal {
	all := slices.Clone(f.owners)
	for _, p := range f.permissions {
		if p.Access == events.Own.String() {
			all = append(all, p.Principal)
		}
	}
	return all
}
