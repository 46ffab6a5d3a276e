// Package accounts stores the state of the built-in sign-in: users with their passwords, second
// factors, groups and limits; sessions, devices, grants and registered clients; API tokens; and
// the keys that sign tokens.
//
// It may import events and what is below it, and apitoken, otp, passkey, queue and sealed.
package accounts

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events"
	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/sqldb"
)

// Store is the account store: a SQLite file, or a PostgreSQL database that nodes share.
// Several processes may open the same store; each call sees what other processes have written
// before. Methods may be called concurrently. If the database cannot be reached, the error is
// Unavailable.
type Store struct {
	// Observe, if not nil, is called after each event for the access log, in the goroutine
	// that caused the event. Set it before using the store.
	Observe func(context.Context, Event)

	db     *sqldb.DB
	lookup *sqldb.Stmt // prepared statement for the query of Bearer
	uses   tokenUses
}

// Account is a user of the built-in sign-in.
type Account struct {
	Name     string // user name, and the subject (sub claim) of the user's tokens
	Admin    bool
	Groups   []string // sorted, without duplicates
	Disabled bool
	Service  bool      // the account of a program: it has no password and can sign in only with API tokens
	Created  time.Time // in UTC, to the microsecond
	SignedIn time.Time // last sign-in with a browser; zero if there was none, or only before this was recorded
}

// prepare prepares the statement lookup. The tables must exist.
func (a *Store) prepare(ctx context.Context) (err error) {
	a.lookup, err = a.db.Prepare(ctx, lookup)
	return err
}

// Close closes the store. Calls in progress fail.
func (a *Store) Close() error {
	a.uses.close()
	if a.lookup == nil { // the store could not be opened completely
		return a.db.Close()
	}
	return errors.Join(a.lookup.Close(), a.db.Close())
}

// NewAccount describes an account to be created.
type NewAccount struct {
	Name     string
	Password string // at least 8 characters
	Admin    bool
	Groups   []string
	Service  bool // whether the account is for a program; then Password is ignored
}

// Create adds a user and returns the account as stored, with name and groups trimmed and
// normalised (NFC). The error is Conflict if a user has or had that name, even a deleted one,
// and Invalid if the name, the password or a group breaks the rules.
func (a *Store) Create(ctx context.Context, n NewAccount) (Account, error) {
	created, err := a.create(ctx, n, `true`)
	if err == nil && created == nil {
		return Account{}, fault.Errorf(fault.Conflict, "the name %q is taken; the name of a deleted user cannot be used again either", n.Name)
	}
	if err != nil {
		return Account{}, err
	}
	return *created, nil
}

// create adds a user if the SQL condition is true and the name is not taken. Otherwise it
// returns nil.
func (a *Store) create(ctx context.Context, n NewAccount, condition string) (*Account, error) {
	name, err := CleanName("user name", n.Name)
	if err != nil {
		return nil, err
	}
	groups, err := cleanGroups(n.Groups)
	if err != nil {
		return nil, err
	}
	if err := a.checkSimilar(ctx, name); err != nil {
		return nil, err
	}
	hash := "" // matches no password
	if !n.Service {
		if hash, err = hashPassword(ctx, n.Password); err != nil {
			return nil, err
		}
	}
	account := Account{Name: name, Admin: n.Admin, Groups: groups, Service: n.Service, Created: time.Now().UTC().Truncate(time.Microsecond)}
	created, err := a.db.Exec(ctx, `
		INSERT INTO users (name, password, admin, groups, created, service)
		SELECT $1, $2, $3, $4, $5, $6 WHERE `+condition+` ON CONFLICT (name) DO NOTHING`,
		name, hash, n.Admin, encodeGroups(groups), account.Created.UnixMicro(), n.Service)
	if err != nil {
		return nil, fmt.Errorf("create user %q: %w", name, err)
	}
	if created == 0 {
		return nil, nil
	}
	failpoint.Here(failpoint.UserCreated)
	event := Event{Kind: UserCreated, User: account.Name}
	switch {
	case account.Admin:
		event.Detail = "admin"
	case account.Service:
		event.Detail = "service"
	}
	a.Report(ctx, event)
	return &account, nil
}

// Exist reports whether any user was ever created, even one that was deleted since.
func (a *Store) Exist(ctx context.Context) (exist bool, err error) {
	return a.exists(ctx, "check for users", `SELECT 1 FROM users`)
}

// exists reports whether a query returns any row. doing describes the operation in errors.
func (a *Store) exists(ctx context.Context, doing, query string, args ...any) (exist bool, err error) {
	if err := a.db.Row(ctx, `SELECT EXISTS (`+query+`)`, args...).Scan(&exist); err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return exist, nil
}

// changes runs a statement and reports whether it changed a row. doing describes the operation
// in errors.
func (a *Store) changes(ctx context.Context, doing, statement string, args ...any) (changed bool, err error) {
	n, err := a.db.Exec(ctx, statement, args...)
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return n > 0, nil
}

// isFound returns true if err, the error of Scan, is nil, and false without an error if there
// was no row. It wraps any other error; doing describes the operation in it.
func isFound(err error, doing string) (bool, error) {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return true, nil
}

