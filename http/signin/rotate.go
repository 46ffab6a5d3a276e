package signin

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keyOverlap is how long a key still verifies after another has taken its place:
// until the last token that it signed has expired, at nodes whose clocks differ.
const keyOverlap = TokenLifetime + 2*leeway

// RotateKey makes a key that signs from now on. The older ones verify, and are
// published, until the last token that they signed has expired; at once deletes
// them now, so that all tokens that are out are refused. Programs with a refresh
// token renew theirs either way.
func (a *Accounts) RotateKey(ctx context.Context, atOnce bool) (Key, error) {
	key, err := a.AddKey(ctx)
	if err != nil {
		return Key{}, err
	}
	if atOnce { // whoever has the old keys may have those of sealed texts, too
		return key, errors.Join(a.deleteKeys(ctx, `created < $1`, key.Created), a.dropSealKey(ctx))
	}
	return key, a.deleteRetired(ctx, time.Now())
}

// Retires returns until when the i-th of keys, which are those of Keys, verifies;
// zero for the one that signs.
func Retires(keys []Key, i int) time.Time {
	if i == 0 {
		return time.Time{}
	}
	return keys[i-1].Created.Add(keyOverlap)
}

// deleteRetired deletes the keys that another has replaced long enough ago.
func (a *Accounts) deleteRetired(ctx context.Context, now time.Time) error {
	return a.deleteKeys(ctx, `created < (SELECT max(created) FROM keys WHERE created <= $1)`, now.Add(-keyOverlap))
}

func (a *Accounts) deleteKeys(ctx context.Context, condition string, at time.Time) error {
	deleted, err := collect(ctx, a.db, func(row scanner) (id string, err error) { return id, row.Scan(&id) },
		`DELETE FROM keys WHERE `+condition+` RETURNING id`, at.UnixMicro())
	if err != nil {
		return fmt.Errorf("delete old signing keys: %w", err)
	}
	for _, id := range deleted {
		a.observe(ctx, Event{Kind: KeyDeleted, Detail: id})
	}
	return nil
}

// rotateOld makes a key if the newest is older than age. Of several nodes one does.
func (a *Accounts) rotateOld(ctx context.Context, age time.Duration, now time.Time) error {
	_, err := a.insertKey(ctx, fmt.Sprintf(`EXISTS (SELECT 1 FROM keys) AND NOT EXISTS (SELECT 1 FROM keys WHERE created > %d)`, now.Add(-age).UnixMicro()))
	return err
}
