package signin

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// browserLifetime is how long a browser is known.
	browserLifetime = 180 * 24 * time.Hour
	// maxBrowsers is how many are known of a user.
	maxBrowsers = 50
)

// A browser in which somebody has signed in keeps a cookie that says so, after
// signing out, too. It opens nothing; it is what tells the owner of an account
// from those who guess at its password from elsewhere.
func (p *Provider) browserCookie() http.Cookie {
	c := p.cookie
	c.Name += "browser"
	c.MaxAge = int(browserLifetime / time.Second)
	return c
}

// knownBrowser returns the cookie of a browser in which user has signed in, or "".
func (p *Provider) knownBrowser(r *http.Request, user string) (string, error) {
	c, err := r.Cookie(p.browserCookie().Name)
	if err != nil {
		return "", nil
	}
	var known bool
	err = p.accounts.db.row(r.Context(), `SELECT EXISTS (SELECT 1 FROM browsers WHERE cookie = $1 AND "user" = $2 AND created > $3)`,
		digest(c.Value), user, p.now().Add(-browserLifetime).UnixMicro()).Scan(&known)
	if err != nil {
		return "", fmt.Errorf("look for a browser: %w", err)
	}
	if !known {
		return "", nil
	}
	return c.Value, nil
}

// rememberBrowser makes a browser known to a user who has signed in.
func (p *Provider) rememberBrowser(w http.ResponseWriter, r *http.Request, user string) error {
	if known, err := p.knownBrowser(r, user); err != nil || known != "" {
		return err
	}
	c := p.browserCookie()
	c.Value = newSecret()
	if err := p.accounts.addBrowser(r.Context(), c.Value, user, p.now()); err != nil {
		return err
	}
	http.SetCookie(w, &c)
	return nil
}

func (a *Accounts) addBrowser(ctx context.Context, cookie, user string, now time.Time) error {
	_, err := a.db.exec(ctx, `INSERT INTO browsers (cookie, "user", created) VALUES ($1, $2, $3)`, digest(cookie), user, now.UnixMicro())
	if err == nil {
		err = a.db.keepNewest(ctx, "browsers", "cookie", "created", user, maxBrowsers)
	}
	if err != nil {
		return fmt.Errorf("remember a browser: %w", err)
	}
	return nil
}
