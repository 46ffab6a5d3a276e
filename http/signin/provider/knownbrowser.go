package provider

import (
	"net/http"
	"time"

	"annals/http/signin/accounts"
)

// browserCookie returns the cookie, without its value, that marks a browser in which a user has
// signed in, even after signing out. It grants no rights. It only exempts the user from the
// limits on password attempts from unknown browsers.
func (p *Provider) browserCookie() http.Cookie {
	c := p.cookie
	c.Name += "browser"
	c.MaxAge = int(accounts.BrowserLifetime / time.Second)
	return c
}

// knownBrowser returns the cookie of a browser in which user has signed in before, or "".
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

// rememberBrowser makes a browser a known browser of a user who has signed in.
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
