// Package signin says who makes a request. It holds the accounts and keys of
// the built-in OpenID issuer, signs that issuer's ID tokens, and verifies
// bearer tokens of every issuer in the configuration.
//
// It may import events and what is below it alone.
package signin

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"
)

// Accounts is the store of the built-in provider: its users, its signing keys,
// and which programs its users signed in to. It lies in one SQLite file, or in a
// PostgreSQL database that several nodes share. Any number of processes may have
// it open; each sees what the others wrote at its next call. Methods may be called
// from several goroutines. A database that is away is Unavailable.
type Accounts struct {
	// Observe is called with everything that an audit of the sign-in keeps,
	// after it happened, in the goroutine that it happened in. It may be nil, and
	// is set before the store is used.
	Observe func(context.Context, Event)

	db     *store
	lookup *sql.Stmt // see standing
	uses   tokenUses
}

// Account is a user of the built-in provider.
type Account struct {
	Name     string // also the subject of the user's tokens
	Admin    bool
	Groups   []string // sorted, each once
	Disabled bool
	Service  bool      // no person: it has no password, and signs in by tokens alone
	Created  time.Time // UTC, microseconds
}

// prepare makes a store ready whose tables are there.
func (a *Accounts) prepare(ctx context.Context) (err error) {
	bounded, cancel := a.db.within(ctx)
	defer cancel()
	a.lookup, err = a.db.PrepareContext(bounded, lookup)
	return a.db.tell(ctx, err)
}

// Close releases the store. Calls under way end with an error.
func (a *Accounts) Close() error {
	a.uses.close()
	if a.lookup == nil { // it was never ready
		return a.db.Close()
	}
	return errors.Join(a.lookup.Close(), a.db.Close())
}

// NewAccount is what Create needs to know.
type NewAccount struct {
	Name     string
	Password string // 8 characters at least
	Admin    bool
	Groups   []string
	Service  bool // without a password
}

// Create adds a user. Names and groups are trimmed and normalised (NFC); the
// account as stored is returned. A name that is taken, or was by a user since
// deleted, is a Conflict; a name, password or group that breaks the rules is
// Invalid.
func (a *Accounts) Create(ctx context.Context, n NewAccount) (Account, error) {
	created, err := a.create(ctx, n, `true`)
	if err == nil && created == nil {
		return Account{}, fault.Errorf(fault.Conflict, "the name %q is taken; names are never given twice, not even after deletion", n.Name)
	}
	if err != nil {
		return Account{}, err
	}
	return *created, nil
}

// create inserts a user if the SQL condition holds and the name is free, and
// returns nil otherwise.
func (a *Accounts) create(ctx context.Context, n NewAccount, condition string) (*Account, error) {
	name, err := cleanName("user name", n.Name)
	if err != nil {
		return nil, err
	}
	groups, err := cleanGroups(n.Groups)
	if err != nil {
		return nil, err
	}
	if err := a.unlike(ctx, name); err != nil {
		return nil, err
	}
	hash := "" // which no password has
	if !n.Service {
		if hash, err = hashPassword(ctx, n.Password); err != nil {
			return nil, err
		}
	}
	account := Account{Name: name, Admin: n.Admin, Groups: groups, Service: n.Service, Created: time.Now().UTC().Truncate(time.Microsecond)}
	created, err := a.db.exec(ctx, `
		INSERT INTO users (name, password, admin, groups, created, service)
		SELECT $1, $2, $3, $4, $5, $6 WHERE `+condition+` ON CONFLICT (name) DO NOTHING`,
		name, hash, n.Admin, encodeGroups(groups), account.Created.UnixMicro(), n.Service)
	if err != nil {
		return nil, fmt.Errorf("create user %q: %w", name, err)
	}
	if created == 0 {
		return nil, nil
	}
	failpoint.Here(failpoint.UserMade)
	event := Event{Kind: UserCreated, User: account.Name}
	switch {
	case account.Admin:
		event.Detail = "admin"
	case account.Service:
		event.Detail = "service"
	}
	a.observe(ctx, event)
	return &account, nil
}

// Exist reports whether any user was ever created.
func (a *Accounts) Exist(ctx context.Context) (exist bool, err error) {
	if err := a.db.row(ctx, `SELECT EXISTS (SELECT 1 FROM users)`).Scan(&exist); err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return exist, nil
}

