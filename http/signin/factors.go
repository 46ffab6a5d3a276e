package signin

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/http/signin/otp"
	"annals/http/signin/passkey"
)

// maxPasskeys is how many passkeys a user has.
const maxPasskeys = 20

// Factors are what a user has besides a password.
type Factors struct {
	Required bool // by an operator
	Codes    bool // one-time codes of an app
	Passkeys int
	Recovery int // recovery codes that were not used
}

// any reports whether the user can give a second factor.
func (f Factors) any() bool { return f.Codes || f.Passkeys > 0 }

const selectFactors = `
	SELECT u.name, coalesce(f.required, false), coalesce(f.secret, '') <> '',
		(SELECT count(*) FROM passkeys p WHERE p."user" = u.name), (SELECT count(*) FROM recovery r WHERE r."user" = u.name)
	FROM users u LEFT JOIN factors f ON f."user" = u.name WHERE NOT u.deleted`

func scanFactors(row scanner) (name string, f Factors, err error) {
	err = row.Scan(&name, &f.Required, &f.Codes, &f.Passkeys, &f.Recovery)
	return name, f, err
}

// Factors returns what a user has besides a password, or NotFound.
func (a *Accounts) Factors(ctx context.Context, name string) (Factors, error) {
	_, f, err := scanFactors(a.db.row(ctx, selectFactors+` AND u.name = $1`, normal(name)))
	if errors.Is(err, sql.ErrNoRows) {
		return Factors{}, noUser(name)
	}
	if err != nil {
		return Factors{}, fmt.Errorf("read the factors of user %q: %w", name, err)
	}
	return f, nil
}

// ListFactors returns what all users have besides passwords, by name.
func (a *Accounts) ListFactors(ctx context.Context) (map[string]Factors, error) {
	all := map[string]Factors{}
	_, err := collect(ctx, a.db, func(row scanner) (struct{}, error) {
		name, f, err := scanFactors(row)
		all[name] = f
		return struct{}{}, err
	}, selectFactors)
	if err != nil {
		return nil, fmt.Errorf("list the factors of users: %w", err)
	}
	return all, nil
}

// RequireFactor makes a user give a second factor at each sign-in, or no longer. Who
// has none sets one up at the next; for that, switching it on ends the user's
// browser sessions. Programs stay signed in.
func (a *Accounts) RequireFactor(ctx context.Context, name string, on bool) error {
	account, err := a.Get(ctx, name)
	if err != nil {
		return err
	}
	if _, err := a.handle(ctx, account.Name); err != nil {
		return err
	}
	_, err = a.db.exec(ctx, `UPDATE factors SET required = $2 WHERE "user" = $1`, account.Name, on)
	if err == nil && on {
		_, err = a.db.exec(ctx, `DELETE FROM sessions WHERE "user" = $1`, account.Name)
	}
	if err != nil {
		return fmt.Errorf("require a second factor of user %q: %w", account.Name, err)
	}
	detail := "off"
	if on {
		detail = "on"
	}
	a.observe(ctx, Event{Kind: FactorsRequired, User: account.Name, Detail: detail})
	return nil
}

// ResetFactors removes all that a user has besides the password, and signs the user
// out everywhere: for who has lost the device, and perhaps to somebody. What is
// required stays so.
func (a *Accounts) ResetFactors(ctx context.Context, name string) error {
	account, err := a.Get(ctx, name)
	if err != nil {
		return err
	}
	err = a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		for _, statement := range []string{
			`UPDATE factors SET secret = '', step = 0 WHERE "user" = $1`, `DELETE FROM passkeys WHERE "user" = $1`, `DELETE FROM recovery WHERE "user" = $1`,
		} {
			if _, err := tx.exec(ctx, statement, account.Name); err != nil {
				return err
			}
		}
		return signOut(ctx, tx, account.Name)
	})
	if err != nil {
		return fmt.Errorf("reset the factors of user %q: %w", account.Name, err)
	}
	a.observe(ctx, Event{Kind: FactorsReset, User: account.Name})
	return nil
}

// handle returns the random bytes that name a user to passkeys, and makes the row of
// his factors.
func (a *Accounts) handle(ctx context.Context, user string) (handle []byte, err error) {
	fresh := make([]byte, 32)
	rand.Read(fresh)
	_, err = a.db.exec(ctx, `INSERT INTO factors ("user", handle) VALUES ($1, $2) ON CONFLICT ("user") DO NOTHING`, user, fresh)
	if err == nil {
		err = a.db.row(ctx, `SELECT handle FROM factors WHERE "user" = $1`, user).Scan(&handle)
	}
	if err != nil {
		return nil, fmt.Errorf("name user %q to passkeys: %w", user, err)
	}
	return handle, nil
}

