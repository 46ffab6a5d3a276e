package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"annals/queries/answerlog"
	"annals/queries/describe"
)

// OpenAnswerLog opens the record of answers. It is in PostgreSQL if the accounts are in
// PostgreSQL, and otherwise in the data folder.
func (u URLs) OpenAnswerLog(ctx context.Context, o answerlog.Options) (*answerlog.Log, error) {
	if !InDatabase(u.Accounts) {
		return answerlog.Open(ctx, filepath.Join(u.Data, answerlog.File), o)
	}
	d, err := openDatabase(AccountsFlag, u.Accounts)
	if err != nil {
		return nil, err
	}
	log, err := answerlog.OpenShared(ctx, d, o)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", AccountsFlag, err)
	}
	return log, nil
}

// OpenDescriptions opens the cache of descriptions of documents, which is in the same place.
func (u URLs) OpenDescriptions(ctx context.Context) (*describe.Store, error) {
	if !InDatabase(u.Accounts) {
		return describe.Open(ctx, filepath.Join(u.Data, describe.File))
	}
	d, err := openDatabase(AccountsFlag, u.Accounts)
	if err != nil {
		return nil, err
	}
	store, err := describe.OpenShared(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", AccountsFlag, err)
	}
	return store, nil
}
