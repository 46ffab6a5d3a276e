package pow

import (
	"hash/maphash"
	"sync"
	"time"
)

// tallySize is the number of counters in a Tally.
const tallySize = 1 << 14

// Tally counts failures by key in fixed memory. Each key is hashed to one of tallySize
// counters. If two keys share a counter, proofs are required of both after fewer failures.
//
// Counts halve after each half-life. Only failures keep a count high, and each costs its
// client a proof: attempts without a proof are refunded.
type Tally struct {
	halfLife time.Duration
	now      func() time.Time
	seed     maphash.Seed

	mu     sync.Mutex
	counts []count
}

type count struct {
	failures int
	since    time.Time // of the first failure or the last halving
}

// maxHalved caps a count before it is halved. The difficulty reaches its maximum below it, so a
// larger count would only delay the decay.
const maxHalved = 32

// NewTally returns a tally with the given half-life.
func NewTally(halfLife time.Duration, now func() time.Time) *Tally {
	return &Tally{halfLife: halfLife, now: now, seed: maphash.MakeSeed(), counts: make([]count, tallySize)}
}

// decay halves the count of a key as often as is due, and returns it.
func (t *Tally) decay(key string) *count {
	c := &t.counts[maphash.String(t.seed, key)%tallySize]
	now := t.now()
	if c.failures == 0 {
		c.since = now
	} else if times := now.Sub(c.since) / t.halfLife; times > 0 {
		c.failures = min(c.failures, maxHalved) >> min(times, 16)
		c.since = c.since.Add(times * t.halfLife)
	}
	return c
}

// Count returns the number of failures of a key.
func (t *Tally) Count(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decay(key).failures
}

// Take counts an attempt as a failure and returns the number of failures before it. It is
// called before the result of the attempt is known. Otherwise concurrent attempts would all
// see the same count.
func (t *Tally) Take(key string) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.decay(key)
	before = c.failures
	c.failures++
	return before
}

// Refund undoes Take for an attempt that did not fail.
func (t *Tally) Refund(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.decay(key); c.failures > 0 {
		c.failures--
	}
}
