package signin

import (
	"context"
	"fmt"
	"time"

	"annals/http/signin/sealed"
)

// sealKey returns the key of all that this service hands out and does not keep. It
// is made at the first call and the same at every node.
func (a *Accounts) sealKey(ctx context.Context) (key sealed.Key, err error) {
	fresh := sealed.NewKey()
	if _, err := a.db.exec(ctx, `INSERT INTO secrets (name, value) VALUES ('seal', $1) ON CONFLICT (name) DO NOTHING`, fresh[:]); err != nil {
		return key, fmt.Errorf("make the key of sealed texts: %w", err)
	}
	var value []byte
	if err := a.db.row(ctx, `SELECT value FROM secrets WHERE name = 'seal'`).Scan(&value); err != nil {
		return key, fmt.Errorf("read the key of sealed texts: %w", err)
	}
	if copy(key[:], value) != len(key) {
		return key, fmt.Errorf("read the key of sealed texts: it has %d bytes", len(value))
	}
	return key, nil
}

// seal returns the store's sealKey, which it reads once.
func (p *Provider) seal(ctx context.Context) (sealed.Key, error) {
	if key := p.sealing.Load(); key != nil {
		return *key, nil
	}
	key, err := p.accounts.sealKey(ctx)
	if err == nil {
		p.sealing.Store(&key)
	}
	return key, err
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
