package quota

import (
	"context"
	"sync"
	"time"

	"annals/events"
	"annals/events/fault"

	"golang.org/x/time/rate"
)

// Changes bounds how much of the log the changes of one user fill in an hour:
// what is renamed, tagged, moved, shared or deleted stays there for good, however
// little is stored. Each user has a bucket of the bytes of an hour, which comes
// back steadily. Set its fields before the first call. A nil one lets everything
// through. It is safe for use by several goroutines.
type Changes struct {
	// Limits of a user; of these Changed counts.
	Limits func(context.Context, events.User) (Limits, error)
	Refuse func(kind string) // is called for each refusal. May be nil

	now func() time.Time // time.Now if nil

	mu    sync.Mutex
	users map[events.Principal]*Budget
}

const (
	// MinChange is what a change costs at least: an event takes room in the log
	// and in the read models, however short it is.
	MinChange = 512
	// changesTime is the time for which a limit is given.
	changesTime = time.Hour
	// maxBudgets is how many budgets are kept before those are dropped of which
	// nothing is spent.
	maxBudgets = 10_000
	// remembered is for how long a limit is not asked for again.
	remembered = 5 * time.Second
)

// Budget is what the changes of one user may still write. A nil Budget is not
// limited.
type Budget struct {
	changes *Changes
	limit   int64
	asked   time.Time // when the limit was asked for
	bucket  *rate.Limiter
	running int64 // of changes that are being appended
	opened  int   // that hold it
}

// Open returns the budget of a user, which Close gives back.
func (c *Changes) Open(ctx context.Context, user events.User) (*Budget, error) {
	if c == nil || user.Admin || user.Principal == "" {
		return nil, nil
	}
	c.mu.Lock()
	if b := c.users[user.Principal]; b != nil && c.clock().Sub(b.asked) < remembered {
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

// Close ends the use of a budget.
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
			c.forget(now)
		}
		b = &Budget{changes: c, limit: limit, bucket: rate.NewLimiter(perSecond(limit), int(limit))}
		c.users[user] = b
	}
	b.asked = now
	if b.limit != limit {
		spent := float64(b.limit) - b.bucket.TokensAt(now)
		b.limit, b.bucket = limit, rate.NewLimiter(perSecond(limit), int(limit))
		b.bucket.ReserveN(now, int(min(spent, float64(limit))))
	}
	return b
}

func perSecond(limit int64) rate.Limit { return rate.Limit(float64(limit) / changesTime.Seconds()) }

// forget drops the budgets that say nothing.
func (c *Changes) forget(now time.Time) {
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

// Spend runs do, which appends so many bytes of events, and charges the user for
// them unless it fails. Where the budget is short of that, do is not run, and
// the error is fault.Exhausted.
func (b *Budget) Spend(bytes int64, do func() error) (err error) {
	if b == nil {
		return do()
	}
	c := b.changes
	c.mu.Lock()
	if err := b.judge(bytes); err != nil {
		c.mu.Unlock()
		return err
	}
	b.running += bytes
	c.mu.Unlock()
	done := false
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		b.running -= bytes
		if done {
			b.charge(bytes)
		}
	}()
	err = do()
	done = err == nil
	return err
}

// Check returns the error of Spend without anything being spent. It is one, too,
// where more was charged than there was.
func (b *Budget) Check(bytes int64) error {
	if b == nil {
		return nil
	}
	b.changes.mu.Lock()
	defer b.changes.mu.Unlock()
	return b.judge(bytes)
}

// Charge charges for what is in the log, whether there is enough or not.
func (b *Budget) Charge(bytes int64) {
	if b != nil && bytes > 0 {
		b.changes.mu.Lock()
		defer b.changes.mu.Unlock()
		b.charge(bytes)
	}
}

// charge takes bytes from the bucket, below nothing if need be.
func (b *Budget) charge(bytes int64) {
	now := b.changes.clock()
	for ; bytes > 0; bytes -= b.limit { // a bucket gives what it holds at most, at once
		b.bucket.ReserveN(now, int(min(bytes, b.limit)))
	}
}

// judge returns an error where a change does not fit. One that is larger than
// the limit fits where nothing is spent.
func (b *Budget) judge(bytes int64) error {
	left := b.bucket.TokensAt(b.changes.clock()) - float64(b.running)
	short := float64(min(bytes, b.limit)) - left
	if short <= 0 {
		return nil
	}
	if b.changes.Refuse != nil {
		b.changes.Refuse(Changed.String())
	}
	wait := max(time.Second, time.Duration(short/float64(b.limit)*float64(changesTime)).Truncate(time.Second)+time.Second)
	return fault.Later(Changed.String(), wait, "your changes have used up the %s that they may add to the log in an hour, of which each takes %s at least; "+
		"this one can be made in %s. Long lists of tags and permissions take more, and uploads count whose files are refused, fail or are here already; whoever operates the service can raise the limit (annals user quota)",
		Changed.Show(b.limit), Changed.Show(MinChange), wait)
}

// Used returns what a user has spent of the last hour's bytes, as far as it is
// not given back yet.
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
