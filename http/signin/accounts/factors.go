package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"annals/events/sqldb"
	"annals/http/signin/otp"
)

// Factors are the second factors of a user.
type Factors struct {
	Required bool // whether an operator requires this user to have a second factor
	Codes    bool // whether one-time codes of an authenticator app are enabled
	Passkeys int
	Recovery int // number of unused recovery codes
}

// Any reports whether the user has a second factor.
func (f Factors) Any() bool { return f.Codes || f.Passkeys > 0 }

const selectFactors = `
	SELECT u.name, coalesce(f.required, false), coalesce(f.secret, '') <> '',
		(SELECT count(*) FROM passkeys p WHERE p."user" = u.name), (SELECT count(*) FROM recovery r WHERE r."user" = u.name)
	FROM users u LEFT JOIN factors f ON f."user" = u.name WHERE NOT u.deleted`

func scanFactors(row sqldb.Row) (name string, f Factors, err error) {
	err = row.Scan(&name, &f.Required, &f.Codes, &f.Passkeys, &f.Recovery)
	return name, f, err
}

// Factors returns the factors of a user. The error is NotFound if there is no user with that
// name.
func (a *Store) Factors(ctx context.Context, name string) (Factors, error) {
	_, f, err := scanFactors(a.db.Row(ctx, selectFactors+` AND u.name = $1`, NormalName(name)))
	if errors.Is(err, sql.ErrNoRows) {
		return Factors{}, noUser(name)
	}
	if err != nil {
		return Factors{}, fmt.Errorf("read the factors of user %q: %w", name, err)
	}
	return f, nil
}

// ListFactors returns the factors of each user, keyed by user name.
func (a *Store) ListFactors(ctx context.Context) (map[string]Factors, error) {
	all := map[string]Factors{}
	_, err := sqldb.Collect(ctx, a.db, func(row sqldb.Row) (struct{}, error) {
		name, f, err := scanFactors(row)
		all[name] = f
		return struct{}{}, err
	}, selectFactors)
	if err != nil {
		return nil, fmt.Errorf("list the factors of users: %w", err)
	}
	return all, nil
}

// RequireFactor sets whether a user must have a second factor. If on is true, the user's
// sessions end. At the next sign-in, a user without a second factor has to set one up. Grants
// stay valid.
func (a *Store) RequireFactor(ctx context.Context, name string, on bool) error {
	account, err := a.Get(ctx, name)
	if err != nil {
		return err
	}
	if _, err := a.PasskeyHandle(ctx, account.Name); err != nil {
		return err
	}
	_, err = a.db.Exec(ctx, `UPDATE factors SET required = $2 WHERE "user" = $1`, account.Name, on) // PasskeyHandle created the row
	if err == nil && on {
		_, err = a.db.Exec(ctx, `DELETE FROM sessions WHERE "user" = $1`, account.Name)
	}
	if err != nil {
		return fmt.Errorf("require a second factor of user %q: %w", account.Name, err)
	}
	detail := "off"
	if on {
		detail = "on"
	}
	a.Report(ctx, Event{Kind: FactorsRequired, User: account.Name, Detail: detail})
	return nil
}

// ResetFactors removes all second factors of a user. It also ends all sessions and grants of
// the user, because the device with the factors may have been stolen. Whether a factor is
// required does not change.
func (a *Store) ResetFactors(ctx context.Context, name string) error {
	account, err := a.Get(ctx, name)
	if err != nil {
		return err
	}
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, statement := range []string{
			`UPDATE factors SET secret = '', step = 0 WHERE "user" = $1`, `DELETE FROM passkeys WHERE "user" = $1`, `DELETE FROM recovery WHERE "user" = $1`,
		} {
			if _, err := tx.Exec(ctx, statement, account.Name); err != nil {
				return err
			}
		}
		return signOut(ctx, tx, account.Name)
	})
	if err != nil {
		return fmt.Errorf("reset the factors of user %q: %w", account.Name, err)
	}
	a.Report(ctx, Event{Kind: FactorsReset, User: account.Name})
	return nil
}

