package provider

import (
	"net/http"
	"time"

	"annals/http/signin/accounts"
)

// browserCookie returns the cookie, without a value, that marks a known browser: one in which
// a user has signed in before. It stays after the user signs out. It grants no access. It only
// exempts the user's password attempts in this browser from the limits on attempts in unknown
// browsers.
func (p *Provider) browserCookie() http.Cookie {
	c := p.cookie
	c.Name += "browser"
	c.MaxAge = int(accounts.BrowserLifetime / time.Second)
	return c
}

// knownBrowser returns the value of the cookie if the browser is a known browser of user, or
// "" if it is not.
func (p *Provider) knownBrowser(r *http.Request, user string) (string, error) {
	c, err := r.Cookie(p.browserCookie().Name)
	if err != nil {
		return "", nil
	}
	known, err := p.accounts.KnowsBrowser(r.Context(), c.Value, user, p.now())
	if err != nil || !known {
		return "", err
	}
	return c.Value, nil
}

// rememberBrowser makes the browser of a request a known browser of a user.
func (p *Provider) rememberBrowser(w http.ResponseWriter, r *http.Request, user string) error {
	if known, err := p.knownBrowser(r, user); err != nil || known != "" {
		return err
	}
	c := p.browserCookie()
	c.Value = accounts.NewSecret()
	if err := p.accounts.AddBrowser(r.Context(), c.Value, user, p.now()); err != nil {
		return err
	}
	http.SetCookie(w, &c)
	return nil
}
