// Package signin says who makes a request. It holds the accounts and keys of
// the built-in OpenID issuer, signs that issuer's ID tokens, and verifies
// bearer tokens of every issuer in the configuration.
//
// It may import events and what is below it alone.
package signin

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"annals/events/failpoint"
	"annals/events/fault"
)

// AccountsFile is the name of the store within the data folder.
const AccountsFile = "accounts.db"

var (
	//go:embed accounts.sql
	accountsTables string
	//go:embed accounts-2.sql
	grantsTables string
)

// migrations bring a store from the version that is their index to the next.
// Each sets the version itself, and does no harm when it is run twice.
var migrations = []string{accountsTables, grantsTables}

// Accounts is the store of the built-in provider: its users, its signing keys,
// and which programs its users signed in to, in one SQLite file that only its owner may read. Any number of
// processes may have it open; each sees what the others wrote at its next
// call. Methods may be called from several goroutines.
type Accounts struct {
	db     *sql.DB
	lookup *sql.Stmt
}

// Account is a user of the built-in provider.
type Account struct {
	Name     string // also the subject of the user's tokens
	Admin    bool
	Groups   []string // sorted, each once
	Disabled bool
	Created  time.Time // UTC, microseconds
}

// OpenAccounts opens the store in the folder dir and makes both where they
// are missing.
func OpenAccounts(ctx context.Context, dir string) (*Accounts, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the account store: %w", err)
	}
	path, err := filepath.Abs(filepath.Join(dir, AccountsFile))
	if err != nil {
		return nil, fmt.Errorf("locate the account store: %w", err)
	}
	if err := restrict(path); err != nil {
		return nil, fmt.Errorf("restrict the account store to its owner: %w", err)
	}
	failpoint.Here(failpoint.AccountsFile)
	db, err := sql.Open("sqlite", dataSource(path))
	if err != nil {
		return nil, fmt.Errorf("open the account store %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	a := &Accounts{db: db}
	if err := a.prepare(ctx); err != nil {
		return nil, fmt.Errorf("open the account store %s: %w", path, errors.Join(err, db.Close()))
	}
	return a, nil
}

// restrict makes the file, if need be, and gives its owner alone access:
// it holds private keys. SQLite gives its companion files the same mode.
func restrict(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func dataSource(path string) string {
	query := url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "secure_delete(ON)"},
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}).String()
}

// prepare makes the tables of a new store. Two processes that open a new file
// at once may find it locked whatever the busy timeout says, since changing
// the journal mode does not wait; so that is tried again for a while.
func (a *Accounts) prepare(ctx context.Context) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := a.migrate(ctx)
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (a *Accounts) migrate(ctx context.Context) error {
	// One connection: the script holds a transaction of its own.
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var version int
	if err := conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return fault.Errorf(fault.Invalid, "the account store has version %d, this program knows %d: use a newer program", version, len(migrations))
	}
	for _, script := range migrations[version:] {
		if _, err := conn.ExecContext(ctx, script); err != nil {
			return err
		}
		failpoint.Here(failpoint.AccountsMade)
	}
	a.lookup, err = a.db.PrepareContext(ctx, `
		SELECT admin, groups, disabled, EXISTS (SELECT 1 FROM keys WHERE id = $2), $3 = '' OR EXISTS (SELECT 1 FROM grants WHERE id = $3)
		FROM users WHERE name = $1 AND NOT deleted`)
	return err
}

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// Close releases the store. Calls under way end with an error.
func (a *Accounts) Close() error {
	return errors.Join(a.lookup.Close(), a.db.Close())
}

