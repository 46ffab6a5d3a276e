// Package throttle bounds how often something may be tried, by key, in bounded memory.
//
// It may import the standard library alone.
package throttle

import (
	"sync"
	"time"
)

// Limits is a number of free attempts, and the wait after each further one, which doubles from
// First to Longest. After Quiet without attempts a key starts over.
type Limits struct {
	Free           int
	First, Longest time.Duration
	Quiet          time.Duration
}

// maxKeys bounds how many keys a throttle holds.
const maxKeys = 10_000

// Throttle counts attempts by key, in bounded memory. Each process has its own, so N processes
// allow N times as many attempts.
type Throttle struct {
	limits Limits
	now    func() time.Time

	mu   sync.Mutex
	keys map[string]attempts
}

type attempts struct {
	count      int
	last, next time.Time // the last one; when another is allowed
}

// New returns a throttle that tells the time by now.
func New(l Limits, now func() time.Time) *Throttle {
	return &Throttle{limits: l, now: now, keys: map[string]attempts{}}
}

// Take counts an attempt, before its result is known, so that concurrent ones do not count as
// one. If wait is positive, the attempt must be rejected.
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

// after returns the wait after so many attempts.
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

// Refund takes back an attempt that succeeded.
func (t *Throttle) Refund(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.keys[key]; ok {
		e.count--
		e.next = e.last.Add(t.limits.after(e.count - 1))
		t.keys[key] = e
	}
}

// Reset forgets the attempts of a key.
func (t *Throttle) Reset(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.keys, key)
}

// evict removes the keys that are quiet, or else the one that was quiet for longest.
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
