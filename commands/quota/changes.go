package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"

	"golang.org/x/time/rate"
)

// Changes limits how many bytes per hour each user adds to the log by renaming, tagging,
// moving, sharing and deleting. The log never drops these bytes. Each user has a token
// bucket with the bytes of one hour. Set the fields of Changes before the first call. A nil
// Changes limits nothing. It is safe for concurrent use.
type Changes struct {
	// Limits returns the limits of a user, of which only Changed is used.
	Limits func(context.Context, events.User) (Limits, error)
	Refuse func(kind string) // called for each refusal; may be nil

	now func() time.Time // time.Now if nil

	mu    sync.Mutex
	users map[events.Principal]*Budget
}

const (
	minCost = 512 // minimum number of bytes charged for an event, for its metadata and indexes
	// changesPeriod is the time in which an empty bucket fills up.
	changesPeriod = time.Hour
	// If more than maxBudgets budgets are cached, the full ones are dropped.
	maxBudgets = 10_000
	// limitTTL is how long a user's limit is cached.
	limitTTL = 5 * time.Second
)

// Cost returns how many bytes a user is charged for events.
func Cost(data ...events.Data) (n int64) {
	for _, d := range data {
		b, err := json.Marshal(d)
		if err != nil {
			panic(fmt.Sprintf("quota: %T cannot be encoded: %v", d, err)) // cannot happen for plain structs
		}
		n += max(minCost, int64(len(b)))
	}
	return n
}

// Budget is the token bucket of one user. A nil Budget is unlimited.
type Budget struct {
	changes *Changes
	limit   int64
	limitAt time.Time // when limit was read
	bucket  *rate.Limiter
	pending int64 // bytes of changes that are being appended
	opened  int   // number of callers that have opened the budget and not closed it
}

// Open returns the budget of a user. Close it after use.
func (c *Changes) Open(ctx context.Context, user events.User) (*Budget, error) {
	if c == nil || user.Admin || user.Principal == "" {
		return nil, nil
	}
	c.mu.Lock()
	if b := c.users[user.Principal]; b != nil && c.clock().Sub(b.limitAt) < limitTTL {
		defer c.mu.Unlock()
		b.opened++
		return b, nil
	}
	c.mu.Unlock()
	limits, err := c.Limits(ctx, user)
	if err != nil || limits[Changed] == 0 {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.budget(user.Principal, limits[Changed])
	b.opened++
	return b, nil
}

// Close ends the caller's use of the budget.
func (b *Budget) Close() {
	if b != nil {
		b.changes.mu.Lock()
		defer b.changes.mu.Unlock()
		b.opened--
	}
}

func (c *Changes) budget(user events.Principal, limit int64) *Budget {
	now := c.clock()
	if c.users == nil {
		c.users = make(map[events.Principal]*Budget)
	}
	b := c.users[user]
	if b == nil {
		if len(c.users) >= maxBudgets {
			c.dropFull(now)
		}
		b = &Budget{changes: c, limit: limit, bucket: rate.NewLimiter(perSecond(limit), int(limit))}
		c.users[user] = b
	}
	b.limitAt = now
	if b.limit != limit {
		spent := float64(b.limit) - b.bucket.TokensAt(now)
		b.limit, b.bucket = limit, rate.NewLimiter(perSecond(limit), int(limit))
		b.bucket.ReserveN(now, int(min(spent, float64(limit))))
	}
	return b
}

func perSecond(limit int64) rate.Limit { return rate.Limit(float64(limit) / changesPeriod.Seconds()) }

// dropFull drops the budgets that are full and not open.
func (c *Changes) dropFull(now time.Time) {
	for user, b := range c.users {
		if b.opened == 0 && b.bucket.TokensAt(now) >= float64(b.limit) {
			delete(c.users, user)
		}
	}
}

func (c *Changes) clock() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}

// Spend runs do, which appends events, and charges the user the given bytes if do succeeds.
// If the budget is too small, Spend does not run do, and the error is fault.Exhausted.
func (b *Budget) Spend(bytes int64, do func() error) (err error) {
	if b == nil {
		return do()
	}
	c := b.changes
	c.mu.Lock()
	if err := b.check(bytes); err != nil {
		c.mu.Unlock()
		return err
	}
	b.pending += bytes
	c.mu.Unlock()
	done := false
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		b.pending -= bytes
		if done {
			b.charge(bytes)
		}
	}()
	err = do()
	done = err == nil
	return err
}

// Check returns the error that Spend would return before running do. It charges nothing.
// With 0 bytes it returns an error if the budget is overdrawn.
func (b *Budget) Check(bytes int64) error {
	if b == nil {
		return nil
	}
	b.changes.mu.Lock()
	defer b.changes.mu.Unlock()
	return b.check(bytes)
}

// Charge charges the user for events that are in the log already. It may overdraw the
// budget.
func (b *Budget) Charge(bytes int64) {
	if b != nil && bytes > 0 {
		b.changes.mu.Lock()
		defer b.changes.mu.Unlock()
		b.charge(bytes)
	}
}

// charge takes bytes from the bucket, and may overdraw it.
func (b *Budget) charge(bytes int64) {
	now := b.changes.clock()
	for ; bytes > 0; bytes -= b.limit { // ReserveN takes at most the size of the bucket
		b.bucket.ReserveN(now, int(min(bytes, b.limit)))
	}
}

// check returns an error if a change of this size exceeds the budget. A full bucket allows a
// change of any size.
func (b *Budget) check(bytes int64) error {
	left := b.bucket.TokensAt(b.changes.clock()) - float64(b.pending)
	short := float64(min(bytes, b.limit)) - left
	if short <= 0 {
		return nil
	}
	if b.changes.Refuse != nil {
		b.changes.Refuse(Changed.String())
	}
	wait := max(time.Second, time.Duration(short/float64(b.limit)*float64(changesPeriod)).Truncate(time.Second)+time.Second)
	return fault.Later(Changed.String(), wait, "you have used up the %s that your changes may add to the log in an hour: try again in %s. "+
		"Each change counts as at least %s; long lists of tags and permissions count as more, and so do uploads that are refused, fail or exist already. The operator can raise the limit (annals user quota)",
		Changed.Show(b.limit), wait, Changed.Show(minCost))
}

// Used returns how many bytes a user has used of the bucket and not regained yet.
func (c *Changes) Used(user events.Principal) int64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.users[user]
	if b == nil {
		return 0
	}
	return max(0, int64(float64(b.limit)-b.bucket.TokensAt(c.clock())))
}
