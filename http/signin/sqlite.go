package signin

import (
	"context"
	"database/sql"
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

// sqliteEngine is a file. One process writes at a time; the others wait.
var sqliteEngine = engine{
	name:  "sqlite",
	told:  tellSQLite,
	again: func(error) bool { return false },
	text:  func(text string) string { return text },
}

// OpenAccounts opens the store in the folder dir and makes both where they
// are missing.
func OpenAccounts(ctx context.Context, dir string) (*Accounts, error) {
	return OpenAccountsFile(ctx, filepath.Join(dir, AccountsFile))
}

// OpenAccountsFile opens the store in a file, which only its owner may read, and
// makes it with its folder where they are missing.
func OpenAccountsFile(ctx context.Context, path string) (*Accounts, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("locate the account store: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the account store: %w", err)
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
	a := &Accounts{db: &store{db, sqliteEngine}}
	if err := a.prepareFile(ctx); err != nil {
		return nil, fmt.Errorf("open the account store %s: %w", path, errors.Join(tellSQLite(err), a.Close()))
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

// prepareFile makes the tables of a new store. Two processes that open a new file
// at once may find it locked whatever the busy timeout says, since changing
// the journal mode does not wait; so that is tried again for a while.
func (a *Accounts) prepareFile(ctx context.Context) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := a.upgradeFile(ctx)
		if err == nil {
			return a.prepare(ctx)
		}
		if sqliteCode(err) != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// upgradeFile runs the scripts that are missing, each of which sets the version, in
// one transaction.
func (a *Accounts) upgradeFile(ctx context.Context) (err error) {
	conn, err := a.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	version, err := fileVersion(ctx, conn)
	if err != nil || version == len(migrations) {
		return err
	}
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, undone := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
			err = errors.Join(err, undone)
		}
	}()
	if version, err = fileVersion(ctx, conn); err != nil { // another process may have done it
		return err
	}
	for _, migration := range migrations[version:] {
		script, err := a.db.script(migration)
		if err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	if _, err := conn.ExecContext(ctx, `COMMIT`); err != nil {
		return err
	}
	failpoint.Here(failpoint.AccountsMade)
	return nil
}

func fileVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	if err := conn.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return 0, err
	}
	return version, checkVersion(version)
}

// sqliteCode returns the primary result code of an error of SQLite's, or 0.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// tellSQLite says what to do about a damaged file.
func tellSQLite(err error) error {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fault.Errorf(fault.Internal, "the file is damaged: restore it from a backup; or move it away, "+
			"and serve makes a new one with the user admin alone, in which all others have to be added and to sign in anew (%w)", err)
	}
	return err
}
