package accounts

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"annals/events/failpoint"
	"annals/events/fault"
	"annals/events/sqldb"

	jose "github.com/go-jose/go-jose/v4"
)

// Key is a signing key of the built-in issuer.
type Key struct {
	ID        string // RFC 7638 thumbprint, the kid of its tokens
	Algorithm jose.SignatureAlgorithm
	Private   *ecdsa.PrivateKey
	Created   time.Time // UTC, microseconds
}

// Public returns the public key, as it is published.
func (k Key) Public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"}
}

// SigningKey returns the newest key. It creates one if there is none.
func (a *Store) SigningKey(ctx context.Context) (Key, error) {
	for range 2 {
		keys, err := a.readKeys(ctx, ` ORDER BY created DESC LIMIT 1`)
		if err != nil {
			return Key{}, err
		}
		if len(keys) > 0 {
			return keys[0], nil
		}
		// If another process creates one concurrently, the next read returns that one.
		if _, err := a.insertKey(ctx, `NOT EXISTS (SELECT 1 FROM keys)`); err != nil {
			return Key{}, err
		}
	}
	return Key{}, fmt.Errorf("create a signing key: another process deleted it immediately")
}

// AddKey creates a key that signs from now on. Older keys stay published and their tokens valid
// until the keys are deleted.
func (a *Store) AddKey(ctx context.Context) (Key, error) {
	return a.insertKey(ctx, `true`)
}

// DeleteKey deletes a key, which invalidates every token that it signed. The error is NotFound
// for an unknown key.
func (a *Store) DeleteKey(ctx context.Context, id string) error {
	deleted, err := a.changes(ctx, "delete signing key "+id, `DELETE FROM keys WHERE id = $1`, id)
	if err != nil {
		return err
	}
	if !deleted {
		return fault.Errorf(fault.NotFound, "there is no signing key %q", id)
	}
	a.Report(ctx, Event{Kind: KeyDeleted, Detail: id})
	return nil
}

// Keys returns all keys, newest first.
func (a *Store) Keys(ctx context.Context) ([]Key, error) {
	return a.readKeys(ctx, ` ORDER BY created DESC`)
}

// Key returns the key with that id.
func (a *Store) Key(ctx context.Context, id string) (key Key, found bool, err error) {
	keys, err := a.readKeys(ctx, ` WHERE id = $1`, id)
	if err != nil || len(keys) == 0 {
		return Key{}, false, err
	}
	return keys[0], true, nil
}

func (a *Store) insertKey(ctx context.Context, condition string) (Key, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("generate a signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("encode a signing key: %w", err)
	}
	key, err := newKey(private, time.Now().UTC().Truncate(time.Microsecond))
	if err != nil {
		return Key{}, err
	}
	var added int64
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		if err := tx.Lock(ctx); err != nil {
			return err
		}
		// The newest key signs. The new key must therefore be the newest, even if the clock of
		// another node was ahead when it created a key.
		added, err = tx.Exec(ctx, `
			INSERT INTO keys (id, private, created)
			SELECT $1, $2, coalesce((SELECT max(created) + 1 FROM keys WHERE created >= $3), $3) WHERE `+condition,
			key.ID, der, key.Created.UnixMicro())
		return err
	})
	if err != nil {
		return Key{}, fmt.Errorf("store a signing key: %w", err)
	}
	failpoint.Here(failpoint.KeyCreated)
	if added > 0 {
		a.Report(ctx, Event{Kind: KeyAdded, Detail: key.ID})
	}
	return key, nil
}

func (a *Store) readKeys(ctx context.Context, rest string, args ...any) ([]Key, error) {
	keys, err := sqldb.Collect(ctx, a.db, scanKey, `SELECT private, created FROM keys`+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read the signing keys: %w", err)
	}
	return keys, nil
}

func scanKey(row sqldb.Row) (Key, error) {
	var der []byte
	var created int64
	if err := row.Scan(&der, &created); err != nil {
		return Key{}, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return Key{}, fmt.Errorf("decode a signing key: %w", err)
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return Key{}, errors.New("decode a signing key: it is not an ECDSA key")
	}
	return newKey(private, time.UnixMicro(created).UTC())
}

func newKey(private *ecdsa.PrivateKey, created time.Time) (Key, error) {
	public := jose.JSONWebKey{Key: private.Public()}
	thumbprint, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return Key{}, fmt.Errorf("compute the id of a signing key: %w", err)
	}
	id := base64.RawURLEncoding.EncodeToString(thumbprint)
	return Key{ID: id, Algorithm: jose.ES256, Private: private, Created: created}, nil
}

// ClockSkew is the tolerated difference between the clocks of nodes, of their database and of
// external issuers.
const ClockSkew = 30 * time.Second

// TokenLifetime is how long a token of the built-in issuer is valid.
const TokenLifetime = time.Hour

// keyOverlap is how long a replaced key still verifies tokens: until the last token that it
// signed has expired on every node.
const keyOverlap = TokenLifetime + 2*ClockSkew

// RotateKey creates a key that signs from now on. Older keys are deleted after the last token
// that they signed has expired. If immediately is set, they are deleted now, which invalidates
// all current tokens; clients with a refresh token can still get new ones.
func (a *Store) RotateKey(ctx context.Context, immediately bool) (Key, error) {
	key, err := a.AddKey(ctx)
	if err != nil {
		return Key{}, err
	}
	if immediately { // whoever stole the signing keys may also have stolen the seal key
		return key, errors.Join(a.deleteKeys(ctx, `created < $1`, key.Created), a.deleteSealKey(ctx))
	}
	return key, a.deleteRetired(ctx, time.Now())
}

// Retires returns the time until which keys[i] verifies tokens; zero for the key that signs. keys
// is the result of Keys.
func Retires(keys []Key, i int) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return keys[i-1].Created.Add(keyOverlap)
}

// deleteRetired deletes keys that were replaced longer than keyOverlap ago.
func (a *Store) deleteRetired(ctx context.Context, now time.Time) error {
	return a.deleteKeys(ctx, `created < (SELECT max(created) FROM keys WHERE created <= $1)`, now.Add(-keyOverlap))
}

func (a *Store) deleteKeys(ctx context.Context, condition string, at time.Time) error {
	deleted, err := sqldb.Collect(ctx, a.db, func(row sqldb.Row) (id string, err error) { return id, row.Scan(&id) },
		`DELETE FROM keys WHERE `+condition+` RETURNING id`, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("delete old signing keys: %w", err)
	}
	for _, id := range deleted {
		a.Report(ctx, Event{Kind: KeyDeleted, Detail: id})
	}
	return nil
}

// RotateOldKey creates a key if the newest is older than age. If several nodes call it
// concurrently, only one creates a key.
func (a *Store) RotateOldKey(ctx context.Context, age time.Duration, now time.Time) error {
	_, err := a.insertKey(ctx, fmt.Sprintf(`EXISTS (SELECT 1 FROM keys) AND NOT EXISTS (SELECT 1 FROM keys WHERE created > %d)`, now.Add(-age).UnixMicro()))
	return err
}
