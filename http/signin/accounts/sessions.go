package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"annals/events/sqldb"
)

const (
	// SessionLifetime is how long a browser stays signed in.
	SessionLifetime = 12 * time.Hour
	// MaxSessions is the maximum number of sessions of a user. A further session ends the
	// oldest one.
	MaxSessions = 50
)

// Session is the session of a user in a browser.
type Session struct {
	Account
	Authenticated time.Time // time at which the user signed in
}

// NewSecret returns 256 random bits in base64url.
func NewSecret() string {
	var bits [32]byte
	rand.Read(bits[:])
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// Digest returns the SHA-256 of a secret, which is stored in place of the secret. Secrets of
// NewSecret are too random to be guessed, so they need no salted, slow hash.
func Digest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// BeginSession stores a session for a user. hash is the password hash with which the user was
// authenticated. It returns false if the password has changed since, or if the user is
// disabled or deleted.
func (a *Store) BeginSession(ctx context.Context, cookie, user, hash string, now time.Time) (bool, error) {
	begun, err := a.changes(ctx, "begin a session", `
		INSERT INTO sessions (cookie, "user", authenticated, expires)
		SELECT $1, name, $3, $4 FROM users WHERE name = $2 AND password = $5 AND NOT disabled AND NOT deleted`+a.db.ForShare(),
		Digest(cookie), user, now.UnixMicro(), now.Add(SessionLifetime).UnixMicro(), hash)
	if err != nil || !begun {
		return false, err
	}
	if _, err := a.changes(ctx, "record a sign-in", `UPDATE users SET signed_in = $2 WHERE name = $1`, user, now.UnixMicro()); err != nil {
		return false, err
	}
	if err := a.keepNewest(ctx, "sessions", "cookie", "authenticated", user, MaxSessions); err != nil {
		return false, fmt.Errorf("end the oldest sessions: %w", err)
	}
	return true, nil
}

// Session returns the session whose cookie has the given digest. found is false if the session
// has ended or its user is disabled.
func (a *Store) Session(ctx context.Context, cookie []byte, now time.Time) (s Session, found bool, err error) {
	var authenticated int64
	s.Account, err = scanAccountAnd(a.db.Row(ctx, `
		SELECT u.name, u.admin, u.groups, u.disabled, u.service, u.created, u.signed_in, s.authenticated FROM sessions s JOIN users u ON u.name = s."user"
		WHERE s.cookie = $1 AND s.expires > $2 AND NOT u.disabled AND NOT u.deleted`, cookie, now.UnixMicro()), &authenticated)
	if found, err = isFound(err, "look up a session"); !found {
		return Session{}, false, err
	}
	s.Authenticated = time.UnixMicro(authenticated).UTC()
	return s, true, nil
}

// EndSession ends the session with the given cookie, if there is one.
func (a *Store) EndSession(ctx context.Context, cookie string) error {
	_, err := a.changes(ctx, "end a session", `DELETE FROM sessions WHERE cookie = $1`, Digest(cookie))
	return err
}

// SignOut ends all sessions, device sign-ins and grants of a user. It ends the sessions first,
// because a session could otherwise create further device sign-ins and grants.
func (a *Store) SignOut(ctx context.Context, user string) error {
	err := a.db.Transaction(ctx, func(ctx context.Context, tx *sqldb.Tx) error { return signOut(ctx, tx, user) })
	if err != nil {
		return fmt.Errorf("sign user %q out: %w", user, err)
	}
	return nil
}

func signOut(ctx context.Context, tx *sqldb.Tx, user string) error {
	for _, table := range []string{"sessions", "devices", "grants"} {
		if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE "user" = $1`, user); err != nil {
			return err
		}
	}
	return nil
}
