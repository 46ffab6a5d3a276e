package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"annals/events/sqldb"
	"annals/queries/answerlog"
	"annals/queries/describe"
)

// OpenAnswerLog opens the record of answers. It is in PostgreSQL if the accounts are in
// PostgreSQL, and otherwise in the data folder. If there is none, OpenAnswerLog creates it, or
// returns nil unless create is set.
func (u URLs) OpenAnswerLog(ctx context.Context, o answerlog.Options, create bool) (*answerlog.Log, error) {
	return openBeside(u, answerlog.File, create,
		func(path string) (*answerlog.Log, error) { return answerlog.Open(ctx, path, o) },
		func(d *sqldb.Postgres) (*answerlog.Log, error) { return answerlog.OpenShared(ctx, d, o, create) })
}

// OpenDescriptions opens the cache of descriptions of documents in the same way.
func (u URLs) OpenDescriptions(ctx context.Context, create bool) (*describe.Store, error) {
	return openBeside(u, describe.File, create,
		func(path string) (*describe.Store, error) { return describe.Open(ctx, path) },
		func(d *sqldb.Postgres) (*describe.Store, error) { return describe.OpenShared(ctx, d, create) })
}

// openBeside opens a store that is beside the accounts: in the same database, or in a file of
// the data folder.
func openBeside[S any](u URLs, file string, create bool, open func(path string) (*S, error), openShared func(*sqldb.Postgres) (*S, error)) (*S, error) {
	if !InDatabase(u.Accounts) {
		path := filepath.Join(u.Data, file)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !create {
			return nil, nil
		}
		return open(path)
	}
	d, err := openDatabase(AccountsFlag, u.Accounts)
	if err != nil {
		return nil, err
	}
	store, err := openShared(d)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", AccountsFlag, err)
	}
	return store, nil
}
