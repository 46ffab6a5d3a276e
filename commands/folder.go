package commands

import (
	"context"

	"annals/commands/aggregate"
	"annals/commands/foldertree"
	"annals/events"

	"github.com/google/uuid"
)

// CheckImport returns an error unless the user may import files into all of these folder
// paths. The error is fault.Invalid for an invalid path. It is fault.Forbidden if the user
// may not write in the deepest existing folder of a path or, if no folder of the path
// exists, may not create a top-level folder.
func (h *Handler) CheckImport(ctx context.Context, user events.User, folders []string) error {
	h.init()
	var targets []foldertree.Target
	seen := make(map[string]bool)
	for _, folder := range folders {
		if seen[folder] {
			continue
		}
		seen[folder] = true
		to, err := foldertree.Destination{Path: folder}.Split()
		if err != nil {
			return err
		}
		targets = append(targets, to)
	}
	return h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		for _, to := range targets {
			if _, err := t.MayFile(user, to); err != nil {
				return err
			}
		}
		return nil
	})
}

// FindFolder returns the folder of a destination if it exists and the user may write in it.
// found is false if the folder does not exist and the user may create it. The error is
// fault.Forbidden if the user may do neither, and fault.Invalid if the folder d.Under was
// deleted.
func (h *Handler) FindFolder(ctx context.Context, user events.User, d foldertree.Destination) (id uuid.UUID, found bool, err error) {
	h.init()
	to, err := d.Split()
	if err != nil {
		return uuid.Nil, false, err
	}
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		path, err := t.MayFile(user, to)
		if deepest, depth := t.Find(path); err == nil && depth == len(path) {
			id, found = deepest, true
		}
		return err
	})
	return id, found, err
}

// EnsureFolder returns the folder of a destination. It creates the missing folders of its
// path in one append. Its errors are those of FindFolder.
func (h *Handler) EnsureFolder(ctx context.Context, user events.User, cause events.Cause, d foldertree.Destination) (id uuid.UUID, err error) {
	h.init()
	to, err := d.Split()
	if err != nil {
		return uuid.Nil, err
	}
	_, err = h.folders.Do(ctx, aggregate.Command[*foldertree.Tree]{
		Name: "ensure folder", Stream: events.Folders, Cause: cause,
		Decide: foldertree.NewEnsureFolder(user, to).Decide,
		Seen: func(t *foldertree.Tree) {
			path, _ := t.CurrentPath(to)
			id, _ = t.Find(path)
		},
	})
	return id, err
}

// HasFolder reports whether a folder exists. It first waits for running deletions by other
// processes. So a caller who has filed a document in the folder also notices a deletion that
// had not seen the document.
func (h *Handler) HasFolder(ctx context.Context, id uuid.UUID) (exists bool, err error) {
	h.init()
	if err := h.filing.settle(ctx); err != nil {
		return false, err
	}
	err = h.folders.View(ctx, events.Folders, func(t *foldertree.Tree) error {
		exists = len(t.Path(id)) > 0
		return nil
	})
	return exists, err
}
