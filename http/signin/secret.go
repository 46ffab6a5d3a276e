package signin

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"annals/http/signin/sealed"
)

// sealKey returns the key of all that this service hands out and does not keep. It
// is made where there is none, and the same at every node. It is read each time: a
// node must not go on with one that was dropped.
func (a *Accounts) sealKey(ctx context.Context) (key sealed.Key, err error) {
	var value []byte
	for range 2 {
		err = a.db.row(ctx, `SELECT value FROM secrets WHERE name = 'seal'`).Scan(&value)
		if !errors.Is(err, sql.ErrNoRows) {
			break
		}
		fresh := sealed.NewKey()
		if _, err := a.db.exec(ctx, `INSERT INTO secrets (name, value) VALUES ('seal', $1) ON CONFLICT (name) DO NOTHING`, fresh[:]); err != nil {
			return key, fmt.Errorf("make the key of sealed texts: %w", err)
		}
	}
	if err != nil {
		return key, fmt.Errorf("read the key of sealed texts: %w", err)
	}
	if copy(key[:], value) != len(key) {
		return key, fmt.Errorf("read the key of sealed texts: it has %d bytes", len(value))
	}
	return key, nil
}

// dropSealKey ends everything that was sealed: sign-ins between two steps begin
// again.
func (a *Accounts) dropSealKey(ctx context.Context) error {
	if _, err := a.db.exec(ctx, `DELETE FROM secrets WHERE name = 'seal'`); err != nil {
		return fmt.Errorf("replace the key of sealed texts: %w", err)
	}
	return nil
}

// spend takes a sealed text, once at all nodes together; it reports false where it
// was taken before.
func (a *Accounts) spend(ctx context.Context, s sealed.Sealed) (bool, error) {
	n, err := a.db.exec(ctx, `INSERT INTO spent (id, expires) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`,
		s.ID, s.Expires.Add(time.Second).UnixMicro())
	if err != nil {
		return false, fmt.Errorf("take a sealed text: %w", err)
	}
	return n > 0, nil
}
