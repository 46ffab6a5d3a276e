package ratelimit

import (
	"context"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	// freeRefusals is how many refusals of a user are answered at once; one more
	// is each second.
	freeRefusals = 20
	// brakeTime is how long the answer waits for every refusal beyond those.
	brakeTime = time.Second
	// maxBraked is how many answers to one user wait at the same time.
	maxBraked = 64
)

// Brake slows down clients that go on asking after they were refused: each
// refusal is cheap, but thousands a second are not. Its zero value is ready for
// use, and a nil one lets everything through. It is safe for use by several
// goroutines.
type Brake struct {
	mu    sync.Mutex
	users map[events.Principal]*braked
}

// braked is what is known of a user who was refused lately.
type braked struct {
	free    float64 // refusals that are answered at once
	as      time.Time
	waiting int
}

// Refused is called with the error that a user's request is answered with. If
// that is due to the user, of whom there were many such refusals lately, it waits
// a while, or until ctx ends. It returns false where too many wait already: the
// client's connection should be closed then.
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

// brakes reports whether an error is a refusal that a client can avoid: of a
// limit that is used up, or of what the user may not do.
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

// forget removes the users of whom nothing needs to be known any more.
func (b *Brake) forget(now time.Time) {
	for user, u := range b.users {
		if u.refill(now); u.waiting == 0 && u.free == freeRefusals {
			delete(b.users, user)
		}
	}
}