// setSecret switches one-time codes on, after a code of that step, and returns new
// recovery codes. It reports false where they are on already.
func (a *Accounts) setSecret(ctx context.Context, user, secret string, step int64) (codes []string, done bool, err error) {
	if _, err := a.handle(ctx, user); err != nil {
		return nil, false, err
	}
	err = a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		done = false
		n, err := tx.exec(ctx, `UPDATE factors SET secret = $2, step = $3 WHERE "user" = $1 AND secret = ''`, user, secret, step)
		if err != nil || n == 0 {
			return err
		}
		done = true
		codes, err = renewRecovery(ctx, tx, user)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("switch on the one-time codes of user %q: %w", user, err)
	}
	return codes, done, nil
}

// errLastFactor is of a user who would have no factor left, and has to have one.
var errLastFactor = errors.New("it is the last factor, and one is required")

// removeSecret switches one-time codes off; recovery codes go with the last factor.
// Where a factor is required of everybody, or of this user, the last one stays, and
// the error is errLastFactor.
func (a *Accounts) removeSecret(ctx context.Context, user string, required bool) error {
	err := a.removeFactor(ctx, user, required, func(ctx context.Context, tx *transaction) error {
		_, err := tx.exec(ctx, `UPDATE factors SET secret = '', step = 0 WHERE "user" = $1`, user)
		return err
	})
	if err != nil {
		return fmt.Errorf("switch off the one-time codes of user %q: %w", user, err)
	}
	return nil
}

// removeFactor removes a factor as remove does, and the recovery codes of a user who
// has no factor any more. Of several removals at once each sees what the one before
// it has left.
func (a *Accounts) removeFactor(ctx context.Context, user string, required bool, remove func(context.Context, *transaction) error) error {
	return a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		// The row stays locked until the end, also against RequireFactor. Its user has one: handle makes it
		// before the first factor.
		before, err := tx.exec(ctx, `UPDATE factors SET step = step WHERE "user" = $1 AND (secret <> '' OR EXISTS (SELECT 1 FROM passkeys WHERE "user" = $1))`, user)
		if err != nil || before == 0 {
			return err
		}
		if err := remove(ctx, tx); err != nil {
			return err
		}
		left, err := tx.exec(ctx, `UPDATE factors SET step = step
			WHERE "user" = $1 AND (NOT (required OR $2) OR secret <> '' OR EXISTS (SELECT 1 FROM passkeys WHERE "user" = $1))`, user, required)
		if err == nil && left == 0 {
			err = errLastFactor
		}
		if err != nil {
			return err
		}
		return dropRecovery(ctx, tx, user)
	})
}

// dropRecovery removes the recovery codes of a user who has no factor any more.
func dropRecovery(ctx context.Context, tx *transaction, user string) error {
	_, err := tx.exec(ctx, `
		DELETE FROM recovery WHERE "user" = $1 AND NOT EXISTS (SELECT 1 FROM passkeys WHERE "user" = $1)
			AND NOT EXISTS (SELECT 1 FROM factors WHERE "user" = $1 AND secret <> '')`, user)
	return err
}

