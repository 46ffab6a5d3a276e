package signin

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// sweepPause is the least time between two sweeps.
	sweepPause = time.Minute
	// unusedClients is how long a program is kept to which nobody has
	// signed in.
	unusedClients = 24 * time.Hour
	// idleClients is how long one is kept to which nobody signs in any more;
	// its last grant has ended long before.
	idleClients = 365 * 24 * time.Hour
)

// sweeper remembers when the store was last swept.
type sweeper struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether it is time for a sweep, once.
func (s *sweeper) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since := now.Sub(s.last); since >= 0 && since < sweepPause {
		return false
	}
	s.last = now
	return true
}

// sweep removes from the store what has expired, every now and then. Nothing
// depends on it but room: what has expired counts for nothing.
func (p *Provider) sweep(ctx context.Context) {
	now := p.now()
	if !p.sweeper.due(now) {
		return
	}
	if err := p.accounts.sweep(ctx, now); err != nil && ctx.Err() == nil {
		p.logger.WarnContext(ctx, "what has expired cannot be removed from the account store", "error", err)
	}
	if p.rotation == 0 {
		return
	}
	if err := p.accounts.rotateOld(ctx, p.rotation, now); err != nil && ctx.Err() == nil {
		p.logger.WarnContext(ctx, "the signing key cannot be replaced", "error", err)
	}
}

func (a *Accounts) sweep(ctx context.Context, now time.Time) error {
	for _, s := range []struct {
		statement string
		before    time.Time
	}{
		{`DELETE FROM sessions WHERE expires <= $1`, now},
		{`DELETE FROM grants WHERE expires <= $1`, now},
		{`DELETE FROM browsers WHERE created <= $1`, now.Add(-browserLifetime)},
		{`DELETE FROM spent WHERE expires <= $1`, now},
		{`DELETE FROM links WHERE expires <= $1`, now},
		{`DELETE FROM tokens WHERE expires <= $1`, now.Add(-tokenMemory)},
		{`DELETE FROM devices WHERE expires <= $1`, now.Add(-deviceMemory)},
		{`DELETE FROM clients WHERE used = 0 AND created <= $1`, now.Add(-unusedClients)},
		{`DELETE FROM clients WHERE used > 0 AND used <= $1`, now.Add(-idleClients)},
	} {
		if _, err := a.db.exec(ctx, s.statement, s.before.UnixMicro()); err != nil {
			return fmt.Errorf("remove what has expired: %w", err)
		}
	}
	return a.deleteRetired(ctx, now)
}
