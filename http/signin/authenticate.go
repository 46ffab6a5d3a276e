package signin

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"
	"annals/http/signin/queue"
)

// Authenticate returns the user of that name and password. Everything wrong
// is Unauthenticated in the same words and after the same work, so that
// nothing tells which names exist.
func (a *Accounts) Authenticate(ctx context.Context, name, password string) (Account, error) {
	account, _, err := a.authenticate(ctx, ownTurn, name, password)
	return account, err
}

// authenticate is Authenticate, and returns the password's hash with the user. If
// only the password is wrong, the hash comes with the error.
func (a *Accounts) authenticate(ctx context.Context, turn queue.Turn, name, password string) (account Account, hash string, err error) {
	err = a.db.row(ctx, `SELECT password FROM users WHERE name = $1 AND NOT deleted AND NOT disabled`, normal(name)).Scan(&hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Account{}, "", fmt.Errorf("read the password of user %q: %w", name, err)
	}
	matches, err := checkPassword(ctx, turn, hash, password)
	if err != nil {
		return Account{}, "", err
	}
	if matches {
		account, err := a.Get(ctx, name)
		if err == nil && !account.Disabled {
			return account, hash, nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return Account{}, "", err
		}
	}
	return Account{}, hash, fault.Errorf(fault.Unauthenticated, "the name or the password is wrong")
}

// standing is what holds at this moment for the bearer of a token.
type standing struct {
	Account
	key   bool // the key is still there
	grant bool // as is the grant, or the API token, if the token names one
}

// lookup is asked at every request.
const lookup = `
	SELECT admin, groups, disabled, EXISTS (SELECT 1 FROM keys WHERE id = $2),
		$3 = '' OR EXISTS (SELECT 1 FROM grants WHERE id = $3) OR EXISTS (SELECT 1 FROM tokens WHERE id = $3 AND "user" = $1 AND expires > $4)
	FROM users WHERE name = $1 AND NOT deleted`

// standing looks up a user with the key and the grant of a token; found is
// false for a name that is nobody's.
func (a *Accounts) standing(ctx context.Context, name, keyID, grant string, now time.Time) (s standing, found bool, err error) {
	bounded, cancel := a.db.within(ctx)
	defer cancel()
	var groups []byte
	s.Name = name
	err = a.lookup.QueryRowContext(bounded, a.db.args([]any{name, keyID, grant, now.UnixMicro()})...).Scan(&s.Admin, &groups, &s.Disabled, &s.key, &s.grant)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	if err == nil {
		err = json.Unmarshal(groups, &s.Groups)
	}
	if err != nil {
		return s, false, fmt.Errorf("look up user %q: %w", name, a.db.tell(ctx, err))
	}
	return s, true, nil
}
