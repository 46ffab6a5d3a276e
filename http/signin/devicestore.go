package signin

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// userCodeLetters make no words and are told apart easily (RFC 8628 §6.1).
const (
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8
)

// maxDevices is how many sign-ins of devices wait at once.
const maxDevices = 3000

// device is the sign-in of a device.
type device struct {
	client, audience, scope string
	decision, user          string // "allow" or "deny", and whose it is; "" while there is none
	authenticated, expires  time.Time
	early                   bool // it asks earlier than it was told to
	origin                  []byte
}

// newUserCode returns a code that people can read and type.
func newUserCode() string {
	var code []byte
	for range userCodeLength {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(userCodeLetters))))
		if err != nil {
			panic(err) // crypto/rand does not fail
		}
		code = append(code, userCodeLetters[n.Int64()])
	}
	return plainUserCode(string(code))
}

// addDevice lets a device wait. Where too many do, others on which nobody has
// decided make room.
func (a *Accounts) addDevice(ctx context.Context, d device, code, userCode string, now time.Time) (added bool, err error) {
	for {
		n, err := a.db.exec(ctx, `
			INSERT INTO devices (code, user_code, client, audience, scope, pause, expires, origin)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE (SELECT count(*) FROM devices) < $9 ON CONFLICT DO NOTHING`,
			digest(code), digest(userCode), d.client, d.audience, d.scope, devicePause.Microseconds(), now.Add(deviceLifetime).UnixMicro(),
			d.origin, maxDevices)
		if err != nil {
			return false, fmt.Errorf("store a device code: %w", err)
		}
		if n > 0 {
			return true, nil
		}
		removed, err := a.makeRoom(ctx, "devices", "code", "expires", `decision = ''`)
		if err != nil || removed == 0 {
			return false, err
		}
	}
}

// askDevice returns the sign-in of a client's device, and notes that it asked.
func (a *Accounts) askDevice(ctx context.Context, code, client string, now time.Time) (d device, found bool, err error) {
	var pause, asked int64
	d, found, err = scanDevice(a.db.row(ctx, selectDevice+`, pause, asked FROM devices WHERE code = $1 AND client = $2`,
		digest(code), client), &pause, &asked)
	if err != nil || !found {
		return d, false, err
	}
	d.early = asked > 0 && now.UnixMicro()-asked < pause
	if d.early {
		pause += devicePause.Microseconds()
	}
	if _, err := a.db.exec(ctx, `UPDATE devices SET asked = $2, pause = $3 WHERE code = $1`, digest(code), now.UnixMicro(), pause); err != nil {
		return d, false, fmt.Errorf("note that a device asked: %w", err)
	}
	return d, true, nil
}

// deviceOf returns the sign-in that waits for its user under a code.
func (a *Accounts) deviceOf(ctx context.Context, userCode string, now time.Time) (d device, found bool, err error) {
	return scanDevice(a.db.row(ctx, selectDevice+` FROM devices WHERE user_code = $1 AND decision = '' AND expires > $2`,
		digest(userCode), now.UnixMicro()))
}

const selectDevice = `SELECT client, audience, scope, decision, "user", authenticated, expires`

func scanDevice(row scanner, more ...any) (d device, found bool, err error) {
	var authenticated, expires int64
	err = row.Scan(append([]any{&d.client, &d.audience, &d.scope, &d.decision, &d.user, &authenticated, &expires}, more...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return device{}, false, nil
	}
	if err != nil {
		return device{}, false, fmt.Errorf("look for a device: %w", err)
	}
	d.authenticated, d.expires = time.UnixMicro(authenticated).UTC(), time.UnixMicro(expires).UTC()
	return d, true, nil
}

// decideDevice notes what a user has decided; it reports false where the code or
// the session has ended.
func (a *Accounts) decideDevice(ctx context.Context, userCode, decision string, v visitor, now time.Time) (bool, error) {
	n, err := a.db.exec(ctx, `
		UPDATE devices SET decision = $2, "user" = s."user", authenticated = s.authenticated
		FROM (SELECT "user", authenticated FROM sessions WHERE cookie = $3 AND expires > $4`+a.db.hold+`) AS s
		WHERE user_code = $1 AND decision = '' AND devices.expires > $4`,
		digest(userCode), decision, digest(v.cookie), now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("decide on a device: %w", err)
	}
	return n > 0, nil
}

// redeemDevice turns a device's sign-in into g, whose ID and times it sets, and
// returns its first refresh token; it is "" where that was done before.
func (a *Accounts) redeemDevice(ctx context.Context, code string, g *grant, now time.Time) (refresh string, err error) {
	token := rand.Text() + "." + newSecret()
	g.id = grantID(token)
	err = a.db.together(ctx, func(ctx context.Context, tx *transaction) error {
		refresh = ""
		n, err := tx.exec(ctx, `DELETE FROM devices WHERE code = $1 AND decision = 'allow' AND "user" = $2`, digest(code), g.user)
		if err != nil || n == 0 {
			return err
		}
		refresh = token
		_, err = tx.exec(ctx, `
			INSERT INTO grants (id, "user", client, name, audience, scope, authenticated, created, used, refresh, expires, ends)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11)`,
			g.id, g.user, g.client, g.name, g.audience, g.scope, g.authenticated.UnixMicro(), now.UnixMicro(), digest(token),
			now.Add(refreshLifetime).UnixMicro(), now.Add(grantLifetime).UnixMicro())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("redeem a device code: %w", err)
	}
	if refresh == "" {
		return "", nil
	}
	return refresh, a.boundGrants(ctx, g.user, g.client, now)
}
