// Package ratelimit bounds the reads of each user: their time per minute, by a token
// bucket that is charged for the duration of each read, and the number of concurrent
// reads. A long question costs its user more than a short one, and delays no other user.
//
// It imports commands/quota, events and events/fault.
package ratelimit

import (
	"context"
	"net/http"
	"sync"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
)

// Limiter admits the reads of users. Set its fields before the first call. A nil Limiter
// admits everything. It is safe for use by several goroutines.
type Limiter struct {
	// Limits returns the limits of a user. Only Search is used. A user without it has no
	// limits.
	Limits func(context.Context, events.User) (quota.Limits, error)
	AtOnce int               // maximum concurrent reads of a user; 0 means 1
	Refuse func(kind string) // called for each refusal; may be nil

	now func() time.Time // time.Now if nil

	mu    sync.Mutex
	users map[events.Principal]*account
}

// account is the usage of one user.
type account struct {
	left     time.Duration // time left of the limit; negative if reads took longer
	full     time.Duration // the limit
	updated  time.Time     // when left was computed
	lookedUp time.Time     // when full was looked up
	running  chan struct{}
	waiting  int
	reads    int // reads that have not ended
}

const (
	// minute is the period of a limit.
	minute = time.Minute
	// maxUsers is the number of accounts above which accounts with their full time are
	// removed.
	maxUsers = 10_000
	// maxWaiting is the maximum number of waiting reads of a user, and maxWait the maximum
	// time that a read waits.
	maxWaiting = 32
	maxWait    = 10 * time.Second
	// expectedCost is reserved for each read until its real cost is known, in addition to
	// perByte. A read does not begin if less time is left.
	expectedCost = 10 * time.Millisecond
)

// perByte is the cost of each byte of a question: long questions need more lookups even
// if they find nothing.
const perByte = 2 * time.Microsecond

// Read is an admitted read. A nil Read is not charged.
type Read struct {
	limiter  *Limiter
	account  *account
	reserved time.Duration // taken from the account until End
	base     time.Duration // cost of the question's length
	begun    time.Time
	idle     time.Duration // time spent on writing to the client
	slot     bool
	keep     bool
	once     sync.Once
}

// Begin waits until the user may read. The caller must call End. length is the length of
// the question in bytes. The error is of kind fault.Exhausted if the user has no time left
// or too many waiting reads.
func (l *Limiter) Begin(ctx context.Context, user events.User, length int) (*Read, error) {
	if l == nil {
		return nil, nil
	}
	full, err := l.limit(ctx, user)
	if err != nil || full == 0 {
		return nil, err
	}
	r := &Read{limiter: l, base: time.Duration(length) * perByte}
	if err := r.reserve(user.Principal, full); err != nil {
		return nil, err
	}
	if err := r.wait(ctx); err != nil {
		r.End()
		return nil, err
	}
	r.begun = l.clock()
	return r, nil
}

// limitTTL is the time for which a limit is cached, because users who are refused may send
// many requests.
const limitTTL = 5 * time.Second

// limit returns a user's time per minute, or 0 if there is no limit.
func (l *Limiter) limit(ctx context.Context, user events.User) (time.Duration, error) {
	l.mu.Lock()
	a := l.users[user.Principal]
	if a != nil && !user.Admin && l.clock().Sub(a.lookedUp) < limitTTL {
		defer l.mu.Unlock()
		return a.full, nil
	}
	l.mu.Unlock()
	limits, err := l.Limits(ctx, user)
	return time.Duration(limits[quota.Search]), err
}

func (l *Limiter) clock() time.Time {
	if l.now != nil {
		return l.now()
	}
	return time.Now()
}