// EnsureAdmin creates the administrator "admin" with a password if no user was ever created,
// and returns that password. The password is the result of ask, or 100 random bits if ask is
// nil. ask is called only if the user has to be created. If several processes call EnsureAdmin
// concurrently, only one of them creates the user.
func (a *Store) EnsureAdmin(ctx context.Context, ask func() (string, error)) (password string, created bool, err error) {
	if exist, err := a.Exist(ctx); exist || err != nil {
		return "", false, err // before the costly hashing
	}
	if password = randomPassword(); ask != nil {
		if password, err = ask(); err != nil {
			return "", false, err
		}
	}
	account, err := a.create(ctx, NewAccount{Name: "admin", Password: password, Admin: true}, `NOT EXISTS (SELECT 1 FROM users)`)
	if err != nil || account == nil {
		return "", false, err
	}
	return password, true, nil
}

const selectAccount = `SELECT name, admin, groups, disabled, service, created, signed_in FROM users WHERE NOT deleted`

// Get returns a user. The error is NotFound if there is none with that name.
func (a *Store) Get(ctx context.Context, name string) (Account, error) {
	account, err := scanAccount(a.db.Row(ctx, selectAccount+` AND name = $1`, NormalName(name)))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Account{}, noUser(name)
	case err != nil:
		return Account{}, fmt.Errorf("read user %q: %w", name, err)
	}
	return account, nil
}

// List returns all users, ordered by name.
func (a *Store) List(ctx context.Context) ([]Account, error) {
	all, err := sqldb.Collect(ctx, a.db, scanAccount, selectAccount+` ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return all, nil
}

func scanAccount(row sqldb.Row) (Account, error) { return scanAccountAnd(row) }

// scanAccountAnd scans the columns of an account into the result, and the columns after them
// into more.
func scanAccountAnd(row sqldb.Row, more ...any) (Account, error) {
	var (
		account           Account
		groups            []byte
		created, signedIn int64
	)
	if err := row.Scan(append([]any{&account.Name, &account.Admin, &groups, &account.Disabled, &account.Service, &created, &signedIn}, more...)...); err != nil {
		return Account{}, err
	}
	account.Created = time.UnixMicro(created).UTC()
	if signedIn > 0 {
		account.SignedIn = time.UnixMicro(signedIn).UTC()
	}
	return account, json.Unmarshal(groups, &account.Groups)
}

// SetPassword replaces a user's password. It ends the user's sessions and API tokens, and the
// user's grants with all tokens issued for them. ID tokens of Issuer.Issue belong to no grant,
// so they stay valid until they expire.
func (a *Store) SetPassword(ctx context.Context, name, password string) error {
	account, err := a.Get(ctx, name)
	if err == nil {
		err = account.mayHavePassword()
	}
	if err != nil {
		return err // return before the costly hashing of the password
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return a.change(ctx, name, `password = $2`, hash, Event{Kind: PasswordChanged})
}

// Disable locks a user out immediately: no token of the user is accepted any more. It also
// ends the user's sessions and grants. Enable does not restore those.
func (a *Store) Disable(ctx context.Context, name string) error {
	return a.change(ctx, name, `disabled = $2`, true, Event{Kind: UserChanged, Detail: "disabled"})
}

// Enable lets a disabled user sign in again.
func (a *Store) Enable(ctx context.Context, name string) error {
	return a.change(ctx, name, `disabled = $2`, false, Event{Kind: UserChanged, Detail: "enabled"})
}

// SetAdmin makes a user an administrator or an ordinary user. The change also takes effect for
// tokens that were issued before.
func (a *Store) SetAdmin(ctx context.Context, name string, admin bool) error {
	detail := "not an admin"
	if admin {
		detail = "admin"
	}
	return a.change(ctx, name, `admin = $2`, admin, Event{Kind: UserChanged, Detail: detail})
}

// Delete deletes a user. The name cannot be used for another user, because events in the log
// name their user.
func (a *Store) Delete(ctx context.Context, name string) error {
	return a.change(ctx, name, `deleted = $2, password = '', groups = '[]', admin = false, signed_in = 0`, true, Event{Kind: UserChanged, Detail: "deleted"})
}

// change updates columns of a user and reports event. set is the SET clause of the UPDATE, in
// which $2 is value.
func (a *Store) change(ctx context.Context, name, set string, value any, event Event) error {
	changed, err := a.changes(ctx, fmt.Sprintf("change user %q", name), `UPDATE users SET `+set+` WHERE name = $1 AND NOT deleted`, NormalName(name), value)
	if err != nil {
		return err
	}
	if !changed {
		return noUser(name)
	}
	event.User = NormalName(name)
	a.Report(ctx, event)
	return nil
}

// mayHavePassword returns an error if the account is that of a program.
func (a Account) mayHavePassword() error {
	if a.Service {
		return fault.Errorf(fault.Invalid, "%q is a service, which has no password and cannot sign in with a browser: create a token for it with annals token create %s --for service", a.Name, a.Name)
	}
	return nil
}

func noUser(name string) error {
	return fault.Errorf(fault.NotFound, "there is no user %q", name)
}

// User returns the principal of the account with its groups and whether it is an
// administrator.
func (a Account) User() events.User {
	user := events.User{Principal: events.Principal("user:" + a.Name), Admin: a.Admin}
	for _, g := range a.Groups {
		user.Groups = append(user.Groups, events.Principal("group:"+g))
	}
	return user
}
