package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"annals/events/sqldb"
	"annals/http/signin/accounts"
)

// AccountsFlag is the name of the flag with the URL of the accounts.
const AccountsFlag = "accounts"

// InDatabase reports whether the URL text names a PostgreSQL database.
func InDatabase(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains(sqldb.PostgresSchemes, scheme)
}

// openDatabase parses the database URL text of a flag. It does not connect. Its errors
// do not contain the URL, which may have a password.
func openDatabase(flag, text string) (*sqldb.Postgres, error) {
	database, err := sqldb.ParsePostgres(text)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return database, nil
}

// OpenAccounts opens the store of the built-in sign-in's accounts, and creates it if it
// does not exist.
func (u URLs) OpenAccounts(ctx context.Context) (*accounts.Store, error) {
	if InDatabase(u.Accounts) {
		d, err := openDatabase(AccountsFlag, u.Accounts)
		if err != nil {
			return nil, err
		}
		return accounts.OpenShared(ctx, d)
	}
	path, err := u.accountsPath()
	if err != nil {
		return nil, err
	}
	return accounts.OpenFile(ctx, path)
}

// accountsPath returns the path of the accounts file. It is used only if the accounts
// are not in PostgreSQL.
func (u URLs) accountsPath() (string, error) {
	return localPath(AccountsFlag, u.Accounts, u.Data, "sqlite", accounts.FileName)
}

// HasAccounts reports whether the accounts exist. For accounts in PostgreSQL it only
// checks that the URL is valid, without connecting, and returns true.
func (u URLs) HasAccounts() (bool, error) {
	if InDatabase(u.Accounts) {
		_, err := openDatabase(AccountsFlag, u.Accounts)
		return err == nil, err
	}
	path, err := u.accountsPath()
	if err != nil {
		return false, err
	}
	switch _, err := os.Stat(path); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fmt.Errorf("check whether the accounts exist: %w", err)
	}
}

// WithoutPassword returns the URL text with PASSWORD in place of its password.
func WithoutPassword(text string) string {
	const placeholder = "PASSWORD"
	u, err := url.Parse(text)
	if err != nil {
		return placeholder
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil { // a text that cannot be parsed may contain a password
		return placeholder
	}
	if _, set := u.User.Password(); set {
		u.User = url.UserPassword(u.User.Username(), placeholder)
	}
	for _, name := range []string{"password", "sslpassword"} {
		if query.Has(name) {
			query.Set(name, placeholder)
			u.RawQuery = query.Encode()
		}
	}
	return u.String()
}
