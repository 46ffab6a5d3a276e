package queries

import (
	"context"

	"annals/events"
	"annals/events/fault"
	"annals/projections"

	"github.com/google/uuid"
)

// grantRow is one entry of a folder's permissions.
type grantRow struct {
	principal events.Principal
	access    events.Access
	owner     bool
}

func (g *grantRow) fields() []any { return []any{&g.principal, &g.access, &g.owner} }

// Permissions returns whom a folder is shared with, in order of principal, to
// those who own it. Who may only read it gets fault.Forbidden.
func (q *Queries) Permissions(ctx context.Context, user events.User, folder uuid.UUID) (Permissions, error) {
	v, err := q.viewer(user)
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
	// The version is read first: a list that is newer than it is refused as
	// stale when it comes back, not taken for current.
	var p Permissions
	if err := v.db.QueryRowContext(ctx, `SELECT version FROM folders WHERE id = $1`, folder.String()).Scan(&p.Version); err != nil {
		return Permissions{}, wrap(err, "folder")
	}
	rows, err := projections.List(ctx, v.db, (*grantRow).fields, `SELECT principal, access, owner FROM permissions WHERE folder = $1 ORDER BY principal`, folder.String())
	for _, r := range rows {
		if r.owner {
			p.Owners = append(p.Owners, r.principal)
		} else {
			p.List = append(p.List, events.Permission{Principal: r.principal, Access: r.access.String()})
		}
	}
	return p, wrap(err, "permissions")
}
