package commands

import (
	"context"
	"slices"
	"strings"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// tree is all folders, folded from the one stream that holds them.
type tree struct {
	folders  map[uuid.UUID]*folder
	children map[uuid.UUID]map[string]uuid.UUID // by parent and name, deleted ones left out; uuid.Nil is the top
}

type folder struct {
	parent      uuid.UUID
	name        string
	owner       events.Principal
	permissions []events.Permission
	deleted     bool // itself; one above it may be
}

func newTree() *tree {
	return &tree{folders: make(map[uuid.UUID]*folder), children: make(map[uuid.UUID]map[string]uuid.UUID)}
}

func (t *tree) apply(e events.Event) {
	switch d := e.Data.(type) {
	case events.FolderCreated:
		t.folders[d.Folder] = &folder{owner: d.Owner}
		t.place(d.Folder, d.Parent, d.Name)
	case events.FolderRenamed:
		if f := t.folders[d.Folder]; f != nil {
			t.place(d.Folder, f.parent, d.Name)
		}
	case events.FolderMoved:
		if f := t.folders[d.Folder]; f != nil {
			t.place(d.Folder, d.Parent, f.name)
		}
	case events.FolderShared:
		if f := t.folders[d.Folder]; f != nil {
			f.permissions = d.Permissions
		}
	case events.FolderDeleted:
		if f := t.folders[d.Folder]; f != nil {
			f.deleted = true
			delete(t.children[f.parent], f.name)
		}
	}
}

// place puts a folder under a parent by a name, away from where it was.
func (t *tree) place(id, parent uuid.UUID, name string) {
	f := t.folders[id]
	if t.children[f.parent][f.name] == id {
		delete(t.children[f.parent], f.name)
	}
	f.parent, f.name = parent, name
	if f.deleted {
		return
	}
	if t.children[parent] == nil {
		t.children[parent] = make(map[string]uuid.UUID)
	}
	t.children[parent][name] = id
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

// access returns what a user may do in a folder: what it and those above it
// grant, added up. Nothing is granted in a folder that is deleted, or below
// one that is.
func (t *tree) access(user events.User, id uuid.UUID) events.Access {
	granted := events.NoAccess
	if user.Admin {
		granted = events.Own
	}
	for steps := 0; id != uuid.Nil; steps++ {
		f := t.folders[id]
		if f == nil || f.deleted || steps > len(t.folders) {
			return events.NoAccess
		}
		granted = max(granted, f.grants(user))
		id = f.parent
	}
	return granted
}

func (f *folder) grants(user events.User) (granted events.Access) {
	if f.owner != "" && f.owner == user.Principal {
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

// mayFile returns an error unless the user may write in the folder of a path,
// or make it. The sentence is the same whatever exists, so that it tells
// nothing.
func (t *tree) mayFile(user events.User, path []string) error {
	deepest, depth := t.find(path)
	allowed := depth == 0 || t.access(user, deepest) >= events.Write
	if path[0] == inbox && depth < min(2, len(path)) {
		// The inbox and the folders in it are made for their users alone.
		allowed = strings.HasPrefix(strings.Join(path, "/")+"/", InboxFolder(user)+"/")
	}
	if !allowed {
		if path[0] == inbox {
			return fault.Errorf(fault.Forbidden, "you may not write in folder %q; your own folder there is %q", strings.Join(path, "/"), InboxFolder(user))
		}
		return fault.Errorf(fault.Forbidden, "you may not write in folder %q", strings.Join(path, "/"))
	}
	return nil
}

// ensureFolder makes what is missing of a path. Whoever makes a top-level
// folder owns it; so does a user the folder of his own in the inbox.
type ensureFolder struct {
	user events.User
	path []string
	// ids are drawn for the folders on the path, one for each. They are
	// random: a folder that was deleted and is made again is another one.
	// Racing makers of one path meet at the expected revision of the stream.
	ids []uuid.UUID
}

func newEnsureFolder(user events.User, path []string) ensureFolder {
	c := ensureFolder{user: user, path: path}
	for range path {
		c.ids = append(c.ids, uuid.New())
	}
	return c
}

func (c ensureFolder) decide(t *tree) (made []events.Data, err error) {
	if err := t.mayFile(c.user, c.path); err != nil {
		return nil, err
	}
	parent, depth := t.find(c.path)
	own := strings.Split(InboxFolder(c.user), "/")
	for ; depth < len(c.path); depth++ {
		created := events.FolderCreated{Folder: c.ids[depth], Parent: parent, Name: c.path[depth]}
		switch {
		case depth == 0 && c.path[0] != inbox, depth == 1 && slices.Equal(c.path[:2], own):
			created.Owner = c.user.Principal
		}
		made = append(made, created)
		parent = created.Folder
	}
	return made, nil
}

// CheckImport returns an error unless files may be imported into all of these
// folder paths: fault.Invalid for a path that cannot be, fault.Forbidden
// where the user may not write in the deepest folder of it that exists. Where
// none of it exists, anyone may.
func (h *Handler) CheckImport(ctx context.Context, user events.User, folders []string) error {
	h.init()
	paths := make([][]string, 0, len(folders))
	seen := make(map[string]bool)
	for _, folder := range folders {
		if seen[folder] {
			continue
		}
		seen[folder] = true
		path, err := splitPath(folder)
		if err != nil {
			return err
		}
		paths = append(paths, path)
	}
	return view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		for _, path := range paths {
			if err := t.mayFile(user, path); err != nil {
				return err
			}
		}
		return nil
	})
}

// FindFolder returns the folder of a path if there is one and the user may
// write in it. found is false where it, or the end of its path, does not
// exist but may be made; what may not is fault.Forbidden.
func (h *Handler) FindFolder(ctx context.Context, user events.User, folder string) (id uuid.UUID, found bool, err error) {
	h.init()
	path, err := splitPath(folder)
	if err != nil {
		return uuid.Nil, false, err
	}
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		deepest, depth := t.find(path)
		if found = depth == len(path); found {
			id = deepest
		}
		return t.mayFile(user, path)
	})
	return id, found, err
}

// EnsureFolder returns the folder of a path, and makes what is missing of it
// in one step.
func (h *Handler) EnsureFolder(ctx context.Context, user events.User, cause events.Cause, folder string) (uuid.UUID, error) {
	h.init()
	path, err := splitPath(folder)
	if err != nil {
		return uuid.Nil, err
	}
	var id uuid.UUID
	_, err = do(ctx, h, h.folders, action[*tree]{
		name: "ensure folder", stream: events.Folders, cause: cause,
		decide: newEnsureFolder(user, path).decide,
		seen:   func(t *tree) { id, _ = t.find(path) },
	})
	return id, err
}

// AccessTo returns what a user may do in a folder.
func (h *Handler) AccessTo(ctx context.Context, user events.User, id uuid.UUID) (access events.Access, err error) {
	h.init()
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		access = t.access(user, id)
		return nil
	})
	return access, err
}
