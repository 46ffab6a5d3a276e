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
	ID        string // RFC 7638 thumbprint, which is the kid header of the tokens that the key signs
	Algorithm jose.SignatureAlgorithm
	Private   *ecdsa.PrivateKey
	Created   time.Time // in UTC, to the microsecond
}

// Public returns the public key, as it is published.
func (k Key) Public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"}
}

// SigningKey returns the newest key. If there is none, it creates one.
func (a *Store) SigningKey(ctx context.Context) (Key, error) {
	for range 2 {
		keys, err := a.readKeys(ctx, ` ORDER BY created DESC LIMIT 1`)
		if err != nil {
			return Key{}, err
		}
		if len(keys) > 0 {
			return keys[0], nil
		}
		// If another process creates a key concurrently, the next iteration returns that key.
		if _, err := a.insertKey(ctx, `NOT EXISTS (SELECT 1 FROM keys)`); err != nil {
			return Key{}, err
		}
	}
	return Key{}, fmt.Errorf("create a signing key: another process deleted it immediately")
}

// AddKey creates a key, which signs all tokens from now on. Older keys stay published, and
// tokens that they signed stay valid until the keys are deleted.
func (a *Store) AddKey(ctx context.Context) (Key, error) {
	return a.insertKey(ctx, `true`)
}

// DeleteKey deletes a key. All tokens that it signed become invalid. The error is NotFound if
// there is no key with that id.
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
		// The newest key signs. The new key must therefore be newer than all others, even if
		// one of them was created by a node whose clock was ahead.
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

// ClockSkew is the tolerated difference between two clocks: of nodes, their database and
// external issuers.
const ClockSkew = 30 * time.Second

// TokenLifetime is how long a token of the built-in issuer is valid.
const TokenLifetime = time.Hour

// keyOverlap is how long a key still verifies tokens after a newer key has replaced it. By
// then the last token that it signed has expired on every node.
const keyOverlap = TokenLifetime + 2*ClockSkew

// RotateKey creates a key, which signs all tokens from now on. Older keys are deleted once the
// last token that they signed has expired. If immediately is true, older keys are deleted now,
// which invalidates all current tokens. Clients can still get new tokens with their refresh
// tokens.
func (a *Store) RotateKey(ctx context.Context, immediately bool) (Key, error) {
	key, err := a.AddKey(ctx)
	if err != nil {
		return Key{}, err
	}
	if immediately { // whoever has stolen the signing keys may have stolen the seal key too
		return key, errors.Join(a.deleteKeys(ctx, `created < $1`, key.Created), a.deleteSealKey(ctx))
	}
	return key, a.deleteRetired(ctx, time.Now())
}

// Retires returns the time at which keys[i] stops verifying tokens, or the zero time for the
// newest key. keys must be the result of Keys.
func Retires(keys []Key, i int) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return keys[i-1].Created.Add(keyOverlap)
}

// deleteRetired deletes the keys that a newer key replaced more than keyOverlap ago.
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

// RotateOldKey creates a key if the newest key is older than age. If several nodes call it
// concurrently, only one of them creates a key.
func (a *Store) RotateOldKey(ctx context.Context, age time.Duration, now time.Time) error {
	_, err := a.insertKey(ctx, fmt.Sprintf(`EXISTS (SELECT 1 FROM keys) AND NOT EXISTS (SELECT 1 FROM keys WHERE created > %d)`, now.Add(-age).UnixMicro()))
	return err
}