// NewAccount is what Create needs to know.
type NewAccount struct {
	Name     string
	Password string // 8 characters at least
	Admin    bool
	Groups   []string
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
	hash, err := hashPassword(ctx, n.Password)
	if err != nil {
		return nil, err
	}
	account := Account{Name: name, Admin: n.Admin, Groups: groups, Created: time.Now().UTC().Truncate(time.Microsecond)}
	result, err := a.db.ExecContext(ctx, `
		INSERT INTO users (name, password, admin, groups, created)
		SELECT $1, $2, $3, $4, $5 WHERE `+condition+` ON CONFLICT (name) DO NOTHING`,
		name, hash, n.Admin, encodeGroups(groups), account.Created.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("create user %q: %w", name, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return nil, err
	}
	failpoint.Here(failpoint.UserMade)
	return &account, nil
}

// EnsureAdmin creates the user "admin", an administrator with a random
// password of 100 bits, if no user was ever created, and returns the password
// once. Of several processes at once, one creates.
func (a *Accounts) EnsureAdmin(ctx context.Context) (password string, created bool, err error) {
	var exist bool
	if err := a.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM users)`).Scan(&exist); err != nil {
		return "", false, fmt.Errorf("look for users: %w", err)
	}
	if exist {
		return "", false, nil // and spare the hashing
	}
	password = randomPassword()
	account, err := a.create(ctx, NewAccount{Name: "admin", Password: password, Admin: true}, `NOT EXISTS (SELECT 1 FROM users)`)
	if err != nil || account == nil {
		return "", false, err
	}
	return password, true, nil
}

const selectAccount = `SELECT name, admin, groups, disabled, created FROM users WHERE NOT deleted`

// Get returns a user, or NotFound.
func (a *Accounts) Get(ctx context.Context, name string) (Account, error) {
	account, err := scanAccount(a.db.QueryRowContext(ctx, selectAccount+` AND name = $1`, normal(name)))
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
	rows, err := a.db.QueryContext(ctx, selectAccount+` ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	defer rows.Close()
	var all []Account
	for rows.Next() {
		account, err := scanAccount(rows)
		if err != nil {
			return nil, fmt.Errorf("list users: %w", err)
		}
		all = append(all, account)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return all, nil
}

func scanAccount(row interface{ Scan(...any) error }) (Account, error) {
	var (
		account Account
		groups  []byte
		created int64
	)
	if err := row.Scan(&account.Name, &account.Admin, &groups, &account.Disabled, &created); err != nil {
		return Account{}, err
	}
	account.Created = time.UnixMicro(created).UTC()
	return account, json.Unmarshal(groups, &account.Groups)
}

// SetPassword gives a user another password, and ends all that the old one
// began: the user's sessions, and the programs' sign-ins with their tokens.
// Tokens of Issue stay valid until they expire.
func (a *Accounts) SetPassword(ctx context.Context, name, password string) error {
	if _, err := a.Get(ctx, name); err != nil {
		return err // before the costly part
	}
	hash, err := hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return a.update(ctx, name, `password = $2`, hash)
}

// Disable refuses a user from now on, with all tokens that are out, and ends
// the user's sessions and sign-ins for good.
func (a *Accounts) Disable(ctx context.Context, name string) error {
	return a.update(ctx, name, `disabled = $2`, true)
}

// Enable undoes Disable.
func (a *Accounts) Enable(ctx context.Context, name string) error {
	return a.update(ctx, name, `disabled = $2`, false)
}

// SetAdmin makes a user an administrator, or an ordinary user again; it holds
// for tokens that are out.
func (a *Accounts) SetAdmin(ctx context.Context, name string, admin bool) error {
	return a.update(ctx, name, `admin = $2`, admin)
}

// Delete forgets a user's password and groups for good. The name stays taken,
// since what it did is told under that name.
func (a *Accounts) Delete(ctx context.Context, name string) error {
	return a.update(ctx, name, `deleted = $2, password = '', groups = '[]', admin = 0`, true)
}

func (a *Accounts) update(ctx context.Context, name, set string, value any) error {
	result, err := a.db.ExecContext(ctx, `UPDATE users SET `+set+` WHERE name = $1 AND NOT deleted`, normal(name), value)
	if err != nil {
		return fmt.Errorf("change user %q: %w", name, err)
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return noUser(name)
}

func noUser(name string) error {
	return fault.Errorf(fault.NotFound, "there is no user %q", name)
}
