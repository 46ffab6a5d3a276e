package accounts

import (
	"context"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
)

// LinkLifetime is how long a password link is valid.
const LinkLifetime = time.Hour

// NewLink returns the secret code for a link with which the user can set a password once,
// within LinkLifetime. It replaces the user's previous link. If the password is changed in
// another way, the link becomes invalid.
func (a *Store) NewLink(ctx context.Context, name string, now time.Time) (code string, err error) {
	account, err := a.Get(ctx, name)
	if err != nil {
		return "", err
	}
	if err := account.mayHavePassword(); err != nil {
		return "", err
	}
	if account.Disabled {
		return "", fault.Errorf(fault.Forbidden, "user %q is disabled", account.Name)
	}
	code = NewSecret()
	_, err = a.db.Exec(ctx, `
		INSERT INTO links (code, "user", expires) VALUES ($1, $2, $3)
		ON CONFLICT ("user") DO UPDATE SET code = excluded.code, expires = excluded.expires`,
		Digest(code), account.Name, now.Add(LinkLifetime).UnixMicro())
	if err != nil {
		return "", fmt.Errorf("store a link for user %q: %w", account.Name, err)
	}
	a.Report(ctx, Event{Kind: LinkCreated, User: account.Name})
	return code, nil
}

// LinkUser returns the user for the code of a link, or "" if the code is wrong, was used, or
// has expired.
func (a *Store) LinkUser(ctx context.Context, code string, now time.Time) (user string, err error) {
	err = a.db.Row(ctx, `SELECT "user" FROM links WHERE code = $1 AND expires > $2`, Digest(code), now.UnixMicro()).Scan(&user)
	_, err = isFound(err, "look up a link")
	return user, err
}

// UseLink sets the password of the link's user and invalidates the link. It returns the hash
// of the new password. used is false if the link was used before or has expired; then the
// password does not change.
func (a *Store) UseLink(ctx context.Context, code, user, password string, now time.Time) (hash string, used bool, err error) {
	if hash, err = hashPassword(ctx, password); err != nil {
		return "", false, err
	}
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		used = false
		n, err := tx.Exec(ctx, `DELETE FROM links WHERE code = $1 AND "user" = $2 AND expires > $3`, Digest(code), user, now.UnixMicro())
		if err != nil || n == 0 {
			return err
		}
		n, err = tx.Exec(ctx, `UPDATE users SET password = $2 WHERE name = $1 AND NOT disabled AND NOT deleted AND NOT service`, user, hash)
		used = n > 0
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("use a link: %w", err)
	}
	if used {
		a.Report(ctx, Event{Kind: PasswordChanged, User: user, Detail: "by a one-time link"})
	}
	return hash, used, nil
}
