package pow

import (
	"hash/maphash"
	"sync"
	"time"
)

// tallied is how many counts a Tally has.
const tallied = 1 << 14

// Tally counts failures by key. Its memory is fixed, and no key pushes out
// another: two that share a count are both asked for proofs early, which costs
// their people a moment.
//
// Counts are halved again and again while time passes, whatever is tried
// meanwhile: to keep one high takes failures, each with its proof, and not tries
// alone.
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

// mostHalved is what any larger count is taken for when it is halved. A proof is
// at its hardest well below it, so a count that is larger stays there no longer.
const mostHalved = 32

// NewTally returns a tally whose counts are halved whenever so much time has passed.
func NewTally(half time.Duration, now func() time.Time) *Tally {
	return &Tally{half: half, now: now, seed: maphash.MakeSeed(), counts: make([]count, tallied)}
}

// of returns the count of a key as it is now.
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

// Take counts a try as a failure, before it is known how it ends: many at once must
// not pass as one. It returns the failures of before.
func (t *Tally) Take(key string) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.of(key)
	before = c.failures
	c.failures++
	return before
}

// GiveBack takes back a try that was no failure.
func (t *Tally) GiveBack(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.of(key); c.failures > 0 {
		c.failures--
	}
}
