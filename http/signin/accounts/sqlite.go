package accounts

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"annals/events/failpoint"
	"annals/events/sqldb"
)

// FileName is the name of the store's file in the data folder.
const FileName = "accounts.db"

// Open opens the store in the folder dir. It creates the folder and the store if they do not
// exist.
func Open(ctx context.Context, dir string) (*Store, error) {
	return OpenFile(ctx, filepath.Join(dir, FileName))
}

// OpenFile opens the store in the file at path, which only its owner may read. It creates the
// file and its folder if they do not exist.
func OpenFile(ctx context.Context, path string) (*Store, error) {
	if err := sqldb.MakePrivate(path); err != nil {
		return nil, fmt.Errorf("make the account store readable only by its owner: %w", err)
	}
	failpoint.Here(failpoint.AccountsFileCreated)
	db, err := storeFile(path).OpenDB()
	if err != nil {
		return nil, fmt.Errorf("open the account store %s: %w", path, err)
	}
	db.Repair = "restore it from a backup, or move it away; annals serve then creates a new store with the user admin, and all other users have to be added again"
	a := &Store{db: db}
	if err := a.createTables(ctx); err != nil {
		return nil, fmt.Errorf("open the account store %s: %w", path, errors.Join(err, a.Close()))
	}
	return a, nil
}

func storeFile(path string) sqldb.SQLite {
	return sqldb.SQLite{Path: path, Connections: 4, Pragmas: []string{"journal_mode(WAL)", "synchronous(FULL)", "secure_delete(ON)"}}
}

func (a *Store) createTables(ctx context.Context) error {
	if err := migrate(ctx, a.db); err != nil {
		return err
	}
	failpoint.Here(failpoint.AccountsCreated)
	return a.prepare(ctx)
}
