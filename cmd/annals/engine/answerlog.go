package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"annals/queries/answerlog"
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
