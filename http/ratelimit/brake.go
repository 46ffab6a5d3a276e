package ratelimit

import (
	"context"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	// freeRefusals is the number of refusals of a user that are sent without delay. One
	// more is allowed each second.
	freeRefusals = 20
	// brakeTime is the delay of every refusal beyond those.
	brakeTime = time.Second
	// maxBraked is the maximum number of delayed replies per user.
	maxBraked = 64
)

// Brake slows down clients that continue after refusals: each refusal is cheap, but
// thousands per second are not. Its zero value is ready for use, and a nil Brake delays
// nothing. It is safe for use by several goroutines.
type Brake struct {
	mu    sync.Mutex
	users map[events.Principal]*braked
}

// braked is a user with recent refusals.
type braked struct {
	free    float64 // refusals that are sent without delay
	as      time.Time
	waiting int
}

// Refused is called with the error of a request. If the user could have avoided it and had
// many such errors recently, it waits for a while or until ctx ends. It returns false if
// too many requests wait already; the connection should be closed then.
func (b *Brake) Refused(ctx context.Context, user events.Principal, err error) bool {
	if b == nil || !brakes(err) {
		return true
	}
	u, wait, ok := b.take(user, time.Now())
	if !wait {
		return ok
	}
	timer := time.NewTimer(brakeTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u.waiting--
	return true
}

// brakes reports whether an error is a refusal that a client can avoid: a limit is used
// up, or the user lacks a right.
func brakes(err error) bool {
	switch fault.KindOf(err) {
	case fault.Exhausted, fault.TooLarge, fault.Forbidden:
		return true
	}
	return false
}

func (b *Brake) take(user events.Principal, now time.Time) (u *braked, wait, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == nil {
		b.users = make(map[events.Principal]*braked)
	}
	if u = b.users[user]; u == nil {
		if len(b.users) >= maxUsers {
			b.forget(now)
		}
		u = &braked{free: freeRefusals, as: now}
		b.users[user] = u
	}
	u.refill(now)
	switch {
	case u.free >= 1:
		u.free--
		return u, false, true
	case u.waiting >= maxBraked:
		return u, false, false
	}
	u.waiting++
	return u, true, true
}

func (u *braked) refill(now time.Time) {
	if since := now.Sub(u.as); since > 0 {
		u.free = min(freeRefusals, u.free+since.Seconds())
		u.as = now
	}
}

// forget removes users without recent refusals.
func (b *Brake) forget(now time.Time) {
	for user, u := range b.users {
		if u.refill(now); u.waiting == 0 && u.free == freeRefusals {
			delete(b.users, user)
		}
	}
}
