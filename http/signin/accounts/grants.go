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
	// CodeLifetime is how long an authorization code can be redeemed.
	CodeLifetime = time.Minute
	// RefreshLifetime is how long a grant stays valid after the last use of its refresh token.
	RefreshLifetime = 30 * 24 * time.Hour
	// GrantLifetime is the maximum lifetime of a grant, even if its refresh token is used.
	GrantLifetime = 90 * 24 * time.Hour
	// MaxGrants is the maximum number of grants of a user. A further grant ends the oldest
	// one.
	MaxGrants = 200
)

// Grant is an OAuth grant: a user's permission for a client to get tokens in the user's name.
// It ends when it expires or is revoked.
type Grant struct {
	ID                                  string
	User, Client, Name, Audience, Scope string
	Redirect, Challenge, Nonce          string    // of the authorization request
	Authenticated                       time.Time // time at which the user signed in
	Created, Used                       time.Time
	Expires                             time.Time // time at which the grant ends if the refresh token is not used before
	Ends                                time.Time // maximum of Expires
	InBrowser                           bool      // it is of the web pages of this server: see Grant.idle. Not stored
}

// GrantID returns the id of the grant that an authorization code or refresh token belongs to.
// Both have the form handle.secret. The handle is the same for all codes and tokens of a
// grant, so that a refresh token that was replaced can still be attributed to its grant,
// although only the current one is stored. The id is a hash of the handle, because access
// tokens contain it and must not reveal the handle.
func GrantID(credential string) string {
	handle, _, _ := strings.Cut(credential, ".")
	return base64.RawURLEncoding.EncodeToString(Digest(handle)[:16])
}

// idle returns how long the grant stays valid after the last use of its refresh token. The web
// pages use it while somebody looks at them, and lose it when the browser is closed. Therefore
// it does not outlive the session in which the user signed in by much.
func (g Grant) idle() time.Duration {
	if g.InBrowser {
		return SessionLifetime
	}
	return RefreshLifetime
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
// authorization code of g, or "" if the session has ended.
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

// limitGrants deletes the oldest grants of a user if there are more than MaxGrants. It also
// records that a user signed in to the client.
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

// Grant returns the grant with an id. found is false if there is none or it has expired.
func (a *Store) Grant(ctx context.Context, id string, now time.Time) (g Grant, found bool, err error) {
	g, err = scanGrant(a.db.Row(ctx, `SELECT `+grantColumns+` FROM grants WHERE id = $1 AND expires > $2`, id, now.UnixMicro()))
	found, err = isFound(err, "read a grant")
	return g, found, err
}

// Grants returns the grants of a user whose codes were redeemed, newest first.
func (a *Store) Grants(ctx context.Context, user string, now time.Time) ([]Grant, error) {
	all, err := sqldb.Collect(ctx, a.db, scanGrant, `
		SELECT `+grantColumns+` FROM grants WHERE "user" = $1 AND used > 0 AND expires > $2 ORDER BY created DESC`, user, now.UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("list the grants of user %q: %w", user, err)
	}
	return all, nil
}

// RedeemCode exchanges the authorization code of a grant for the first refresh token. It
// returns "" if the code is wrong or was redeemed before.
func (a *Store) RedeemCode(ctx context.Context, g Grant, code string, now time.Time) (refresh string, err error) {
	return a.renew(ctx, g, `code = $4 AND used = 0`, code, now)
}

// RotateRefresh replaces the refresh token of a grant and returns the new one. It returns ""
// if refresh is not the current one.
func (a *Store) RotateRefresh(ctx context.Context, g Grant, refresh string, now time.Time) (next string, err error) {
	return a.renew(ctx, g, `refresh = $4`, refresh, now)
}

// renew stores a new refresh token for a grant and returns it, or returns "" if the SQL
// condition is false. In the condition, $4 is the hash of credential.
func (a *Store) renew(ctx context.Context, g Grant, condition, credential string, now time.Time) (refresh string, err error) {
	handle, _, _ := strings.Cut(credential, ".")
	refresh = handle + "." + NewSecret()
	expires := now.Add(g.idle())
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

// parallel is how long grants of one browser may exist side by side, because it signs in in
// several tabs at once.
const parallel = time.Minute

// EndEarlier ends the grants of the same client and sign-in as g that g replaces: those that
// were created before, except just before.
func (a *Store) EndEarlier(ctx context.Context, g Grant) error {
	_, err := a.changes(ctx, "end earlier grants of a browser", `DELETE FROM grants WHERE "user" = $1 AND client = $2 AND authenticated = $3 AND created < $4`,
		g.User, g.Client, g.Authenticated.UnixMicro(), g.Created.Add(-parallel).UnixMicro())
	return err
}

// EndGrantOf ends a grant of a user and returns the id of its client. It returns "" if the
// user has no grant with that id.
func (a *Store) EndGrantOf(ctx context.Context, user, id string) (client string, err error) {
	err = a.db.Row(ctx, `DELETE FROM grants WHERE "user" = $1 AND id = $2 RETURNING client`, user, id).Scan(&client)
	_, err = isFound(err, fmt.Sprintf("end a grant of user %q", user))
	return client, err
}

// EndGrant ends a grant. Tokens that were issued for it are no longer accepted.
func (a *Store) EndGrant(ctx context.Context, id string) error {
	_, err := a.changes(ctx, "end a grant", `DELETE FROM grants WHERE id = $1`, id)
	return err
}

// Consented reports whether the user of g has consented before: there is a redeemed grant with
// the same client, audience and redirect address.
func (a *Store) Consented(ctx context.Context, g Grant, now time.Time) (known bool, err error) {
	return a.exists(ctx, "look up a consent", `
		SELECT 1 FROM grants WHERE "user" = $1 AND client = $2 AND audience = $3 AND redirect = $4 AND used > 0 AND expires > $5`,
		g.User, g.Client, g.Audience, g.Redirect, now.UnixMicro())
}

// EverConsented reports whether any user has consented before to redirect to that address for
// that client: there is a redeemed grant with both.
func (a *Store) EverConsented(ctx context.Context, client, redirect string) (known bool, err error) {
	return a.exists(ctx, "look up whether any user consented", `SELECT 1 FROM grants WHERE client = $1 AND redirect = $2 AND used > 0`, client, redirect)
}
