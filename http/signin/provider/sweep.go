package provider

import (
	"context"
	"sync"
	"time"
)

const (
	// sweepPause is the least time between two sweeps.
	sweepPause = time.Minute
)

// sweeper knows when the store was last swept.
type sweeper struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether a sweep is due, to one caller.
func (s *sweeper) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since := now.Sub(s.last); since >= 0 && since < sweepPause {
		return false
	}
	s.last = now
	return true
}

// sweep deletes expired rows from time to time. It only frees space, since expired rows are
// never used.
func (p *Provider) sweep(ctx context.Context) {
	now := p.now()
	if !p.sweeper.due(now) {
		return
	}
	if err := p.accounts.RemoveExpired(ctx, now); err != nil && ctx.Err() == nil {
		p.logger.WarnContext(ctx, "expired rows cannot be deleted from the account store", "error", err)
	}
	if p.rotation == 0 {
		return
	}
	if err := p.accounts.RotateOldKey(ctx, p.rotation, now); err != nil && ctx.Err() == nil {
		p.logger.WarnContext(ctx, "the signing key cannot be replaced", "error", err)
	}
}