// newRecovery returns new recovery codes of a user in place of the old.
func (a *Accounts) newRecovery(ctx context.Context, user string) (codes []string, err error) {
	err = a.db.together(ctx, func(ctx context.Context, tx *transaction) (err error) {
		codes, err = renewRecovery(ctx, tx, user)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make recovery codes for user %q: %w", user, err)
	}
	return codes, nil
}

func renewRecovery(ctx context.Context, tx *transaction, user string) ([]string, error) {
	if _, err := tx.exec(ctx, `DELETE FROM recovery WHERE "user" = $1`, user); err != nil {
		return nil, err
	}
	codes := otp.NewRecoveryCodes()
	for _, code := range codes {
		if _, err := tx.exec(ctx, `INSERT INTO recovery (code, "user") VALUES ($1, $2)`, digest(otp.PlainRecovery(code)), user); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

// takeCode takes a one-time code, or a recovery code, once. Of two who send the same
// one is right.
func (a *Accounts) takeCode(ctx context.Context, user, code string, now time.Time) (ok, recovery bool, err error) {
	var n int64
	if plain := otp.PlainRecovery(code); plain != "" {
		n, err = a.db.exec(ctx, `DELETE FROM recovery WHERE code = $1 AND "user" = $2`, digest(plain), user)
		if err != nil {
			return false, false, fmt.Errorf("take a recovery code of user %q: %w", user, err)
		}
		return n > 0, true, nil
	}
	var secret string
	err = a.db.row(ctx, `SELECT secret FROM factors WHERE "user" = $1 AND secret <> ''`, user).Scan(&secret)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("read the secret of user %q: %w", user, err)
	}
	step, right := otp.Step(secret, code, now)
	if !right {
		return false, false, nil
	}
	n, err = a.db.exec(ctx, `UPDATE factors SET step = $2 WHERE "user" = $1 AND secret = $3 AND step < $2`, user, step, secret)
	if err != nil {
		return false, false, fmt.Errorf("take a one-time code of user %q: %w", user, err)
	}
	return n > 0, false, nil
}

// storedPasskey is a passkey with what its user sees of it.
type storedPasskey struct {
	passkey.Credential
	name          string
	created, used time.Time
}

func (a *Accounts) passkeys(ctx context.Context, user string) ([]storedPasskey, error) {
	all, err := collect(ctx, a.db, func(row scanner) (k storedPasskey, err error) {
		var text string
		var created, used int64
		err = row.Scan(&k.ID, &text, &k.name, &created, &used)
		k.JSON, k.created, k.used = []byte(text), time.UnixMicro(created).UTC(), time.UnixMicro(used).UTC()
		return k, err
	}, `SELECT id, credential, name, created, used FROM passkeys WHERE "user" = $1 ORDER BY created`, user)
	if err != nil {
		return nil, fmt.Errorf("list the passkeys of user %q: %w", user, err)
	}
	return all, nil
}

// passkeyUser returns who has passkeys, for package passkey.
func (a *Accounts) passkeyUser(ctx context.Context, user string, handle []byte) (passkey.User, error) {
	stored, err := a.passkeys(ctx, user)
	u := passkey.User{Handle: handle, Name: user}
	for _, k := range stored {
		u.Credentials = append(u.Credentials, k.Credential)
	}
	return u, err
}

// byHandle returns the user who has a handle, and may sign in, with the password's
// hash; the name is "" for nobody.
func (a *Accounts) byHandle(ctx context.Context, handle []byte) (name, hash string, err error) {
	err = a.db.row(ctx, `
		SELECT u.name, u.password FROM users u JOIN factors f ON f."user" = u.name
		WHERE f.handle = $1 AND NOT u.deleted AND NOT u.disabled`, handle).Scan(&name, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", "", fmt.Errorf("look for the user of a passkey: %w", err)
	}
	return name, hash, nil
}

// addPasskey stores a new passkey, unless the user has too many or it is known.
func (a *Accounts) addPasskey(ctx context.Context, user, name string, c passkey.Credential, now time.Time) error {
	n, err := a.db.exec(ctx, `
		INSERT INTO passkeys (id, "user", name, credential, created)
		SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM passkeys WHERE "user" = $2) < $6 ON CONFLICT (id) DO NOTHING`,
		c.ID, user, name, string(c.JSON), now.UnixMicro(), maxPasskeys)
	if err != nil {
		return fmt.Errorf("store a passkey of user %q: %w", user, err)
	}
	if n == 0 {
		return fault.Errorf(fault.Invalid, "you have %d passkeys already, or this one: remove one first", maxPasskeys)
	}
	return nil
}

// usePasskey notes that a passkey was used; it reports false where it is gone.
func (a *Accounts) usePasskey(ctx context.Context, user string, c passkey.Credential, now time.Time) (bool, error) {
	n, err := a.db.exec(ctx, `UPDATE passkeys SET credential = $3, used = $4 WHERE id = $1 AND "user" = $2`, c.ID, user, string(c.JSON), now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("use a passkey of user %q: %w", user, err)
	}
	return n > 0, nil
}

// removePasskey removes a passkey and returns its name; "" where there was none. Of
// the last factor it holds what removeSecret does.
func (a *Accounts) removePasskey(ctx context.Context, user string, id []byte, required bool) (name string, err error) {
	err = a.removeFactor(ctx, user, required, func(ctx context.Context, tx *transaction) error {
		name = ""
		err := tx.QueryRowContext(ctx, `DELETE FROM passkeys WHERE id = $1 AND "user" = $2 RETURNING name`, tx.store.args([]any{id, user})...).Scan(&name)
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

// passwordOf returns the hash of the password of a user who may sign in, or "".
func (a *Accounts) passwordOf(ctx context.Context, name string) (hash string, err error) {
	err = a.db.row(ctx, `SELECT password FROM users WHERE name = $1 AND NOT deleted AND NOT disabled`, name).Scan(&hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("read the password of user %q: %w", name, err)
	}
	return hash, nil
}