// EnableCodes enables one-time codes and returns new recovery codes. The user has proved to
// have the secret by a code; step is the time step of that code, which cannot be used again.
// done is false if one-time codes were already enabled.
func (a *Store) EnableCodes(ctx context.Context, user, secret string, step int64) (codes []string, done bool, err error) {
	if _, err := a.PasskeyHandle(ctx, user); err != nil {
		return nil, false, err
	}
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		done = false
		n, err := tx.Exec(ctx, `UPDATE factors SET secret = $2, step = $3 WHERE "user" = $1 AND secret = ''`, user, secret, step)
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

// ErrLastFactor means that a user's last factor cannot be removed, because the user must have
// one.
var ErrLastFactor = errors.New("a second factor is required, and this is the last one")

// DisableCodes disables one-time codes. If the user then has no factor left, it also deletes
// the recovery codes. But if that user must have a factor, it changes nothing and returns
// ErrLastFactor. required says whether all users must have a factor; it may also be required
// of this user alone.
func (a *Store) DisableCodes(ctx context.Context, user string, required bool) error {
	err := a.removeFactor(ctx, user, required, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE factors SET secret = '', step = 0 WHERE "user" = $1`, user)
		return err
	})
	if err != nil {
		return fmt.Errorf("switch off the one-time codes of user %q: %w", user, err)
	}
	return nil
}

// removeFactor calls remove in a transaction. If the user then has no factor left, it deletes
// the recovery codes; but if the user must have a factor, it rolls back and returns
// ErrLastFactor. Concurrent calls for the same user run one after the other.
func (a *Store) removeFactor(ctx context.Context, user string, required bool, remove func(context.Context, *sqldb.Tx) error) error {
	return a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		// This update locks the user's row until the end of the transaction, so that
		// RequireFactor waits too. The row exists, because PasskeyHandle creates it before the
		// user's first factor is added.
		before, err := tx.Exec(ctx, `UPDATE factors SET step = step WHERE "user" = $1 AND (secret <> '' OR EXISTS (SELECT 1 FROM passkeys WHERE "user" = $1))`, user)
		if err != nil || before == 0 {
			return err
		}
		if err := remove(ctx, tx); err != nil {
			return err
		}
		left, err := tx.Exec(ctx, `UPDATE factors SET step = step
			WHERE "user" = $1 AND (NOT (required OR $2) OR secret <> '' OR EXISTS (SELECT 1 FROM passkeys WHERE "user" = $1))`, user, required)
		if err == nil && left == 0 {
			err = ErrLastFactor
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			DELETE FROM recovery WHERE "user" = $1 AND NOT EXISTS (SELECT 1 FROM passkeys WHERE "user" = $1)
				AND NOT EXISTS (SELECT 1 FROM factors WHERE "user" = $1 AND secret <> '')`, user)
		return err
	})
}

// RenewRecoveryCodes replaces the recovery codes of a user and returns the new ones.
func (a *Store) RenewRecoveryCodes(ctx context.Context, user string) (codes []string, err error) {
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) (err error) {
		codes, err = renewRecovery(ctx, tx, user)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create recovery codes for user %q: %w", user, err)
	}
	return codes, nil
}

func renewRecovery(ctx context.Context, tx *sqldb.Tx, user string) ([]string, error) {
	if _, err := tx.Exec(ctx, `DELETE FROM recovery WHERE "user" = $1`, user); err != nil {
		return nil, err
	}
	codes := otp.NewRecoveryCodes()
	for _, code := range codes {
		if _, err := tx.Exec(ctx, `INSERT INTO recovery (code, "user") VALUES ($1, $2)`, Digest(otp.PlainRecovery(code)), user); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

// TakeCode checks a one-time code or a recovery code, and marks it as used in the same
// statement. Of two concurrent calls with the same code, only one returns ok. recovery says
// whether it was a recovery code.
func (a *Store) TakeCode(ctx context.Context, user, code string, now time.Time) (ok, recovery bool, err error) {
	if plain := otp.PlainRecovery(code); plain != "" {
		ok, err = a.changes(ctx, fmt.Sprintf("check a recovery code of user %q", user), `DELETE FROM recovery WHERE code = $1 AND "user" = $2`, Digest(plain), user)
		return ok, true, err
	}
	var secret string
	err = a.db.Row(ctx, `SELECT secret FROM factors WHERE "user" = $1 AND secret <> ''`, user).Scan(&secret)
	if found, err := isFound(err, fmt.Sprintf("read the one-time code secret of user %q", user)); !found {
		return false, false, err
	}
	step, valid := otp.Step(secret, code, now)
	if !valid {
		return false, false, nil
	}
	ok, err = a.changes(ctx, fmt.Sprintf("check a one-time code of user %q", user),
		`UPDATE factors SET step = $2 WHERE "user" = $1 AND secret = $3 AND step < $2`, user, step, secret)
	return ok, false, err
}
