package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// sessionLifetime is how long a browser stays signed in.
	sessionLifetime = 12 * time.Hour
	// maxSessions is how many browsers a user is signed in with; the oldest
	// sessions end where there are more.
	maxSessions = 50
)

// newSecret returns 256 random bits as text.
func newSecret() string {
	var bits [32]byte
	rand.Read(bits[:])
	return base64.RawURLEncoding.EncodeToString(bits[:])
}

// digest is what is stored of a secret. Those of newSecret cannot be guessed, so
// a plain hash will do.
func digest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// commonCookie returns what the cookies of an issuer have in common, with how
// their names begin. Where the issuer has a host to itself and https, browsers let nobody else set it.
func commonCookie(issuer *url.URL) http.Cookie {
	c := http.Cookie{
		Name: "annals_", Path: strings.TrimSuffix(issuer.EscapedPath(), "/"),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: issuer.Scheme == "https",
	}
	switch {
	case c.Path == "" && c.Secure:
		c.Name = "__Host-" + c.Name
	case c.Secure:
		c.Name = "__Secure-" + c.Name
	}
	if c.Path == "" {
		c.Path = "/"
	}
	return c
}

// visitor is whoever uses a browser: nobody known, until the cookie is that of a
// session.
type visitor struct {
	cookie        string
	user          string // "" if nobody is signed in
	authenticated time.Time
}

func (v visitor) signedIn() bool { return v.user != "" }

var errSessionEnded = problemf(http.StatusForbidden, "Your session has ended. Open the page anew and sign in.")

// formToken is what a form must bring back. It proves that this service wrote
// the form for this browser, since nobody else knows the cookie.
func (v visitor) formToken() string {
	mac := hmac.New(sha256.New, []byte(v.cookie))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (v visitor) wrote(token string) bool {
	return v.cookie != "" && subtle.ConstantTimeCompare([]byte(token), []byte(v.formToken())) == 1
}

// visitor returns who makes a request, with a cookie that is "" where there is
// none.
func (p *Provider) visitor(r *http.Request) (visitor, error) {
	c, err := r.Cookie(p.cookie.Name + "session")
	if err != nil || len(c.Value) != len(newSecret()) {
		return visitor{}, nil
	}
	return p.accounts.session(r.Context(), c.Value, p.now())
}

// setCookie gives the browser a cookie that ends with it or, at the latest, with
// its session.
func (p *Provider) setCookie(w http.ResponseWriter, value string) {
	c := p.cookie
	c.Name += "session"
	c.Value = value
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, &c)
}

// signIn gives a browser a session under a new cookie; what it had before ends,
// so that a cookie which somebody planted is worth nothing. It reports false
// where the password is no longer the one with that hash. by says what the user
// gave, for the record.
func (p *Provider) signIn(w http.ResponseWriter, r *http.Request, before visitor, account Account, hash, by string) (bool, error) {
	ctx, cookie := r.Context(), newSecret()
	done, err := p.accounts.addSession(ctx, cookie, account.Name, hash, p.now())
	if err != nil || !done {
		return false, err
	}
	if err := p.accounts.endSession(ctx, before.cookie); err != nil {
		return false, err
	}
	p.setCookie(w, cookie)
	p.logger.InfoContext(ctx, "signed in", "user", account.Name, "address", p.address(r), "by", by)
	p.report(r, Event{Kind: SignedIn, User: account.Name, Detail: by})
	return true, p.rememberBrowser(w, r, account.Name)
}

func (a *Accounts) addSession(ctx context.Context, cookie, user, hash string, now time.Time) (bool, error) {
	begun, err := a.db.exec(ctx, `
		INSERT INTO sessions (cookie, "user", authenticated, expires)
		SELECT $1, name, $3, $4 FROM users WHERE name = $2 AND password = $5 AND NOT disabled AND NOT deleted`+a.db.hold,
		digest(cookie), user, now.UnixMicro(), now.Add(sessionLifetime).UnixMicro(), hash)
	if err != nil {
		return false, fmt.Errorf("begin a session: %w", err)
	}
	if begun == 0 {
		return false, nil
	}
	if err := a.db.keepNewest(ctx, "sessions", "cookie", "authenticated", user, maxSessions); err != nil {
		return false, fmt.Errorf("end the oldest sessions: %w", err)
	}
	return true, nil
}

// session returns the visitor with that cookie.
func (a *Accounts) session(ctx context.Context, cookie string, now time.Time) (visitor, error) {
	v := visitor{cookie: cookie}
	var authenticated int64
	err := a.db.row(ctx, `
		SELECT u.name, s.authenticated FROM sessions s JOIN users u ON u.name = s."user"
		WHERE s.cookie = $1 AND s.expires > $2 AND NOT u.disabled AND NOT u.deleted`,
		digest(cookie), now.UnixMicro()).Scan(&v.user, &authenticated)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return visitor{}, fmt.Errorf("look for a session: %w", err)
	}
	v.authenticated = time.UnixMicro(authenticated).UTC()
	return v, nil
}

func (a *Accounts) endSession(ctx context.Context, cookie string) error {
	if _, err := a.db.exec(ctx, `DELETE FROM sessions WHERE cookie = $1`, digest(cookie)); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// signOut ends all sessions and grants of a user: first those from which others
// come, so that none slips through.
func (a *Accounts) signOut(ctx context.Context, user string) error {
	err := a.db.together(ctx, func(ctx context.Context, tx *transaction) error { return signOut(ctx, tx, user) })
	if err != nil {
		return fmt.Errorf("sign user %q out: %w", user, err)
	}
	return nil
}

func signOut(ctx context.Context, tx *transaction, user string) error {
	for _, table := range []string{"sessions", "devices", "grants"} {
		if _, err := tx.exec(ctx, `DELETE FROM `+table+` WHERE "user" = $1`, user); err != nil {
			return err
		}
	}
	return nil
}
