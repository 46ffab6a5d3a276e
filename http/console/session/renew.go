package session

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"annals/events/fault"
)

const (
	// renewalKept is how long the result of a renewal is kept for requests that were sent with
	// the old cookie. An issuer accepts a refresh token only once.
	renewalKept = 2 * time.Minute
	// maxRenewals is the maximum number of results that are kept.
	maxRenewals = 4096
	// exchangeTimeout is the maximum time for getting tokens from the issuer.
	exchangeTimeout = 20 * time.Second
)

// renewals are the running and the recent renewals of this process, by the hash of the refresh
// token.
type renewals struct {
	now func() time.Time
	mu  sync.Mutex
	all map[[sha256.Size]byte]*renewal
}

type renewal struct {
	begun  time.Time
	result func() (accepted, error) // waits until the renewal has ended
}

// of returns the renewal of a refresh token. If there is none, it is the one that run makes.
func (r *renewals) of(refresh string, run func() (accepted, error)) (accepted, error) {
	id, now := sha256.Sum256([]byte(refresh)), r.now()
	r.mu.Lock()
	known := r.all[id]
	if known == nil || now.Sub(known.begun) > renewalKept {
		for other, old := range r.all {
			if now.Sub(old.begun) > renewalKept || len(r.all) >= maxRenewals {
				delete(r.all, other)
			}
		}
		if r.all == nil {
			r.all = map[[sha256.Size]byte]*renewal{}
		}
		known = &renewal{begun: now, result: sync.OnceValues(run)}
		r.all[id] = known
	}
	r.mu.Unlock()
	a, err := known.result()
	if err != nil && !fault.Is(err, fault.Unauthenticated) { // try again at the next request
		r.mu.Lock()
		if r.all[id] == known {
			delete(r.all, id)
		}
		r.mu.Unlock()
	}
	return a, err
}

// renew gets new tokens for a session. The error is fault.Unauthenticated if the issuer
// refuses, or if the tokens are of another user.
func (m *Manager) renew(r *http.Request, c content) (accepted, error) {
	return m.renewals.of(c.Refresh, func() (accepted, error) {
		// If the browser gives up, the tokens are still needed: it comes back with the old cookie.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(m.issuer.context(r)), exchangeTimeout)
		defer cancel()
		token, id, err := m.issuer.refresh(ctx, c.Refresh)
		if err != nil {
			if !fault.Is(err, fault.Unauthenticated) {
				m.logger.WarnContext(ctx, "cannot renew a session of the console", "user", c.User, "error", err)
			}
			return accepted{}, err
		}
		refresh := token.RefreshToken
		if refresh == "" {
			refresh = c.Refresh // the issuer lets it be used again
		}
		a, err := m.accept(ctx, token.AccessToken, refresh, id)
		switch {
		case err != nil:
			return accepted{}, err
		case a.user.Principal != c.User:
			return accepted{}, fault.Errorf(fault.Unauthenticated, "the issuer has sent tokens of another user")
		}
		if id == "" {
			a.content.Hint = c.Hint
		}
		return a, nil
	})
}
