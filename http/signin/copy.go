package signin

import (
	"context"
	"fmt"
)

// CopyTo writes the store as it is at this moment to a new file at path, which
// only its owner may read. Others may change the store meanwhile.
func (a *Accounts) CopyTo(ctx context.Context, path string) error {
	if err := restrict(path); err != nil { // SQLite takes an empty file for a new one
		return fmt.Errorf("make a copy of the account store: %w", err)
	}
	if _, err := a.db.ExecContext(ctx, `VACUUM INTO $1`, path); err != nil {
		return fmt.Errorf("copy the account store: %w", err)
	}
	return nil
}
