package commands

import (
	"cmp"
	"context"
	"slices"

	"annals/events"
	"annals/events/fault"

	"github.com/google/uuid"
)

// MaxPermissions is how many entries a folder's permission list has at most.
const MaxPermissions = 1000

// ShareFolder replaces a folder's own permission list. It needs own access;
// whoever made the folder, or moved it to the top level, stays its owner.
type ShareFolder struct {
	ID          uuid.UUID
	Version     int64 // that was read; negative: whatever it is
	Permissions []events.Permission
}

func (c ShareFolder) decide(t *tree, user events.User) ([]events.Data, error) {
	permissions, err := normalizePermissions(c.Permissions)
	if err == nil {
		err = t.need(user, c.ID, events.Own)
	}
	if err == nil {
		err = t.fresh(c.ID, c.Version)
	}
	if err != nil || slices.Equal(t.folders[c.ID].permissions, permissions) {
		return nil, err
	}
	return []events.Data{events.FolderShared{Folder: c.ID, Permissions: permissions}}, nil
}

// ShareFolder carries the command out. A stale version is fault.Conflict.
func (h *Handler) ShareFolder(ctx context.Context, user events.User, correlation string, c ShareFolder) (at events.Position, err error) {
	return h.changeTree(ctx, user, correlation, "share folder", func(t *tree) ([]events.Data, error) { return c.decide(t, user) })
}

// normalizePermissions returns a list as it is kept: ordered by principal,
// so that equal lists are told to be equal.
func normalizePermissions(list []events.Permission) ([]events.Permission, error) {
	if len(list) > MaxPermissions {
		return nil, fault.Errorf(fault.Invalid, "a folder has at most %d permissions, not %d", MaxPermissions, len(list))
	}
	kept := slices.SortedFunc(slices.Values(list), func(a, b events.Permission) int { return cmp.Compare(a.Principal, b.Principal) })
	for i, p := range kept {
		text, err := normalizeText("a principal", string(p.Principal), MaxPrincipal)
		if err != nil {
			return nil, err
		}
		if text != string(p.Principal) || !p.Principal.IsUser() && !p.Principal.IsGroup() {
			return nil, fault.Errorf(fault.Invalid, "%.300q names nobody: a principal is user:<name> or group:<name>, in Unicode form NFC", p.Principal)
		}
		if _, ok := events.ParseAccess(p.Access); !ok {
			return nil, fault.Errorf(fault.Invalid, "%.300q is no access: it is read, write or own", p.Access)
		}
		if i > 0 && kept[i-1].Principal == p.Principal {
			return nil, fault.Errorf(fault.Invalid, "%s has more than one permission", p.Principal)
		}
	}
	return kept, nil
}
