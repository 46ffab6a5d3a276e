package pow

import (
	"hash/maphash"
	"sync"
	"time"
)

// tallied is the number of counters in a Tally.
const tallied = 1 << 14

// Tally counts failures by key in fixed memory, without evicting keys: two keys that share a
// counter merely need proofs early.
//
// Counts halve as time passes. Attempts alone do not keep one high; that takes failures, each
// with its proof.
type Tally struct {
	half time.Duration
	now  func() time.Time
	seed maphash.Seed

	mu     sync.Mutex
	counts []count
}

type count struct {
	failures int
	since    time.Time // the first failure, or the last halving
}

// mostHalved caps a count when it is halved. A proof is at its hardest far below it, so a
// larger count would only stay there longer.
const mostHalved = 32

// NewTally returns a tally whose counts halve after each half.
func NewTally(half time.Duration, now func() time.Time) *Tally {
	return &Tally{half: half, now: now, seed: maphash.MakeSeed(), counts: make([]count, tallied)}
}

// of returns the current count of a key.
func (t *Tally) of(key string) *count {
	c := &t.counts[maphash.String(t.seed, key)%tallied]
	now := t.now()
	if c.failures == 0 {
		c.since = now
	} else if times := now.Sub(c.since) / t.half; times > 0 {
		c.failures = min(c.failures, mostHalved) >> min(times, 16)
		c.since = c.since.Add(times * t.half)
	}
	return c
}

// Count returns the failures of a key.
func (t *Tally) Count(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(key).failures
}

// Take counts an attempt as a failure before its result is known, so that concurrent ones do
// not count as one. It returns the failures before.
func (t *Tally) Take(key string) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of(key)
	before = c.failures
	c.failures++
	return before
}

// GiveBack takes back an attempt that was no failure.
func (t *Tally) GiveBack(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.of(key); c.failures > 0 {
		c.failures--
	}
}
