package pow

import (
	"hash/maphash"
	"sync"
	"time"
)

// tallySize is the number of counters in a Tally.
const tallySize = 1 << 14

// Tally counts failed attempts by key in fixed memory. Each key is hashed to one of tallySize
// counters. If two keys share a counter, clients of both keys must send a proof of work after
// fewer failed attempts.
//
// Counts halve after each half-life. Every attempt is counted by Take. The caller undoes that
// by Refund if the attempt succeeded or was refused for lack of a proof of work. Once a proof
// is required, only attempts with a proof are counted: keeping a count high is expensive.
type Tally struct {
	halfLife time.Duration
	now      func() time.Time
	seed     maphash.Seed

	mu     sync.Mutex
	counts []count
}

type count struct {
	failures int
	since    time.Time // time of the first failure or of the last halving
}

// maxHalved caps a count before it is halved. Counts below it already require the maximum
// difficulty, so a larger count would only take longer to decay.
const maxHalved = 32

// NewTally returns a tally with the given half-life.
func NewTally(halfLife time.Duration, now func() time.Time) *Tally {
	return &Tally{halfLife: halfLife, now: now, seed: maphash.MakeSeed(), counts: make([]count, tallySize)}
}

// decay halves the count of a key for each half-life that has passed, and returns it.
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

// Count returns the number of failed attempts of a key.
func (t *Tally) Count(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decay(key).failures
}

// Take counts an attempt as failed and returns the number of failed attempts before it. The
// caller must call it before it knows whether the attempt succeeds. Otherwise concurrent
// attempts would all get the same number.
func (t *Tally) Take(key string) (before int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.decay(key)
	before = c.failures
	c.failures++
	return before
}

// Refund undoes one Take, for an attempt that turned out not to count as failed.
func (t *Tally) Refund(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.decay(key); c.failures > 0 {
		c.failures--
	}
}
