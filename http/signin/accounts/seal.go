package accounts

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"annals/http/signin/sealed"
)

// SealKey returns the key that signs challenges and forms on all nodes. It creates the key if
// there is none. The key is read from the database each time, so that all nodes stop using a
// key as soon as it is replaced.
func (a *Store) SealKey(ctx context.Context) (key sealed.Key, err error) {
	var value []byte
	for range 2 {
		err = a.db.Row(ctx, `SELECT value FROM secrets WHERE name = 'seal'`).Scan(&value)
		if !errors.Is(err, sql.ErrNoRows) {
			break
		}
		fresh := sealed.NewKey()
		if _, err := a.db.Exec(ctx, `INSERT INTO secrets (name, value) VALUES ('seal', $1) ON CONFLICT (name) DO NOTHING`, fresh[:]); err != nil {
			return key, fmt.Errorf("create the key that signs challenges and forms: %w", err)
		}
	}
	if err != nil {
		return key, fmt.Errorf("read the key that signs challenges and forms: %w", err)
	}
	if copy(key[:], value) != len(key) {
		return key, fmt.Errorf("read the key that signs challenges and forms: it has %d bytes instead of %d", len(value), len(key))
	}
	return key, nil
}

// Seal encodes value as JSON and signs it. Unseal accepts the resulting text on all nodes, for
// the same purpose, until it expires.
func (a *Store) Seal(ctx context.Context, purpose string, value any, expires time.Time) (string, error) {
	key, err := a.SealKey(ctx)
	if err != nil {
		return "", err
	}
	return key.Seal(purpose, value, expires)
}

// Unseal checks a text of Seal and decodes it into value. valid is false if the text was
// changed, was sealed for another purpose, or has expired.
func (a *Store) Unseal(ctx context.Context, purpose, text string, value any, now time.Time) (s sealed.Sealed, valid bool, err error) {
	key, err := a.SealKey(ctx)
	if err != nil {
		return s, false, err
	}
	s, err = key.Open(purpose, text, value, now)
	return s, err == nil, nil
}

// deleteSealKey invalidates all sealed texts. Users who are signing in have to start over.
func (a *Store) deleteSealKey(ctx context.Context) error {
	_, err := a.changes(ctx, "delete the key that signs challenges and forms", `DELETE FROM secrets WHERE name = 'seal'`)
	return err
}

// Spend marks a sealed text as used on all nodes. It returns false if the text was used
// before.
func (a *Store) Spend(ctx context.Context, s sealed.Sealed) (bool, error) {
	return a.changes(ctx, "mark a sealed text as used", `INSERT INTO spent (id, expires) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`,
		s.ID, s.Expires.Add(time.Second).UnixMicro())
}
