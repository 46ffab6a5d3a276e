package provider

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"annals/http/signin/accounts"
)

// commonCookie returns a cookie with the attributes that all cookies of an issuer have. Its
// name is the common prefix of their names. If the issuer's URL is https without a path, that
// prefix begins with __Host-, which prevents other hosts from setting the cookies.
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
	c.Path = cmp.Or(c.Path, "/")
	return c
}

// visitor is the browser that sent a request, and the user who is signed in there, if any.
type visitor struct {
	cookie        string
	user          string // "" if nobody is signed in
	authenticated time.Time
}

func (v visitor) signedIn() bool { return v.user != "" }

var errSessionEnded = problemf(http.StatusForbidden, "Your session has ended. Reload the page and sign in again.")

// formToken returns the token that forms of this browser must contain. It is derived from the
// session cookie. Other sites do not know the cookie, so they cannot compute the token.
func (v visitor) formToken() string {
	mac := hmac.New(sha256.New, []byte(v.cookie))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (v visitor) validToken(token string) bool {
	return v.cookie != "" && subtle.ConstantTimeCompare([]byte(token), []byte(v.formToken())) == 1
}

// visitor returns the browser that sent a request. It returns the zero value if the request
// has no session cookie.
func (p *Provider) visitor(r *http.Request) (visitor, error) {
	c, err := r.Cookie(p.cookie.Name + "session")
	if err != nil || len(c.Value) != len(accounts.NewSecret()) {
		return visitor{}, nil
	}
	s, _, err := p.accounts.Session(r.Context(), accounts.Digest(c.Value), p.now())
	if err != nil {
		return visitor{}, err
	}
	return visitor{cookie: c.Value, user: s.Name, authenticated: s.Authenticated}, nil
}

// setCookie sets the session cookie, or deletes it if value is "". It has no expiry, so
// browsers delete it when they are closed.
func (p *Provider) setCookie(w http.ResponseWriter, value string) {
	c := p.cookie
	c.Name += "session"
	c.Value = value
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, &c)
}

// signIn starts a session with a new cookie and ends the previous session of the browser. If
// an attacker had set a cookie in the browser, the attacker therefore gains nothing. It
// returns false if the password has changed since hash was read. by is the name of the sign-in
// method for the log.
func (p *Provider) signIn(w http.ResponseWriter, r *http.Request, before visitor, account accounts.Account, hash, by string) (bool, error) {
	ctx, cookie := r.Context(), accounts.NewSecret()
	done, err := p.accounts.BeginSession(ctx, cookie, account.Name, hash, p.now())
	if err != nil || !done {
		return false, err
	}
	if err := p.accounts.EndSession(ctx, before.cookie); err != nil {
		return false, err
	}
	p.setCookie(w, cookie)
	p.logger.InfoContext(ctx, "a user signed in", "user", account.Name, "address", p.Address(r), "by", by)
	p.report(r, accounts.Event{Kind: accounts.SignedIn, User: account.Name, Detail: by})
	return true, p.rememberBrowser(w, r, account.Name)
}
