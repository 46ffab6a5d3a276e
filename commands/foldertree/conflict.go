package foldertree

import (
	"annals/commands/naming"
	"annals/events/fault"

	"github.com/google/uuid"
)

// checkPlace returns an error unless a new or existing folder can be put into a parent
// under a name.
func (t *Tree) checkPlace(id, parent uuid.UUID, name string) error {
	if t.within(parent, id) {
		return fault.Errorf(fault.Conflict, "folder %q cannot be moved into itself, or below itself", t.folders[id].name)
	}
	if taken, ok := t.children[parent][name]; ok && taken != id {
		return fault.Errorf(fault.Conflict, "the name %q is taken in this folder", name)
	}
	if n := len(t.Path(parent)) + t.height(id); n > naming.MaxSegments {
		return fault.Errorf(fault.Invalid, "a folder path has at most %d names, not %d", naming.MaxSegments, n)
	}
	return nil
}

// fresh returns an error unless a folder is still at the version that the caller read. A
// negative version means any.
func (t *Tree) fresh(id uuid.UUID, version int64) error {
	if current := t.folders[id].version; version >= 0 && version != current {
		return fault.Errorf(fault.Conflict, "folder %q is at version %d, not %d", t.folders[id].name, current, version)
	}
	return nil
}

// NotEmpty returns the error for deleting a folder that is not empty.
func (t *Tree) NotEmpty(id uuid.UUID) error {
	return fault.Errorf(fault.Conflict, "folder %q is not empty: empty it first, or delete it with everything in it (recursive=true)", t.folders[id].name)
}
