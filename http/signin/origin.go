package signin

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

// Programs register and devices ask to be signed in without anybody's leave, and
// there is bounded room for both. Where it is full, whatever nobody has used yet
// makes room, first of the address that has most of it: so a flood pushes out
// itself, from however many addresses it comes.

// originOf returns what is stored of the address that a request came from: enough
// to count what comes from one, without naming it. All of a site's networks of IPv6
// are one.
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

// evicted is how many rows go at once where no origin has more than one.
const evicted = 50

// makeRoom removes unused rows from a table that is full: half of what the origin has
// that has most, or else the oldest. unused is a condition.
func (a *Accounts) makeRoom(ctx context.Context, table, key, age, unused string) (removed int64, err error) {
	var origin []byte
	var count int64
	err = a.db.row(ctx, `SELECT origin, count(*) FROM `+table+` WHERE `+unused+` GROUP BY origin ORDER BY count(*) DESC, min(`+age+`) LIMIT 1`).Scan(&origin, &count)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err == nil && count > 1:
		if origin == nil { // drivers read empty bytes as nil, and write that as NULL
			origin = []byte{}
		}
		removed, err = a.db.exec(ctx, `DELETE FROM `+table+` WHERE `+key+` IN (
			SELECT `+key+` FROM `+table+` WHERE `+unused+` AND origin = $1 ORDER BY `+age+` LIMIT $2)`, origin, count/2)
	case err == nil:
		removed, err = a.db.exec(ctx, `DELETE FROM `+table+` WHERE `+key+` IN (
			SELECT `+key+` FROM `+table+` WHERE `+unused+` ORDER BY `+age+` LIMIT $1)`, evicted)
	}
	if err != nil {
		return 0, fmt.Errorf("make room among the %s: %w", table, err)
	}
	return removed, nil
}
