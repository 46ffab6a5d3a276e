// Package throttle limits the rate of attempts by key, in bounded memory.
//
// It may import the standard library alone.
package throttle

import (
	"sync"
	"time"
)

// Limits describes a rate limit for attempts. The first Free attempts may follow each other
// without a wait. After each further attempt the caller has to wait; this wait doubles from
// First up to Longest. After no attempt for the time Quiet, the number of attempts is zero
// again.
type Limits struct {
	Free           int
	First, Longest time.Duration
	Quiet          time.Duration
}

// maxKeys is the maximum number of keys in a Throttle.
const maxKeys = 10_000

// Throttle counts attempts by key, such as a client address. Each process counts separately: N
// processes allow N times as many attempts.
type Throttle struct {
	limits Limits
	now    func() time.Time

	mu   sync.Mutex
	keys map[string]attempts
}

type attempts struct {
	count int
	last  time.Time // time of the last attempt
	next  time.Time // time from which the next attempt is allowed
}

// New returns a Throttle. now returns the current time.
func New(l Limits, now func() time.Time) *Throttle {
	return &Throttle{limits: l, now: now, keys: map[string]attempts{}}
}

// Take counts an attempt and returns 0, or returns how long the caller must wait. If wait is
// positive, the attempt is not counted, and the caller must reject it. Take must be called
// before it is known whether the attempt succeeds. Otherwise concurrent attempts would all see
// the same count.
func (t *Throttle) Take(key string) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	e, known := t.keys[key]
	if known && now.Sub(e.last) > t.limits.Quiet {
		e = attempts{}
	}
	if now.Before(e.next) {
		return e.next.Sub(now)
	}
	if !known && len(t.keys) >= maxKeys {
		t.evict(now)
	}
	e.count++
	e.last, e.next = now, now.Add(t.limits.after(e.count))
	t.keys[key] = e
	return 0
}

// after returns how long to wait after a number of attempts.
func (l Limits) after(count int) time.Duration {
	if count < l.Free {
		return 0
	}
	wait := l.First
	for range min(count-l.Free, 32) {
		if wait *= 2; wait >= l.Longest {
			return l.Longest
		}
	}
	return wait
}

// Refund undoes one Take, for an attempt that turned out to be right.
func (t *Throttle) Refund(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.keys[key]; ok {
		e.count--
		e.next = e.last.Add(t.limits.after(e.count - 1))
		t.keys[key] = e
	}
}

// Reset sets the number of attempts of a key to zero.
func (t *Throttle) Reset(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.keys, key)
}

// evict removes all keys without attempts for the time Quiet. If there are none, it removes
// the key whose last attempt is oldest.
func (t *Throttle) evict(now time.Time) {
	oldest, at := "", now
	for key, e := range t.keys {
		if now.Sub(e.last) > t.limits.Quiet {
			delete(t.keys, key)
		} else if !e.last.After(at) {
			oldest, at = key, e.last
		}
	}
	if len(t.keys) >= maxKeys {
		delete(t.keys, oldest)
	}
}
