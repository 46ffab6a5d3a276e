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
type Tally struct {
	quiet time.Duration
	now   func() time.Time
	seed  maphash.Seed

	mu     sync.Mutex
	counts []count
}

type count struct {
	failures int
	last     time.Time
}

// NewTally returns a tally whose counts begin anew after being quiet for so long.
func NewTally(quiet time.Duration, now func() time.Time) *Tally {
	return &Tally{quiet: quiet, now: now, seed: maphash.MakeSeed(), counts: make([]count, tallied)}
}

func (t *Tally) of(key string) *count {
	return &t.counts[maphash.String(t.seed, key)%tallied]
}

// Count returns the failures of a key.
func (t *Tally) Count(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.of(key); t.now().Sub(c.last) <= t.quiet {
		return c.failures
	}
	return 0
}

// Take counts a try as a failure, before it is known how it ends: many at once must
// not pass as one. It returns the failures of before.
func (t *Tally) Take(key string) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, now := t.of(key), t.now()
	if now.Sub(c.last) > t.quiet {
		c.failures = 0
	}
	before = c.failures
	c.failures, c.last = before+1, now
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
