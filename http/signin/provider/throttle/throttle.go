// Package throttle limits the rate of attempts by key, in bounded memory.
//
// It may import the standard library alone.
package throttle

import (
	"sync"
	"time"
)

// Limits describes a rate limit. The first Free attempts need no wait between them. The wait
// after each further attempt doubles from First to Longest. After Quiet without attempts the
// count starts again at zero.
type Limits struct {
	Free           int
	First, Longest time.Duration
	Quiet          time.Duration
}

// maxKeys bounds the number of keys in a throttle.
const maxKeys = 10_000

// Throttle counts attempts by key. Each process counts separately, so that N processes allow N
// times as many attempts.
type Throttle struct {
	limits Limits
	now    func() time.Time

	mu   sync.Mutex
	keys map[string]attempts
}

type attempts struct {
	count int
	last  time.Time // time of the last attempt
	next  time.Time // time from which on another attempt is allowed
}

// New returns a throttle that reads the time from now.
func New(l Limits, now func() time.Time) *Throttle {
	return &Throttle{limits: l, now: now, keys: map[string]attempts{}}
}

// Take counts an attempt. If the returned wait is positive, the caller must reject the attempt,
// which is not counted. Take is called before the result of the attempt is known. Otherwise
// concurrent attempts would all see the same count.
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

// after returns the wait after the given number of attempts.
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

// Refund undoes Take for an attempt that succeeded.
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

// evict removes all keys without attempts for Quiet. If there are none, it removes the key whose
// last attempt is the oldest.
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
