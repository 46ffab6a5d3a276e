package accounts

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
	"time"

	"annals/events/sqldb"
)

const (
	// DeviceLifetime is how long a device code is valid. Within this time the user has to
	// allow or deny the sign-in.
	DeviceLifetime = 10 * time.Minute
	// deviceRetention is how long an expired device code is kept, so that the device learns
	// from its next poll that the code has expired.
	deviceRetention = 10 * time.Minute
	// DevicePause is the minimum time between two polls of a device. Each poll that comes too
	// early extends the minimum time of that device by DevicePause (RFC 8628 §3.5).
	DevicePause = 5 * time.Second
)

// userCodeLetters are the letters of user codes. They are easy to distinguish, and form no
// words because there are no vowels (RFC 8628 §6.1).
const (
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8
)

// MaxDevices is the maximum number of stored device codes.
const MaxDevices = 3000

// Device is a pending sign-in of a device without a browser.
type Device struct {
	Client, Audience, Scope string
	Decision                string    // "allow" or "deny"; "" until the user decides
	User                    string    // name of the user who decided
	Authenticated           time.Time // time at which that user had signed in
	Expires                 time.Time
	PolledEarly             bool // whether the last poll came too early
}

// NewUserCode returns a random user code, which the device shows and the user types.
func NewUserCode() string {
	var code []byte
	for range userCodeLength {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(userCodeLetters))))
		if err != nil {
			panic(err) // unreachable, because crypto/rand never fails
		}
		code = append(code, userCodeLetters[n.Int64()])
	}
	return PlainUserCode(string(code))
}

// AddDevice stores a pending sign-in. If there are already MaxDevices, it deletes pending
// sign-ins that no user has decided yet. added is false if every sign-in is decided.
func (a *Store) AddDevice(ctx context.Context, d Device, code, userCode, address string, now time.Time) (added bool, err error) {
	origin, err := a.origin(ctx, address)
	if err != nil {
		return false, err
	}
	for {
		added, err := a.changes(ctx, "store a device code", `
			INSERT INTO devices (code, user_code, client, audience, scope, pause, expires, origin)
			SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE (SELECT count(*) FROM devices) < $9 ON CONFLICT DO NOTHING`,
			Digest(code), Digest(userCode), d.Client, d.Audience, d.Scope, DevicePause.Microseconds(), now.Add(DeviceLifetime).UnixMicro(),
			origin, MaxDevices)
		if added || err != nil {
			return added, err
		}
		removed, err := a.evict(ctx, "devices", "code", "expires", `decision = ''`)
		if err != nil || removed == 0 {
			return false, err
		}
	}
}

// PollDevice returns the sign-in that belongs to a device code, if the code was issued to the
// client, and records the time of the poll.
func (a *Store) PollDevice(ctx context.Context, code, client string, now time.Time) (d Device, found bool, err error) {
	var pause, asked int64
	d, found, err = scanDevice(a.db.Row(ctx, selectDevice+`, pause, asked FROM devices WHERE code = $1 AND client = $2`,
		Digest(code), client), &pause, &asked)
	if err != nil || !found {
		return d, false, err
	}
	d.PolledEarly = asked > 0 && now.UnixMicro()-asked < pause
	if d.PolledEarly {
		pause += DevicePause.Microseconds()
	}
	if _, err := a.db.Exec(ctx, `UPDATE devices SET asked = $2, pause = $3 WHERE code = $1`, Digest(code), now.UnixMicro(), pause); err != nil {
		return d, false, fmt.Errorf("record a poll of a device: %w", err)
	}
	return d, true, nil
}

// PendingDevice returns the sign-in with a user code if it was neither decided nor has
// expired.
func (a *Store) PendingDevice(ctx context.Context, userCode string, now time.Time) (d Device, found bool, err error) {
	return scanDevice(a.db.Row(ctx, selectDevice+` FROM devices WHERE user_code = $1 AND decision = '' AND expires > $2`,
		Digest(userCode), now.UnixMicro()))
}

const selectDevice = `SELECT client, audience, scope, decision, "user", authenticated, expires`

func scanDevice(row sqldb.Row, more ...any) (d Device, found bool, err error) {
	var authenticated, expires int64
	err = row.Scan(append([]any{&d.Client, &d.Audience, &d.Scope, &d.Decision, &d.User, &authenticated, &expires}, more...)...)
	if found, err = isFound(err, "look up a device code"); !found {
		return Device{}, false, err
	}
	d.Authenticated, d.Expires = time.UnixMicro(authenticated).UTC(), time.UnixMicro(expires).UTC()
	return d, true, nil
}

// DecideDevice stores the decision of the user whose session has the given cookie. It returns
// false if the user code has expired or was decided before, or if the session has ended.
func (a *Store) DecideDevice(ctx context.Context, userCode, decision, cookie string, now time.Time) (bool, error) {
	return a.changes(ctx, "record the decision on a device", `
		UPDATE devices SET decision = $2, "user" = s."user", authenticated = s.authenticated
		FROM (SELECT "user", authenticated FROM sessions WHERE cookie = $3 AND expires > $4`+a.db.ForShare()+`) AS s
		WHERE user_code = $1 AND decision = '' AND devices.expires > $4`,
		Digest(userCode), decision, Digest(cookie), now.UnixMicro())
}

// RedeemDevice deletes a device code that the user has allowed, stores the grant g in its
// place, and sets g.ID. It returns the first refresh token of g, or "" if the code was
// redeemed before.
func (a *Store) RedeemDevice(ctx context.Context, code string, g *Grant, now time.Time) (refresh string, err error) {
	token := rand.Text() + "." + NewSecret()
	g.ID = GrantID(token)
	err = a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		refresh = ""
		n, err := tx.Exec(ctx, `DELETE FROM devices WHERE code = $1 AND decision = 'allow' AND "user" = $2`, Digest(code), g.User)
		if err != nil || n == 0 {
			return err
		}
		refresh = token
		_, err = tx.Exec(ctx, `
			INSERT INTO grants (id, "user", client, name, audience, scope, authenticated, created, used, refresh, expires, ends)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11)`,
			g.ID, g.User, g.Client, g.Name, g.Audience, g.Scope, g.Authenticated.UnixMicro(), now.UnixMicro(), Digest(token),
			now.Add(RefreshLifetime).UnixMicro(), now.Add(GrantLifetime).UnixMicro())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("redeem a device code: %w", err)
	}
	if refresh == "" {
		return "", nil
	}
	return refresh, a.limitGrants(ctx, g.User, g.Client, now)
}

// PlainUserCode returns the user code that a user has typed, in the form in which devices show
// it. It returns "" if the text is not a user code.
func PlainUserCode(typed string) string {
	letters := strings.Map(func(r rune) rune {
		if strings.ContainsRune(userCodeLetters, r) {
			return r
		}
		return -1
	}, strings.ToUpper(typed))
	if len(letters) != userCodeLength {
		return ""
	}
	return letters[:userCodeLength/2] + "-" + letters[userCodeLength/2:]
}
