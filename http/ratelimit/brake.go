package ratelimit

import (
	"context"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"
)

const (
	// freeRefusals is the number of refused requests of a user whose replies are not delayed.
	// One is added each second, up to this number.
	freeRefusals = 20
	// delay is the time by which the reply to each further refused request is delayed.
	delay = time.Second
	// maxDelayed is the maximum number of replies to a user that are delayed at the same time.
	maxDelayed = 64
)

// Brake delays the replies to users who keep sending requests that are refused. A single
// refusal is cheap, but thousands per second are not. The zero value is ready for use, and a
// nil *Brake delays nothing. All methods may be called concurrently.
type Brake struct {
	mu    sync.Mutex
	users map[events.Principal]*offender
}

// offender is a user whose requests were refused recently.
type offender struct {
	free    float64 // number of refusals whose replies are not delayed
	updated time.Time
	delayed int
}

// Refused is called before the reply to a request that failed with err. If the user could have
// avoided the error and had many such errors recently, it waits for a second or until ctx
// ends. It returns false without waiting if too many replies to the user are delayed already.
// The caller should then close the connection.
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

// avoidable reports whether the user could have avoided an error: a limit is used up, or the
// user lacks a right.
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

// forget removes the users who had no refusals recently.
func (b *Brake) forget(now time.Time) {
	for user, u := range b.users {
		if u.refill(now); u.delayed == 0 && u.free == freeRefusals {
			delete(b.users, user)
		}
	}
}
