package provider

import (
	"context"
	"sync"
	"time"
)

// sweepPause is the minimum time between two calls of sweep that do anything.
const sweepPause = time.Minute

// sweeper limits how often sweep deletes expired rows.
type sweeper struct {
	mu   sync.Mutex
	last time.Time
}

// due reports whether expired rows should be deleted now. Of several concurrent callers, only
// one gets true.
func (s *sweeper) due(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if since := now.Sub(s.last); since >= 0 && since < sweepPause {
		return false
	}
	s.last = now
	return true
}

// sweep deletes expired rows, and replaces the signing key if it is old. It does so at most
// once per sweepPause. Expired rows are never used; they are only deleted to free space.
func (p *Provider) sweep(ctx context.Context) {
	now := p.now()
	if !p.sweeper.due(now) {
		return
	}
	if err := p.accounts.RemoveExpired(ctx, now); err != nil && ctx.Err() == nil {
		p.logger.WarnContext(ctx, "deleting expired rows of the account store failed", "error", err)
	}
	if p.rotation == 0 {
		return
	}
	if err := p.accounts.RotateOldKey(ctx, p.rotation, now); err != nil && ctx.Err() == nil {
		p.logger.WarnContext(ctx, "replacing the signing key failed", "error", err)
	}
}
