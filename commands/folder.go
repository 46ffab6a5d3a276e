package commands

import (
	"context"
	"slices"
	"strings"

	"annals/events"

	"github.com/google/uuid"
)

// ensureFolder makes what is missing of a folder's path. Whoever makes a
// top-level folder owns it; so does a user the folder of his own in the inbox.
type ensureFolder struct {
	user events.User
	to   destination
	// ids are drawn for the folders that may have to be made, one for each
	// name. They are random: a folder that was deleted and is made again is
	// another one. Racing makers of one path meet at the expected revision of
	// the stream.
	ids []uuid.UUID
}

func newEnsureFolder(user events.User, to destination) ensureFolder {
	c := ensureFolder{user: user, to: to}
	for range to.names {
		c.ids = append(c.ids, uuid.New())
	}
	return c
}

func (c ensureFolder) decide(t *tree) (made []events.Data, err error) {
	path, err := t.mayFile(c.user, c.to)
	if err != nil {
		return nil, err
	}
	above := len(path) - len(c.ids) // names of folders that were there
	parent, depth := t.find(path)
	own := strings.Split(InboxFolder(c.user), "/")
	for ; depth < len(path); depth++ {
		if err := t.unlike(c.user, uuid.Nil, parent, path[depth]); err != nil {
			return nil, err
		}
		created := events.FolderCreated{Folder: c.ids[depth-above], Parent: parent, Name: path[depth]}
		switch {
		case depth == 0 && path[0] != inbox, depth == 1 && slices.Equal(path[:2], own):
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
	var asked []destination
	seen := make(map[string]bool)
	for _, folder := range folders {
		if seen[folder] {
			continue
		}
		seen[folder] = true
		to, err := Destination{Path: folder}.split()
		if err != nil {
			return err
		}
		asked = append(asked, to)
	}
	return view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		for _, to := range asked {
			if _, err := t.mayFile(user, to); err != nil {
				return err
			}
		}
		return nil
	})
}

// FindFolder returns the folder of a destination if there is one and the user
// may write in it. found is false where it, or the end of its path, does not
// exist but may be made; what may not is fault.Forbidden, and a folder that
// it was to be under and that is gone, fault.Invalid.
func (h *Handler) FindFolder(ctx context.Context, user events.User, d Destination) (id uuid.UUID, found bool, err error) {
	h.init()
	to, err := d.split()
	if err != nil {
		return uuid.Nil, false, err
	}
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		path, err := t.mayFile(user, to)
		if deepest, depth := t.find(path); err == nil && depth == len(path) {
			id, found = deepest, true
		}
		return err
	})
	return id, found, err
}

// EnsureFolder returns the folder of a destination, and makes what is missing
// of its path in one step. Its errors are those of FindFolder.
func (h *Handler) EnsureFolder(ctx context.Context, user events.User, cause events.Cause, d Destination) (id uuid.UUID, err error) {
	h.init()
	to, err := d.split()
	if err != nil {
		return uuid.Nil, err
	}
	_, err = do(ctx, h, h.folders, action[*tree]{
		name: "ensure folder", stream: events.Folders, cause: cause,
		decide: newEnsureFolder(user, to).decide,
		seen: func(t *tree) {
			path, _ := t.wayTo(to)
			id, _ = t.find(path)
		},
	})
	return id, err
}

// HasFolder reports whether a folder exists, and all those above it do. Asked
// after something was filed in it, a deletion that did not see that counts.
func (h *Handler) HasFolder(ctx context.Context, id uuid.UUID) (exists bool, err error) {
	h.init()
	if err := h.filing.settle(ctx); err != nil {
		return false, err
	}
	err = view(ctx, h, h.folders, events.Folders, func(t *tree) error {
		exists = len(t.path(id)) > 0
		return nil
	})
	return exists, err
}
