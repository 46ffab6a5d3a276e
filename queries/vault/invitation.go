package vault

import (
	"context"
	"time"

	"annals/events"
	"annals/projections"
	"annals/queries/freshness"

	"github.com/google/uuid"
)

// Invitation is an offer to share a folder with a user. Nothing else about the folder is
// shown before the invitation is accepted.
type Invitation struct {
	Folder    uuid.UUID
	Name      string // current name of the folder
	By        events.Principal
	Access    events.Access
	InvitedAt time.Time
}

// Blocked is an inviter whose invitations are hidden from a user who declined one of
// them.
type Blocked struct {
	By    events.Principal
	Since time.Time
}

// mostInvitations is the maximum number of invitations in a listing. Commands allow far
// fewer.
const mostInvitations = 1000

// Invitations returns the user's pending invitations, the newest first. It leaves out
// invitations to deleted folders, and invitations by users who no longer own the folder
// or whom the user has blocked.
func (q *Vault) Invitations(ctx context.Context, user events.User) ([]Invitation, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	type row struct {
		folder, name, by, at string
		access               events.Access
	}
	rows, err := projections.List(ctx, v.DB, func(r *row) []any { return []any{&r.folder, &r.name, &r.by, &r.access, &r.at} }, `
		WITH RECURSIVE up (invited, owner, id, parent, deleted, depth) AS (
			SELECT i.folder, coalesce(nullif(i.through, ''), i.inviter), f.id, f.parent, f.deleted, 0
				FROM invitations i CROSS JOIN folders f WHERE i.principal = $1 AND f.id = i.folder
					AND i.inviter NOT IN (SELECT inviter FROM blocked WHERE principal = $1)
			UNION ALL SELECT up.invited, up.owner, f.id, f.parent, f.deleted | up.deleted, up.depth + 1
				FROM up CROSS JOIN folders f WHERE f.id = up.parent AND up.depth < 100)
		SELECT i.folder, f.name, i.inviter, i.access, i.invited_at FROM invitations i CROSS JOIN folders f
		WHERE i.principal = $1 AND f.id = i.folder
			AND i.folder IN (SELECT invited FROM up WHERE parent = '' AND deleted = 0)
			AND i.folder IN (SELECT up.invited FROM up JOIN permissions p ON p.folder = up.id AND p.principal = up.owner WHERE p.access = $2)
		ORDER BY i.invited_at DESC, i.folder LIMIT CAST($3 AS INTEGER)`, string(user.Principal), int(events.Own), mostInvitations)
	if err != nil {
		return nil, freshness.Wrap(err, "invitations")
	}
	all := make([]Invitation, 0, len(rows))
	for _, r := range rows {
		i := Invitation{Name: r.name, By: events.Principal(r.by), Access: r.access, InvitedAt: parseTime(r.at)}
		if i.Folder, err = uuid.Parse(r.folder); err != nil {
			return nil, freshness.Wrap(err, "invitations")
		}
		all = append(all, i)
	}
	return all, nil
}

// BlockedInviters returns the inviters that the user has blocked, in order.
func (q *Vault) BlockedInviters(ctx context.Context, user events.User) ([]Blocked, error) {
	v, err := q.viewer(ctx, user)
	if err != nil {
		return nil, err
	}
	type row struct{ by, since string }
	rows, err := projections.List(ctx, v.DB, func(r *row) []any { return []any{&r.by, &r.since} },
		`SELECT inviter, since FROM blocked WHERE principal = $1 ORDER BY inviter LIMIT CAST($2 AS INTEGER)`, string(user.Principal), mostInvitations)
	all := make([]Blocked, 0, len(rows))
	for _, r := range rows {
		all = append(all, Blocked{events.Principal(r.by), parseTime(r.since)})
	}
	return all, freshness.Wrap(err, "blocked inviters")
}
