package access

import (
	"context"

	"annals/events"
	"annals/events/fault"
	"annals/projections"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// grantRow is an entry of a folder's permissions. The principal is empty if the folder
// has no permissions.
type grantRow struct {
	version   int64 // of the folder
	principal events.Principal
	access    events.Access
	owner     bool
	pending   bool
}

func (g *grantRow) fields() []any {
	return []any{&g.version, &g.principal, &g.access, &g.owner, &g.pending}
}

// Permissions are the permissions set on a folder itself, without those of the
// folders above it.
type Permissions struct {
	Owners  []events.Principal // owners since the folder's creation; changes of List do not affect them
	List    []events.Permission
	Invited []events.Permission // what users may do once they accept
	Version int64               // of the folder
}

// Permissions returns the permissions of a folder, ordered by principal. A user who may
// read the folder but does not own it gets fault.Forbidden.
func (q *Rights) Permissions(ctx context.Context, user events.User, folder uuid.UUID) (Permissions, error) {
	v, err := New(ctx, q.Models, user)
	if err != nil {
		return Permissions{}, err
	}
	a, err := v.folder(ctx, folder.String())
	switch {
	case err != nil:
		return Permissions{}, freshness.Wrap(err, "folder")
	case a.level < events.Read:
		return Permissions{}, NotFound("folder", folder)
	case a.level < events.Own:
		return Permissions{}, fault.Errorf(fault.Forbidden, "only an owner of this folder may see whom it is shared with")
	}
	// One statement, so that the version matches the permissions.
	rows, err := projections.List(ctx, v.DB, (*grantRow).fields, `SELECT f.version, coalesce(p.principal, ''), coalesce(p.access, 0), coalesce(p.owner, 0), coalesce(p.pending, 0)
		FROM folders f LEFT JOIN (
			SELECT principal, access, owner, 0 AS pending FROM permissions WHERE folder = $1
			UNION ALL SELECT principal, access, 0, 1 FROM invitations WHERE folder = $1) p ON true
		WHERE f.id = $1 ORDER BY p.principal`, folder.String())
	var p Permissions
	for _, r := range rows {
		p.Version = r.version
		switch {
		case r.owner:
			p.Owners = append(p.Owners, r.principal)
		case r.pending:
			p.Invited = append(p.Invited, events.Permission{Principal: r.principal, Access: r.access.String()})
		case r.principal != "":
			p.List = append(p.List, events.Permission{Principal: r.principal, Access: r.access.String()})
		}
	}
	return p, freshness.Wrap(err, "permissions")
}

// Access returns what the user may do with a folder and its contents. The error is
// fault.NotFound if the folder does not exist or the user may not read it.
func (q *Rights) Access(ctx context.Context, user events.User, folder uuid.UUID) (events.Access, error) {
	v, err := New(ctx, q.Models, user)
	if err != nil {
		return events.NoAccess, err
	}
	a, err := v.folder(ctx, folder.String())
	if err != nil || a.level < events.Read {
		return events.NoAccess, OrNotFound(err, "folder", folder)
	}
	return a.level, nil
}

// Granted reports whether a permission lets a user read the contents of a folder,
// without regard to the administrator role.
func (q *Rights) Granted(ctx context.Context, user events.User, folder string) (bool, error) {
	user.Admin = false
	v, err := New(ctx, q.Models, user)
	if err != nil {
		return false, err
	}
	return v.MayRead(ctx, folder)
}
