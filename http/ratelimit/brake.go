package ratelimit

import (
	"context"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	// freeRefusals is the number of refusals that are sent to a user without delay. One more
	// is allowed each second.
	freeRefusals = 20
	// delay is the delay of each further refusal.
	delay = time.Second
	// maxDelayed is the maximum number of concurrently delayed replies to a user.
	maxDelayed = 64
)

// Brake delays replies to clients that keep sending requests that are refused: one refusal
// is cheap, but thousands per second are not. The zero value is ready for use, and a nil
// Brake delays nothing. It is safe for use by several goroutines.
type Brake struct {
	mu    sync.Mutex
	users map[events.Principal]*offender
}

// offender is a user with recent refusals.
type offender struct {
	free    float64 // refusals that are still sent without delay
	updated time.Time
	delayed int
}

// Refused is called with the error of a request. If the user could have avoided it and had
// many such errors recently, it waits for a second or until ctx ends. It returns false if
// too many replies are delayed already: the caller should close the connection.
func (b *Brake) Refused(ctx context.Context, user events.Principal, err error) bool {
	if b == nil || !avoidable(err) {
		return true
	}
	u, wait, ok := b.admit(user, time.Now())
	if !wait {
		return ok
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u.delayed--
	return true
}

// avoidable reports whether a client could have avoided an error: a limit is used up, or
// the user lacks a right.
func avoidable(err error) bool {
	switch fault.KindOf(err) {
	case fault.Exhausted, fault.TooLarge, fault.Forbidden:
		return true
	}
	return false
}

func (b *Brake) admit(user events.Principal, now time.Time) (u *offender, wait, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == nil {
		b.users = make(map[events.Principal]*offender)
	}
	if u = b.users[user]; u == nil {
		if len(b.users) >= maxUsers {
			b.forget(now)
		}
		u = &offender{free: freeRefusals, updated: now}
		b.users[user] = u
	}
	u.refill(now)
	switch {
	case u.free >= 1:
		u.free--
		return u, false, true
	case u.delayed >= maxDelayed:
		return u, false, false
	}
	u.delayed++
	return u, true, true
}

func (u *offender) refill(now time.Time) {
	if since := now.Sub(u.updated); since > 0 {
		u.free = min(freeRefusals, u.free+since.Seconds())
		u.updated = now
	}
}

// forget removes users without recent refusals.
func (b *Brake) forget(now time.Time) {
	for user, u := range b.users {
		if u.refill(now); u.delayed == 0 && u.free == freeRefusals {
			delete(b.users, user)
		}
	}
}
