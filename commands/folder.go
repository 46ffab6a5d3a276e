package commands

import (
	"context"
	"slices"
	"strings"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

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

// HasFolder reports whether a folder exists, and all those above it do.
func (h *Handler) HasFolder(ctx context.Context, id uuid.UUID) (exists bool, err error) {
	h.init()
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		exists = len(t.path(id)) > 0
		return nil
	})
	return exists, err
}
