package signin

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

	jose "github.com/go-jose/go-jose/v4"

	"annals/events/failpoint"
	"annals/events/fault"
)

// Key is a signing key of the built-in issuer.
type Key struct {
	ID        string // RFC 7638 thumbprint, the tokens' kid
	Algorithm jose.SignatureAlgorithm
	Private   *ecdsa.PrivateKey
	Created   time.Time // UTC, microseconds
}

// Public returns the half that is published.
func (k Key) Public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: k.Private.Public(), KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"}
}

// SigningKey returns the newest key, and makes the first one.
func (a *Accounts) SigningKey(ctx context.Context) (Key, error) {
	for range 2 {
		keys, err := a.readKeys(ctx, ` ORDER BY created DESC LIMIT 1`)
		if err != nil {
			return Key{}, err
		}
		if len(keys) > 0 {
			return keys[0], nil
		}
		// Another process may make one at the same moment: one is enough.
		if _, err := a.insertKey(ctx, `NOT EXISTS (SELECT 1 FROM keys)`); err != nil {
			return Key{}, err
		}
	}
	return Key{}, fmt.Errorf("make a signing key: it vanished at once")
}

// AddKey makes a key that signs from now on; the older ones stay published
// and their tokens valid until DeleteKey.
func (a *Accounts) AddKey(ctx context.Context) (Key, error) {
	return a.insertKey(ctx, `true`)
}

// DeleteKey forgets a key and with it every token that it signed. An unknown
// one is NotFound.
func (a *Accounts) DeleteKey(ctx context.Context, id string) error {
	deleted, err := a.db.exec(ctx, `DELETE FROM keys WHERE id = $1`, id)
	if err != nil {
		return fmt.Errorf("delete signing key %s: %w", id, err)
	}
	if deleted == 0 {
		return fault.Errorf(fault.NotFound, "there is no signing key %q", id)
	}
	a.observe(ctx, Event{Kind: KeyDeleted, Detail: id})
	return nil
}

// Keys returns all keys, newest first.
func (a *Accounts) Keys(ctx context.Context) ([]Key, error) {
	return a.readKeys(ctx, ` ORDER BY created DESC`)
}

// key returns the key of that id; found is false if there is none.
func (a *Accounts) key(ctx context.Context, id string) (key Key, found bool, err error) {
	keys, err := a.readKeys(ctx, ` WHERE id = $1`, id)
	if err != nil || len(keys) == 0 {
		return Key{}, false, err
	}
	return keys[0], true, nil
}

func (a *Accounts) insertKey(ctx context.Context, condition string) (Key, error) {
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
	err = a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		if err := tx.keepOut(ctx); err != nil {
			return err
		}
		// The newest signs, also where another machine's clock is ahead.
		added, err = tx.exec(ctx, `
			INSERT INTO keys (id, private, created)
			SELECT $1, $2, coalesce((SELECT max(created) + 1 FROM keys WHERE created >= $3), $3) WHERE `+condition,
			key.ID, der, key.Created.UnixMicro())
		return err
	})
	if err != nil {
		return Key{}, fmt.Errorf("store a signing key: %w", err)
	}
	failpoint.Here(failpoint.KeyMade)
	if added > 0 {
		a.observe(ctx, Event{Kind: KeyAdded, Detail: key.ID})
	}
	return key, nil
}

func (a *Accounts) readKeys(ctx context.Context, rest string, args ...any) ([]Key, error) {
	keys, err := collect(ctx, a.db, scanKey, `SELECT private, created FROM keys`+rest, args...)
	if err != nil {
		return nil, fmt.Errorf("read the signing keys: %w", err)
	}
	return keys, nil
}

func scanKey(row scanner) (Key, error) {
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
		return Key{}, errors.New("decode a signing key: it is no elliptic-curve key")
	}
	return newKey(private, time.UnixMicro(created).UTC())
}

func newKey(private *ecdsa.PrivateKey, created time.Time) (Key, error) {
	public := jose.JSONWebKey{Key: private.Public()}
	thumbprint, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return Key{}, fmt.Errorf("name a signing key: %w", err)
	}
	id := base64.RawURLEncoding.EncodeToString(thumbprint)
	return Key{ID: id, Algorithm: jose.ES256, Private: private, Created: created}, nil
}