// EnsureAdmin creates the user "admin", an administrator, if no user was ever
// created. The password is asked for then alone; without one to ask it is random, of
// 100 bits. It is returned once. Of several processes at once, one creates.
func (a *Accounts) EnsureAdmin(ctx context.Context, ask func() (string, error)) (password string, created bool, err error) {
	if exist, err := a.Exist(ctx); exist || err != nil {
		return "", false, err // and spare the hashing
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

const selectAccount = `SELECT name, admin, groups, disabled, service, created FROM users WHERE NOT deleted`

// Get returns a user, or NotFound.
func (a *Accounts) Get(ctx context.Context, name string) (Account, error) {
	account, err := scanAccount(a.db.row(ctx, selectAccount+` AND name = $1`, normal(name)))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Account{}, noUser(name)
	case err != nil:
		return Account{}, fmt.Errorf("read user %q: %w", name, err)
	}
	return account, nil
}

// List returns all users, by name.
func (a *Accounts) List(ctx context.Context) ([]Account, error) {
	all, err := collect(ctx, a.db, scanAccount, selectAccount+` ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return all, nil
}

func scanAccount(row scanner) (Account, error) {
	var (
		account Account
		groups  []byte
		created int64
	)
	if err := row.Scan(&account.Name, &account.Admin, &groups, &account.Disabled, &account.Service, &created); err != nil {
		return Account{}, err
	}
	account.Created = time.UnixMicro(created).UTC()
	return account, json.Unmarshal(groups, &account.Groups)
}

// SetPassword gives a user another password, and ends all that the old one
// began: the user's sessions, the programs' sign-ins with their tokens, and the
// tokens that programs have of their own. Tokens of Issue stay valid until they expire.
func (a *Accounts) SetPassword(ctx context.Context, name, password string) error {
	account, err := a.Get(ctx, name)
	if err == nil {
		err = account.mayHavePassword()
	}
	if err != nil {
		return err // before the costly part
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return a.change(ctx, name, `password = $2`, hash, Event{Kind: PasswordChanged})
}

// Disable refuses a user from now on, with all tokens that are out, and ends
// the user's sessions and sign-ins for good.
func (a *Accounts) Disable(ctx context.Context, name string) error {
	return a.change(ctx, name, `disabled = $2`, true, Event{Kind: UserChanged, Detail: "disabled"})
}

// Enable undoes Disable.
func (a *Accounts) Enable(ctx context.Context, name string) error {
	return a.change(ctx, name, `disabled = $2`, false, Event{Kind: UserChanged, Detail: "enabled"})
}

// SetAdmin makes a user an administrator, or an ordinary user again; it holds
// for tokens that are out.
func (a *Accounts) SetAdmin(ctx context.Context, name string, admin bool) error {
	detail := "not an admin"
	if admin {
		detail = "admin"
	}
	return a.change(ctx, name, `admin = $2`, admin, Event{Kind: UserChanged, Detail: detail})
}

// Delete forgets a user's password and groups for good. The name stays taken,
// since what it did is told under that name.
func (a *Accounts) Delete(ctx context.Context, name string) error {
	return a.change(ctx, name, `deleted = $2, password = '', groups = '[]', admin = false`, true, Event{Kind: UserChanged, Detail: "deleted"})
}

// change sets columns of a user, and reports that as event.
func (a *Accounts) change(ctx context.Context, name, set string, value any, event Event) error {
	changed, err := a.db.exec(ctx, `UPDATE users SET `+set+` WHERE name = $1 AND NOT deleted`, normal(name), value)
	if err != nil {
		return fmt.Errorf("change user %q: %w", name, err)
	}
	if changed == 0 {
		return noUser(name)
	}
	event.User = normal(name)
	a.observe(ctx, event)
	return nil
}

// mayHavePassword returns an error for a service.
func (a Account) mayHavePassword() error {
	if a.Service {
		return fault.Errorf(fault.Invalid, "%q is a service, which has no password and cannot sign in by a browser: annals token create %s --for service makes a token for it", a.Name, a.Name)
	}
	return nil
}

func noUser(name string) error {
	return fault.Errorf(fault.NotFound, "there is no user %q", name)
}
