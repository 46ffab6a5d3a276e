package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"annals/events/sqldb"
)

const (
	// CodeLifetime is how long an authorization code may be redeemed.
	CodeLifetime = time.Minute
	// RefreshLifetime is how long a grant lasts if its refresh token is not used.
	RefreshLifetime = 30 * 24 * time.Hour
	// GrantLifetime is the maximum lifetime of a grant.
	GrantLifetime = 90 * 24 * time.Hour
	// MaxGrants is the maximum number of grants of a user. Adding another ends the oldest.
	MaxGrants = 200
)

// Grant is a user's sign-in to a client.
type Grant struct {
	ID                                  string
	User, Client, Name, Audience, Scope string
	Redirect, Challenge, Nonce          string    // of the authorization request
	Authenticated                       time.Time // when the user signed in
	Created, Used                       time.Time
	Expires                             time.Time // unless the refresh token is used before
	Ends                                time.Time // the latest time to which Expires can be extended
}

// GrantID returns the id of the grant that a code or refresh token belongs to. Both consist of
// a handle, which is the same for all credentials of a grant, and a secret. A replaced token can
// therefore still be attributed to its grant, although only the current one is stored. The id
// appears in access tokens; it is a hash, so that it does not reveal the handle.
func GrantID(credential string) string {
	handle, _, _ := strings.Cut(credential, ".")
	return base64.RawURLEncoding.EncodeToString(Digest(handle)[:16])
}

const grantColumns = `id, "user", client, name, audience, scope, redirect, challenge, nonce, authenticated, created, used, expires, ends`

func scanGrant(row sqldb.Row) (g Grant, err error) {
	var times [5]int64
	err = row.Scan(&g.ID, &g.User, &g.Client, &g.Name, &g.Audience, &g.Scope, &g.Redirect, &g.Challenge, &g.Nonce,
		&times[0], &times[1], &times[2], &times[3], &times[4])
	for i, to := range []*time.Time{&g.Authenticated, &g.Created, &g.Used, &g.Expires, &g.Ends} {
		*to = time.UnixMicro(times[i]).UTC()
	}
	return g, err
}

// AddCode stores the grant g for the user whose session has the given cookie. It returns the
// authorization code of the grant; "" if the session has ended.
func (a *Store) AddCode(ctx context.Context, cookie string, g Grant, now time.Time) (code string, err error) {
	handle := rand.Text()
	code = handle + "." + NewSecret()
	added, err := a.changes(ctx, "store a code", `
		INSERT INTO grants (id, "user", client, name, audience, scope, authenticated, created, code, redirect, challenge, nonce, expires, ends)
		SELECT $1, "user", $2, $3, $4, $5, authenticated, $6, $7, $8, $9, $10, $11, $12 FROM sessions WHERE cookie = $13 AND expires > $6`+a.db.ForShare(),
		GrantID(handle), g.Client, g.Name, g.Audience, g.Scope, now.UnixMicro(), Digest(code), g.Redirect, g.Challenge, g.Nonce,
		now.Add(CodeLifetime).UnixMicro(), now.Add(GrantLifetime).UnixMicro(), Digest(cookie))
	if err != nil || !added {
		return "", err
	}
	return code, a.limitGrants(ctx, g.User, g.Client, now)
}

// limitGrants ends a user's oldest grants if there are more than MaxGrants, and records the use
// of the client.
func (a *Store) limitGrants(ctx context.Context, user, client string, now time.Time) error {
	err := a.keepNewest(ctx, "grants", "id", "created", user, MaxGrants)
	if err == nil {
		_, err = a.db.Exec(ctx, `UPDATE clients SET used = $2 WHERE id = $1`, client, now.UnixMicro())
	}
	if err != nil {
		return fmt.Errorf("limit the grants of user %q: %w", user, err)
	}
	return nil
}

// Grant returns a grant that has not expired.
func (a *Store) Grant(ctx context.Context, id string, now time.Time) (g Grant, found bool, err error) {
	g, err = scanGrant(a.db.Row(ctx, `SELECT `+grantColumns+` FROM grants WHERE id = $1 AND expires > $2`, id, now.UnixMicro()))
	found, err = isFound(err, "read a grant")
	return g, found, err
}

// Grants returns the redeemed grants of a user, newest first.
func (a *Store) Grants(ctx context.Context, user string, now time.Time) ([]Grant, error) {
	all, err := sqldb.Collect(ctx, a.db, scanGrant, `
		SELECT `+grantColumns+` FROM grants WHERE "user" = $1 AND used > 0 AND expires > $2 ORDER BY created DESC`, user, now.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("list the grants of user %q: %w", user, err)
	}
	return all, nil
}

// RedeemCode exchanges the code of a grant for its first refresh token; "" if the code is wrong
// or was used before.
func (a *Store) RedeemCode(ctx context.Context, g Grant, code string, now time.Time) (refresh string, err error) {
	return a.renew(ctx, g, `code = $4 AND used = 0`, code, now)
}

// RotateRefresh replaces the refresh token of a grant and returns the new one; "" if refresh is
// not the current one.
func (a *Store) RotateRefresh(ctx context.Context, g Grant, refresh string, now time.Time) (next string, err error) {
	return a.renew(ctx, g, `refresh = $4`, refresh, now)
}

// renew stores a new refresh token if the SQL condition holds for credential, which is $4.
func (a *Store) renew(ctx context.Context, g Grant, condition, credential string, now time.Time) (refresh string, err error) {
	handle, _, _ := strings.Cut(credential, ".")
	refresh = handle + "." + NewSecret()
	expires := now.Add(RefreshLifetime)
	if expires.After(g.Ends) {
		expires = g.Ends
	}
	renewed, err := a.changes(ctx, "renew a grant", `
		UPDATE grants SET refresh = $2, used = $3, expires = $5 WHERE id = $1 AND expires > $3 AND `+condition,
		g.ID, Digest(refresh), now.UnixMicro(), Digest(credential), expires.UnixMicro())
	if err != nil || !renewed {
		return "", err
	}
	return refresh, nil
}

// EndGrantOf ends a grant of a user and returns its client; "" if the user has no such grant.
func (a *Store) EndGrantOf(ctx context.Context, user, id string) (client string, err error) {
	err = a.db.Row(ctx, `DELETE FROM grants WHERE "user" = $1 AND id = $2 RETURNING client`, user, id).Scan(&client)
	_, err = isFound(err, fmt.Sprintf("end a grant of user %q", user))
	return client, err
}

// EndGrant ends a grant. Its tokens are no longer accepted.
func (a *Store) EndGrant(ctx context.Context, id string) error {
	_, err := a.changes(ctx, "end a grant", `DELETE FROM grants WHERE id = $1`, id)
	return err
}

// Consented reports whether the user of g has a redeemed grant for the same client, audience and
// redirect address. Otherwise the user has to give consent.
func (a *Store) Consented(ctx context.Context, g Grant, now time.Time) (known bool, err error) {
	return a.exists(ctx, "look up a consent", `
		SELECT 1 FROM grants WHERE "user" = $1 AND client = $2 AND audience = $3 AND redirect = $4 AND used > 0 AND expires > $5`,
		g.User, g.Client, g.Audience, g.Redirect, now.UnixMicro())
}

// EverConsented reports whether any user has a redeemed grant for that client and redirect
// address.
func (a *Store) EverConsented(ctx context.Context, client, redirect string) (known bool, err error) {
	return a.exists(ctx, "look up whether any user consented", `SELECT 1 FROM grants WHERE client = $1 AND redirect = $2 AND used > 0`, client, redirect)
}