// reserve takes the expected cost of the read from the user's time.
func (r *Read) reserve(user events.Principal, full time.Duration) error {
	l := r.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(user, full)
	r.reserved = min(expectedCost+r.base, full)
	if a.left < r.reserved {
		// A sixtieth of the limit is refilled each second.
		wait := time.Duration(float64(r.reserved-a.left) / float64(full) * float64(minute))
		l.refuse("search")
		return fault.Later("search", wait, "you have used up the %s of time that your searches and listings may take a minute; "+
			"this one can begin in %s. Long questions and large listings take more; the operator can raise the limit (annals user quota)",
			quota.Search.Show(int64(full)), wait.Truncate(time.Second)+time.Second)
	}
	if a.waiting >= maxWaiting {
		l.refuse("searches")
		return fault.Later("searches", time.Second, "%d of your searches and listings are waiting already, and %d may run concurrently; send the next after a reply", a.waiting, cap(a.running))
	}
	a.left -= r.reserved
	a.waiting++
	a.reads++
	r.account = a
	return nil
}

// wait waits for one of the user's slots for concurrent reads.
func (r *Read) wait(ctx context.Context) error {
	a, l := r.account, r.limiter
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	var err error
	select {
	case a.running <- struct{}{}:
		r.slot = true
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		l.refuse("searches")
		err = fault.Later("searches", time.Second, "your other searches and listings take too long: %d of a user may run concurrently, and this one has waited for %s", cap(a.running), maxWait)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.waiting--
	return err
}

// account returns a user's account with its time updated.
func (l *Limiter) account(user events.Principal, full time.Duration) *account {
	now := l.clock()
	if l.users == nil {
		l.users = make(map[events.Principal]*account)
	}
	a := l.users[user]
	if a == nil {
		if len(l.users) >= maxUsers {
			l.forget(now)
		}
		a = &account{left: full, full: full, updated: now, lookedUp: now, running: make(chan struct{}, max(1, l.AtOnce))}
		l.users[user] = a
	}
	a.refill(now)
	if now.Sub(a.lookedUp) >= limitTTL {
		a.lookedUp = now
	}
	if a.full != full { // the limit was changed
		a.left += full - a.full
		a.full = full
	}
	return a
}

func (a *account) refill(now time.Time) {
	if since := now.Sub(a.updated); since > 0 {
		a.left = min(a.full, a.left+time.Duration(float64(since)/float64(minute)*float64(a.full)))
		a.updated = now
	}
}

// forget removes accounts without running reads whose time is refilled.
func (l *Limiter) forget(now time.Time) {
	for user, a := range l.users {
		if a.refill(now); a.reads == 0 && a.left == a.full {
			delete(l.users, user)
		}
	}
}

func (l *Limiter) refuse(kind string) {
	if l.Refuse != nil {
		l.Refuse(kind)
	}
}

// Keep makes the user's next read wait for End, because this read continues while its
// reply is written. Otherwise the next read may begin with the first byte of the reply.
func (r *Read) Keep() {
	if r != nil {
		r.keep = true
	}
}

func (r *Read) release() {
	if r.slot {
		r.slot = false
		<-r.account.running
	}
}

// End charges the user for the duration of the read.
func (r *Read) End() {
	if r == nil {
		return
	}
	r.once.Do(func() {
		r.release()
		cost := r.base
		if r.begun.IsZero() {
			cost = 0 // it never ran
		} else {
			cost += r.limiter.clock().Sub(r.begun) - r.idle
		}
		r.limiter.mu.Lock()
		defer r.limiter.mu.Unlock()
		r.account.left = min(r.account.full, r.account.left+r.reserved-cost)
		r.account.reads--
	})
}

// Writer returns a writer to the client. The time of its writes is not charged, because
// the client may be slow.
func (r *Read) Writer(w http.ResponseWriter) http.ResponseWriter {
	if r == nil {
		return w
	}
	return &writer{w, r}
}

type writer struct {
	http.ResponseWriter
	read *Read
}

func (w *writer) Write(p []byte) (int, error) {
	if !w.read.keep {
		w.read.release()
	}
	began := w.read.limiter.clock()
	n, err := w.ResponseWriter.Write(p)
	w.read.idle += w.read.limiter.clock().Sub(began)
	return n, err
}

// Unwrap lets an http.ResponseController find the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Used returns the time that a user has used and that is not refilled yet.
func (l *Limiter) Used(user events.Principal) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.users[user]
	if a == nil {
		return 0
	}
	a.refill(l.clock())
	return a.full - a.left
}
