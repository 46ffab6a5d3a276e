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

// MaxPasskeys is how many passkeys a user may have.
const MaxPasskeys = 20

// Passkey is a stored passkey, with what its user sees of it.
type Passkey struct {
	passkey.Credential
	Name          string
	Created, Used time.Time
}

// PasskeyHandle returns the random bytes that identify a user to passkeys. It creates the
// user's row of factors.
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

// PasskeyUser returns a user with all passkeys, for package passkey.
func (a *Store) PasskeyUser(ctx context.Context, user string, handle []byte) (passkey.User, error) {
	stored, err := a.Passkeys(ctx, user)
	u := passkey.User{Handle: handle, Name: user}
	for _, k := range stored {
		u.Credentials = append(u.Credentials, k.Credential)
	}
	return u, err
}

// UserOfPasskey returns the user with that handle, and the hash of the user's password, if the
// user may sign in; "" if there is none.
func (a *Store) UserOfPasskey(ctx context.Context, handle []byte) (name, hash string, err error) {
	err = a.db.Row(ctx, `
		SELECT u.name, u.password FROM users u JOIN factors f ON f."user" = u.name
		WHERE f.handle = $1 AND NOT u.deleted AND NOT u.disabled`, handle).Scan(&name, &hash)
	_, err = isFound(err, "look up the user of a passkey")
	return name, hash, err
}

// AddPasskey stores a new passkey. If the user has too many, or has this one already, it is
// Invalid.
func (a *Store) AddPasskey(ctx context.Context, user, name string, c passkey.Credential, now time.Time) error {
	added, err := a.changes(ctx, fmt.Sprintf("store a passkey of user %q", user), `
		INSERT INTO passkeys (id, "user", name, credential, created)
		SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM passkeys WHERE "user" = $2) < $6 ON CONFLICT (id) DO NOTHING`,
		c.ID, user, name, string(c.JSON), now.UnixMicro(), MaxPasskeys)
	if err != nil {
		return err
	}
	if !added {
		return fault.Errorf(fault.Invalid, "you have %d passkeys already, or this one: remove one first", MaxPasskeys)
	}
	return nil
}

// UsePasskey records the use of a passkey. It reports false if the passkey was removed.
func (a *Store) UsePasskey(ctx context.Context, user string, c passkey.Credential, now time.Time) (bool, error) {
	return a.changes(ctx, fmt.Sprintf("record the use of a passkey of user %q", user),
		`UPDATE passkeys SET credential = $3, used = $4 WHERE id = $1 AND "user" = $2`, c.ID, user, string(c.JSON), now.UnixMicro())
}

// RemovePasskey removes a passkey and returns its name; "" if there is none. Like
// DisableCodes, it keeps the last required factor.
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
