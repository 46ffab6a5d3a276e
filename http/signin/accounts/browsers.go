package accounts

import (
	"context"
	"fmt"
	"time"
)

const (
	// BrowserLifetime is how long a browser counts as known to a user after the user has
	// signed in with it.
	BrowserLifetime = 180 * 24 * time.Hour
	// MaxBrowsers is the maximum number of known browsers of a user.
	MaxBrowsers = 50
)

// KnowsBrowser reports whether the user has signed in before with the browser that sent the
// given cookie.
func (a *Store) KnowsBrowser(ctx context.Context, cookie, user string, now time.Time) (known bool, err error) {
	return a.exists(ctx, "look up a browser", `SELECT 1 FROM browsers WHERE cookie = $1 AND "user" = $2 AND created > $3`,
		Digest(cookie), user, now.Add(-BrowserLifetime).UnixMicro())
}

// AddBrowser adds the browser that gets the given cookie to the known browsers of a user.
func (a *Store) AddBrowser(ctx context.Context, cookie, user string, now time.Time) error {
	_, err := a.db.Exec(ctx, `INSERT INTO browsers (cookie, "user", created) VALUES ($1, $2, $3)`, Digest(cookie), user, now.UnixMicro())
	if err == nil {
		err = a.keepNewest(ctx, "browsers", "cookie", "created", user, MaxBrowsers)
	}
	if err != nil {
		return fmt.Errorf("store a known browser: %w", err)
	}
	return nil
}
