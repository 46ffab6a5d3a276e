package signin

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// codeLifetime is how long a code may be redeemed.
	codeLifetime = time.Minute
	// refreshLifetime is how long a grant lasts that is not used.
	refreshLifetime = 30 * 24 * time.Hour
	// grantLifetime is how long a grant lasts at most.
	grantLifetime = 90 * 24 * time.Hour
	// maxGrants is how many grants a user has; the oldest end where there
	// are more.
	maxGrants = 200
)

// grantClaim is the claim of tokens that names the grant which they came from,
// and with which they end: what OpenID Connect calls a session.
const grantClaim = "sid"

// grant is a user's sign-in to a program.
type grant struct {
	id                                    string
	user, client, name, audience, scope   string
	redirect, challenge, nonce            string
	authenticated, created, used, expires time.Time
	ends                                  time.Time
}

// A code or a refresh token is a handle, which stays the same with a grant, and a
// secret. So one that was replaced still tells whose it was, although it is not
// stored any more. The grant's id, which tokens tell, is made from the handle and
// does not give it away.
func grantID(credential string) string {
	handle, _, _ := strings.Cut(credential, ".")
	return base64.RawURLEncoding.EncodeToString(digest(handle)[:16])
}

const grantColumns = `id, "user", client, name, audience, scope, redirect, challenge, nonce, authenticated, created, used, expires, ends`

func scanGrant(row scanner) (g grant, err error) {
	var times [5]int64
	err = row.Scan(&g.id, &g.user, &g.client, &g.name, &g.audience, &g.scope, &g.redirect, &g.challenge, &g.nonce,
		&times[0], &times[1], &times[2], &times[3], &times[4])
	for i, to := range []*time.Time{&g.authenticated, &g.created, &g.used, &g.expires, &g.ends} {
		*to = time.UnixMicro(times[i]).UTC()
	}
	return g, err
}

// addCode makes a grant that a code redeems, and returns the code; it is "" where
// the visitor's session has ended.
func (a *Accounts) addCode(ctx context.Context, v visitor, to *authorization, now time.Time) (code string, err error) {
	handle := rand.Text()
	code = handle + "." + newSecret()
	added, err := a.db.exec(ctx, `
		INSERT INTO grants (id, "user", client, name, audience, scope, authenticated, created, code, redirect, challenge, nonce, expires, ends)
		SELECT $1, "user", $2, $3, $4, $5, authenticated, $6, $7, $8, $9, $10, $11, $12 FROM sessions WHERE cookie = $13 AND expires > $6`+a.db.hold,
		grantID(handle), to.client.ID, to.client.title(), to.audience, to.scope, now.UnixMicro(), digest(code), to.redirect, to.challenge, to.nonce,
		now.Add(codeLifetime).UnixMicro(), now.Add(grantLifetime).UnixMicro(), digest(v.cookie))
	if err != nil {
		return "", fmt.Errorf("store a code: %w", err)
	}
	if added == 0 {
		return "", nil
	}
	return code, a.boundGrants(ctx, v.user, to.client.ID, now)
}

// boundGrants ends a user's oldest grants where there are too many, and notes
// that the program was used.
func (a *Accounts) boundGrants(ctx context.Context, user, client string, now time.Time) error {
	err := a.db.keepNewest(ctx, "grants", "id", "created", user, maxGrants)
	if err == nil {
		_, err = a.db.exec(ctx, `UPDATE clients SET used = $2 WHERE id = $1`, client, now.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("end the oldest grants: %w", err)
	}
	return nil
}

// grant returns a grant that has not expired.
func (a *Accounts) grant(ctx context.Context, id string, now time.Time) (g grant, found bool, err error) {
	g, err = scanGrant(a.db.row(ctx, `SELECT `+grantColumns+` FROM grants WHERE id = $1 AND expires > $2`, id, now.UnixMicro()))
	if errors.Is(err, sql.ErrNoRows) {
		return grant{}, false, nil
	}
	if err != nil {
		return grant{}, false, fmt.Errorf("read a grant: %w", err)
	}
	return g, true, nil
}

// grants returns the sign-ins of a user that are in use, the newest first.
func (a *Accounts) grants(ctx context.Context, user string, now time.Time) ([]grant, error) {
	all, err := collect(ctx, a.db, scanGrant, `
		SELECT `+grantColumns+` FROM grants WHERE "user" = $1 AND used > 0 AND expires > $2 ORDER BY created DESC`, user, now.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("list the grants of user %q: %w", user, err)
	}
	return all, nil
}

// redeem takes a grant's code, once, and returns its first refresh token. It is
// "" for a code that is wrong or was used.
func (a *Accounts) redeem(ctx context.Context, g grant, code string, now time.Time) (refresh string, err error) {
	return a.renew(ctx, g, `code = $4 AND used = 0`, code, now)
}

// rotate takes a grant's refresh token and returns the next. It is "" for one
// that is not good any more.
func (a *Accounts) rotate(ctx context.Context, g grant, refresh string, now time.Time) (next string, err error) {
	return a.renew(ctx, g, `refresh = $4`, refresh, now)
}

func (a *Accounts) renew(ctx context.Context, g grant, condition, credential string, now time.Time) (refresh string, err error) {
	handle, _, _ := strings.Cut(credential, ".")
	refresh = handle + "." + newSecret()
	expires := now.Add(refreshLifetime)
	if expires.After(g.ends) {
		expires = g.ends
	}
	renewed, err := a.db.exec(ctx, `
		UPDATE grants SET refresh = $2, used = $3, expires = $5 WHERE id = $1 AND expires > $3 AND `+condition,
		g.id, digest(refresh), now.UnixMicro(), digest(credential), expires.UnixMicro())
	if err != nil {
		return "", fmt.Errorf("renew a grant: %w", err)
	}
	if renewed == 0 {
		return "", nil
	}
	return refresh, nil
}

// forget ends a grant if it is the user's, and returns its client; "" if it is
// not.
func (a *Accounts) forget(ctx context.Context, user, id string) (client string, err error) {
	err = a.db.row(ctx, `DELETE FROM grants WHERE "user" = $1 AND id = $2 RETURNING client`, user, id).Scan(&client)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("end a grant of user %q: %w", user, err)
	}
	return client, nil
}

// endGrant ends a grant and all its tokens with it.
func (a *Accounts) endGrant(ctx context.Context, id string) error {
	if _, err := a.db.exec(ctx, `DELETE FROM grants WHERE id = $1`, id); err != nil {
		return fmt.Errorf("end a grant: %w", err)
	}
	return nil
}
