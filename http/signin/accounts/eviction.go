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

// Anyone may register clients and start device sign-ins, so both tables have a maximum size.
// When a table is full, rows that are not in use are deleted, beginning with the client
// address that has the largest number of them. An attacker who floods the table therefore
// deletes rows of the attack, even if it comes from many addresses.

// origin returns the hash of a client's address that is stored with a row.
func (a *Store) origin(ctx context.Context, address string) ([]byte, error) {
	key, err := a.SealKey(ctx)
	if err != nil {
		return nil, err
	}
	return originOf(key, address), nil
}

// originOf returns a keyed hash of a client's address. Rows of the same address have the same
// hash, so they can be counted, but the hash does not reveal the address. All addresses of an
// IPv6 site (/48) have the same hash.
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

// evictionBatch is the number of rows that are deleted if no origin has more than one row.
const evictionBatch = 50

// evict makes room in a full table. It deletes half of the unused rows of the origin that has
// the largest number of them, or the oldest unused rows if no origin has more than one. unused
// is an SQL condition. key and age are column names.
func (a *Store) evict(ctx context.Context, table, key, age, unused string) (removed int64, err error) {
	var origin []byte
	var count int64
	err = a.db.Row(ctx, `SELECT origin, count(*) FROM `+table+` WHERE `+unused+` GROUP BY origin ORDER BY count(*) DESC, min(`+age+`) LIMIT 1`).Scan(&origin, &count)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err == nil && count > 1:
		if origin == nil { // drivers scan an empty BLOB as nil and would pass nil as NULL
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

// keepNewest deletes the oldest rows of a user from a table, so that at most limit rows
// remain. key and created are column names.
func (a *Store) keepNewest(ctx context.Context, table, key, created, user string, limit int) error {
	_, err := a.db.Exec(ctx, fmt.Sprintf(`
		DELETE FROM %[1]s WHERE %[2]s IN (SELECT %[2]s FROM %[1]s WHERE "user" = $1 ORDER BY %[3]s DESC LIMIT 1000000 OFFSET $2)`,
		table, key, created), user, limit)
	return err
}
