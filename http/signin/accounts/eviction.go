package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"

	"annals/http/signin/sealed"
)

// Anyone may register clients and start device sign-ins, so both tables are bounded. When one is
// full, unused rows are evicted, starting with the address that has the largest number of them.
// A flood therefore evicts its own rows, even if it comes from many addresses.

// origin returns the hash under which a client's address is stored.
func (a *Store) origin(ctx context.Context, address string) ([]byte, error) {
	key, err := a.SealKey(ctx)
	if err != nil {
		return nil, err
	}
	return originOf(key, address), nil
}

// originOf returns a keyed hash of an address. The rows of an address can be counted by it, but
// the address cannot be read from it. All addresses of an IPv6 site (/48) have the same hash.
func originOf(key sealed.Key, address string) []byte {
	if p, err := netip.ParsePrefix(address); err == nil {
		if site, err := p.Addr().Prefix(48); err == nil {
			address = site.String()
		}
	}
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("origin " + address))
	return mac.Sum(nil)[:16]
}

// evictionBatch is how many rows are evicted if no origin has more than one.
const evictionBatch = 50

// evict deletes unused rows from a full table: half of the rows of the origin with the largest
// number of them, or the oldest rows if each origin has only one. unused is an SQL condition.
func (a *Store) evict(ctx context.Context, table, key, age, unused string) (removed int64, err error) {
	var origin []byte
	var count int64
	err = a.db.Row(ctx, `SELECT origin, count(*) FROM `+table+` WHERE `+unused+` GROUP BY origin ORDER BY count(*) DESC, min(`+age+`) LIMIT 1`).Scan(&origin, &count)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err == nil && count > 1:
		if origin == nil { // drivers scan an empty BLOB as nil, which they would pass as NULL
			origin = []byte{}
		}
		removed, err = a.db.Exec(ctx, `DELETE FROM `+table+` WHERE `+key+` IN (
			SELECT `+key+` FROM `+table+` WHERE `+unused+` AND origin = $1 ORDER BY `+age+` LIMIT $2)`, origin, count/2)
	case err == nil:
		removed, err = a.db.Exec(ctx, `DELETE FROM `+table+` WHERE `+key+` IN (
			SELECT `+key+` FROM `+table+` WHERE `+unused+` ORDER BY `+age+` LIMIT $1)`, evictionBatch)
	}
	if err != nil {
		return 0, fmt.Errorf("evict unused %s: %w", table, err)
	}
	return removed, nil
}

// keepNewest deletes the oldest rows of a user from a table, so that up to limit rows
// are left.
func (a *Store) keepNewest(ctx context.Context, table, key, created, user string, limit int) error {
	_, err := a.db.Exec(ctx, fmt.Sprintf(`
		DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s WHERE "user" = $1 ORDER BY %[3]s DESC LIMIT 1000000 OFFSET $2)`,
		table, key, created), user, limit)
	return err
}
