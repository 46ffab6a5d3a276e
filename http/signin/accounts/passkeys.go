package accounts

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/events/sqldb"
	"annals/http/signin/passkey"
)

// maxPasskeys is the maximum number of passkeys of a user.
const maxPasskeys = 20

// Passkey is a stored passkey of a user. Name is the name that the user chose for it.
type Passkey struct {
	passkey.Credential
	Name          string
	Created, Used time.Time
}

// PasskeyHandle returns the user's handle: random bytes by which passkeys identify the user.
// The first call creates the handle, with the user's row in the table factors.
func (a *Store) PasskeyHandle(ctx context.Context, user string) (handle []byte, err error) {
	fresh := make([]byte, 32)
	rand.Read(fresh)
	_, err = a.db.Exec(ctx, `INSERT INTO factors ("user", handle) VALUES ($1, $2) ON CONFLICT ("user") DO NOTHING`, user, fresh)
	if err == nil {
		err = a.db.Row(ctx, `SELECT handle FROM factors WHERE "user" = $1`, user).Scan(&handle)
	}
	if err != nil {
		return nil, fmt.Errorf("create the passkey handle of user %q: %w", user, err)
	}
	return handle, nil
}

// Passkeys returns the passkeys of a user, oldest first.
func (a *Store) Passkeys(ctx context.Context, user string) ([]Passkey, error) {
	all, err := sqldb.Collect(ctx, a.db, func(row sqldb.Row) (k Passkey, err error) {
		var text string
		var created, used int64
		err = row.Scan(&k.ID, &text, &k.Name, &created, &used)
		k.JSON, k.Created, k.Used = []byte(text), time.UnixMicro(created).UTC(), time.UnixMicro(used).UTC()
		return k, err
	}, `SELECT id, credential, name, created, used FROM passkeys WHERE "user" = $1 ORDER BY created`, user)
	if err != nil {
		return nil, fmt.Errorf("list the passkeys of user %q: %w", user, err)
	}
	return all, nil
}

// PasskeyUser returns a user and all of the user's passkeys as package passkey needs them.
func (a *Store) PasskeyUser(ctx context.Context, user string, handle []byte) (passkey.User, error) {
	stored, err := a.Passkeys(ctx, user)
	u := passkey.User{Handle: handle, Name: user}
	for _, k := range stored {
		u.Credentials = append(u.Credentials, k.Credential)
	}
	return u, err
}

// UserOfPasskey returns the name and the password hash of the user with a handle. Both are ""
// if there is no such user or the user is disabled.
func (a *Store) UserOfPasskey(ctx context.Context, handle []byte) (name, hash string, err error) {
	err = a.db.Row(ctx, `
		SELECT u.name, u.password FROM users u JOIN factors f ON f."user" = u.name
		WHERE f.handle = $1 AND NOT u.deleted AND NOT u.disabled`, handle).Scan(&name, &hash)
	_, err = isFound(err, "look up the user of a passkey")
	return name, hash, err
}

// AddPasskey stores a new passkey. The error is Invalid if the user already has maxPasskeys or
// this passkey.
func (a *Store) AddPasskey(ctx context.Context, user, name string, c passkey.Credential, now time.Time) error {
	added, err := a.changes(ctx, fmt.Sprintf("store a passkey of user %q", user), `
		INSERT INTO passkeys (id, "user", name, credential, created)
		SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM passkeys WHERE "user" = $2) < $6 ON CONFLICT (id) DO NOTHING`,
		c.ID, user, name, string(c.JSON), now.UnixMicro(), maxPasskeys)
	if err != nil {
		return err
	}
	if !added {
		return fault.Errorf(fault.Invalid, "you already have %d passkeys, or have added this one before: remove one first", maxPasskeys)
	}
	return nil
}

// UsePasskey stores the new state of a passkey, such as its signature counter, after a
// sign-in. It returns false if the passkey was removed meanwhile.
func (a *Store) UsePasskey(ctx context.Context, user string, c passkey.Credential, now time.Time) (bool, error) {
	return a.changes(ctx, fmt.Sprintf("record the use of a passkey of user %q", user),
		`UPDATE passkeys SET credential = $3, used = $4 WHERE id = $1 AND "user" = $2`, c.ID, user, string(c.JSON), now.UnixMicro())
}

// RemovePasskey removes a passkey and returns its name, or "" if the user has no such passkey.
// Like DisableCodes, it returns ErrLastFactor if the user must have a factor and would have
// none left.
func (a *Store) RemovePasskey(ctx context.Context, user string, id []byte, required bool) (name string, err error) {
	err = a.removeFactor(ctx, user, required, func(ctx context.Context, tx *sqldb.Tx) error {
		name = ""
		err := tx.Row(ctx, `DELETE FROM passkeys WHERE id = $1 AND "user" = $2 RETURNING name`, id, user).Scan(&name)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("remove a passkey of user %q: %w", user, err)
	}
	return name, nil
}
