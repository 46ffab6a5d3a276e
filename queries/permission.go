package queries

import (
	"context"

	"annals/events"
	"annals/events/fault"
	"annals/projections"

	"github.com/google/uuid"
)

// grantRow is one entry of a folder's permissions, of nobody where there are
// none.
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

// Permissions returns whom a folder is shared with, in order of principal, to
// those who own it. Who may only read it gets fault.Forbidden.
func (q *Queries) Permissions(ctx context.Context, user events.User, folder uuid.UUID) (Permissions, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return Permissions{}, err
	}
	a, err := v.folder(ctx, folder.String())
	switch {
	case err != nil:
		return Permissions{}, wrap(err, "folder")
	case a.level < events.Read:
		return Permissions{}, notFound("folder", folder)
	case a.level < events.Own:
		return Permissions{}, fault.Errorf(fault.Forbidden, "only an owner of this folder may see whom it is shared with")
	}
	// One statement, so that the version is that of the list.
	rows, err := projections.List(ctx, v.db, (*grantRow).fields, `SELECT f.version, coalesce(p.principal, ''), coalesce(p.access, 0), coalesce(p.owner, 0), coalesce(p.pending, 0)
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
	return p, wrap(err, "permissions")
}

// Access returns what the user may do in a folder and with what is in it. One
// that does not exist or may not be read is fault.NotFound.
func (q *Queries) Access(ctx context.Context, user events.User, folder uuid.UUID) (events.Access, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return events.NoAccess, err
	}
	a, err := v.folder(ctx, folder.String())
	if err != nil || a.level < events.Read {
		return events.NoAccess, orNotFound(err, "folder", folder)
	}
	return a.level, nil
}
