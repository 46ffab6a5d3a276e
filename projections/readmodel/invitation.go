package readmodel

import (
	"context"
	"errors"

	"annals/events"
	"annals/events/sqldb"

	"github.com/google/uuid"
)

// listed records a change of a folder's permissions or invitations. changed is false if
// the change was already recorded or the folder does not exist.
func (Vault) listed(ctx context.Context, tx Tx, folder uuid.UUID, e events.Event) (changed bool, err error) {
	n, err := tx.Changed(ctx, `UPDATE folders SET updated_at = $2, version = version + 1, revision = $3 WHERE id = $1 AND revision < $3`,
		folder.String(), stamp(e.Metadata.Time), e.Revision)
	return n > 0, err
}

// invite replaces a folder's invitations. Unchanged invitations keep the time of their
// creation.
func (Vault) invite(ctx context.Context, tx Tx, d events.FolderShared, at string) error {
	type invited struct{ principal, inviter, through string }
	was := make(map[invited]int)
	if len(d.Invitations) > 0 {
		type row struct {
			invited
			access int
		}
		rows, err := sqldb.List(ctx, tx, func(r *row) []any { return []any{&r.principal, &r.inviter, &r.through, &r.access} },
			`SELECT principal, inviter, through, access FROM invitations WHERE folder = $1`, d.Folder.String())
		if err != nil {
			return err
		}
		for _, r := range rows {
			was[r.invited] = r.access
		}
	}
	stays := []string{}
	var added []events.Invitation
	for _, i := range d.Invitations {
		access, _ := events.ParseAccess(i.Access)
		if was[invited{string(i.Principal), string(i.By), string(i.Through)}] == int(access) {
			stays = append(stays, string(i.Principal))
		} else {
			added = append(added, i)
		}
	}
	err := tx.Exec(ctx, `DELETE FROM invitations WHERE folder = $1 AND principal NOT IN (SELECT value FROM json_each($2))`, d.Folder.String(), JSONText(stays))
	for _, i := range added {
		access, ok := events.ParseAccess(i.Access)
		if !ok {
			continue
		}
		err = errors.Join(err, tx.Exec(ctx, `INSERT INTO invitations (principal, folder, access, inviter, through, invited_at)
			VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (principal, folder) DO NOTHING`,
			string(i.Principal), d.Folder.String(), int(access), string(i.By), string(i.Through), at))
	}
	return err
}

func (Vault) accept(ctx context.Context, tx Tx, d events.FolderInvitationAccepted) error {
	err := tx.Exec(ctx, `DELETE FROM invitations WHERE folder = $1 AND principal = $2`, d.Folder.String(), string(d.Principal))
	access, ok := events.ParseAccess(d.Access)
	if !ok {
		return err
	}
	return errors.Join(err, tx.Exec(ctx, `INSERT INTO permissions (principal, folder, access, owner) VALUES ($1, $2, $3, 0)
		ON CONFLICT (principal, folder, owner) DO UPDATE SET access = excluded.access`, string(d.Principal), d.Folder.String(), int(access)))
}

// decline hides all invitations of the inviter from the user who declined. The folder
// does not change, because its owners would notice that.
func (Vault) decline(ctx context.Context, tx Tx, d events.FolderInvitationDeclined, at string) error {
	return tx.Exec(ctx, `INSERT INTO blocked (principal, inviter, since) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, string(d.Principal), string(d.By), at)
}

func (Vault) unblock(ctx context.Context, tx Tx, d events.InviterUnblocked) error {
	return tx.Exec(ctx, `DELETE FROM blocked WHERE principal = $1 AND inviter = $2`, string(d.Principal), string(d.By))
}
