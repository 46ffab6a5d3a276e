package accounts

import (
	"context"
	"fmt"
	"time"
)

const (
	// unusedClientRetention is how long a registered client is kept if no user signs in to it.
	unusedClientRetention = 24 * time.Hour
	// idleClientRetention is how long a client is kept after the last sign-in to it. All of
	// its grants have expired before.
	idleClientRetention = 365 * 24 * time.Hour
)

// RemoveExpired deletes expired rows, unused clients and retired keys.
func (a *Store) RemoveExpired(ctx context.Context, now time.Time) error {
	for _, s := range []struct {
		statement string
		before    time.Time
	}{
		{`DELETE FROM sessions WHERE expires <= $1`, now},
		{`DELETE FROM grants WHERE expires <= $1`, now},
		{`DELETE FROM browsers WHERE created <= $1`, now.Add(-BrowserLifetime)},
		{`DELETE FROM spent WHERE expires <= $1`, now},
		{`DELETE FROM links WHERE expires <= $1`, now},
		{`DELETE FROM tokens WHERE expires <= $1`, now.Add(-tokenRetention)},
		{`DELETE FROM devices WHERE expires <= $1`, now.Add(-deviceRetention)},
		{`DELETE FROM clients WHERE used = 0 AND created <= $1`, now.Add(-unusedClientRetention)},
		{`DELETE FROM clients WHERE used > 0 AND used <= $1`, now.Add(-idleClientRetention)},
	} {
		if _, err := a.db.Exec(ctx, s.statement, s.before.UnixMicro()); err != nil {
			return fmt.Errorf("delete expired rows: %w", err)
		}
	}
	return a.deleteRetired(ctx, now)
}
