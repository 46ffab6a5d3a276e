package accounts

import (
	"context"
	"fmt"

	"annals/events/fault"
	"annals/http/signin/queue"
)

// Authenticate returns the user with that name and password. Every failure is Unauthenticated,
// has the same message and takes the same time. Otherwise callers could find out which names
// exist.
func (a *Store) Authenticate(ctx context.Context, name, password string) (Account, error) {
	account, _, err := a.CheckPassword(ctx, CommandCaller, name, password)
	return account, err
}

// CheckPassword is Authenticate on behalf of the given caller of package queue. It also returns
// the stored hash of the user's password, even if password is wrong.
func (a *Store) CheckPassword(ctx context.Context, caller queue.Caller, name, password string) (account Account, hash string, err error) {
	if hash, err = a.PasswordHash(ctx, name); err != nil {
		return Account{}, "", err
	}
	matches, err := checkPassword(ctx, caller, hash, password)
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

// PasswordHash returns the password hash of a user; "" if the user does not exist or is
// disabled.
func (a *Store) PasswordHash(ctx context.Context, name string) (hash string, err error) {
	err = a.db.Row(ctx, `SELECT password FROM users WHERE name = $1 AND NOT deleted AND NOT disabled`, NormalName(name)).Scan(&hash)
	_, err = isFound(err, fmt.Sprintf("read the password of user %q", name))
	return hash, err
}
