package foldertree

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"annals/commands/naming"
	"annals/events"

	"github.com/google/uuid"
)

// Folders returns all folders that were ever created.
func (t *Tree) Folders() []uuid.UUID { return slices.Collect(maps.Keys(t.folders)) }

// Version returns the version of a folder.
func (t *Tree) Version(id uuid.UUID) int64 { return t.folders[id].version }

// Parent returns the folder that a folder is in.
func (t *Tree) Parent(id uuid.UUID) uuid.UUID { return t.folders[id].parent }

// List returns a folder's permissions and owners, without the owners of the folders above.
func (t *Tree) List(id uuid.UUID) ([]events.Permission, []events.Principal) {
	return t.folders[id].permissions, t.folders[id].owners
}

// Owners returns the owners of a folder, including the owners of the folders above it.
func (t *Tree) Owners(id uuid.UUID) []events.Principal { return t.owners(id, nil) }

// Within reports whether a folder is another one, or one of the folders below that.
func (t *Tree) Within(folder, other uuid.UUID) bool { return t.within(folder, other) }

// Rules returns the rules of the tree.
func (t *Tree) Rules() Rules { return t.rules }

// SetIDs sets the ids of the folders that a command creates.
func (c EnsureFolder) SetIDs(ids ...uuid.UUID) EnsureFolder { c.ids = ids; return c }

// Check returns an error unless every index of the tree fits its folders.
func (t *Tree) Check() error {
	indexed := 0
	for _, siblings := range t.children {
		indexed += len(siblings)
	}
	if err := t.CheckLooks(); err != nil {
		return err
	}
	want, created, shared := newInvitations(), map[events.Principal]int64{}, map[events.Principal]int64{}
	for id, f := range t.folders {
		for _, i := range f.invited {
			setMember(want.to, i.Principal, id, true)
			setMember(want.by, i.By, id, true)
			if _, granted := entry(f.permissions, i.Principal); granted {
				return fmt.Errorf("%s is invited to folder %v and has accepted", i.Principal, id)
			}
		}
		if f.deleted {
			continue
		}
		indexed--
		if t.children[f.parent][f.name] != id {
			return fmt.Errorf("folder %v is not indexed as %q of %v", id, f.name, f.parent)
		}
		path := t.Path(id)
		if path == nil {
			continue // a folder above it is deleted
		}
		if found, depth := t.Find(path); found != id || depth != len(path) || depth > naming.MaxSegments {
			return fmt.Errorf("folder %v is not found by its path %q", id, path)
		}
		created[f.creator]++
		if len(f.sharers) != len(f.permissions)+len(f.invited) {
			return fmt.Errorf("%d entries have %d sharers", len(f.permissions)+len(f.invited), len(f.sharers))
		}
		for _, by := range f.sharers {
			shared[by]++
		}
	}
	if indexed != 0 {
		return fmt.Errorf("%d names are indexed that no folder has", indexed)
	}
	if !reflect.DeepEqual(t.invitations.to, want.to) || !reflect.DeepEqual(t.invitations.by, want.by) {
		return fmt.Errorf("invitations are indexed as %v, %v; the folders have %v, %v", t.invitations.to, t.invitations.by, want.to, want.by)
	}
	for who, counted := range map[string][2]map[events.Principal]int64{"folders": {t.counts.folders, created}, "shares": {t.counts.shares, shared}} {
		for p := range counted[0] {
			if counted[0][p] != counted[1][p] {
				return fmt.Errorf("%s is counted with %d %s, but created %d", p, counted[0][p], who, counted[1][p])
			}
		}
	}
	return nil
}

// CheckLooks returns an error unless the index by lookKey has every folder that is not
// deleted exactly once.
func (t *Tree) CheckLooks() error {
	left := 0
	for _, f := range t.folders {
		if !f.deleted {
			left++
		}
	}
	for key, all := range t.byLook {
		for i, id := range all {
			if left--; t.folders[id].lookKey() != key || t.folders[id].deleted || slices.Index(all, id) != i {
				return fmt.Errorf("folder %v is listed under %v", id, key)
			}
		}
	}
	if left != 0 {
		return fmt.Errorf("%d folders are missing from the index", left)
	}
	return nil
}
