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

// Limiter limits the reads of each user. Set its fields before the first call. A nil *Limiter
// allows every read. All methods may be called concurrently.
type Limiter struct {
	// Limits returns the limits of a user, of which only quota.Search is used. Without it the
	// user's reads are not limited.
	Limits func(context.Context, events.User) (quota.Limits, error)
	AtOnce int               // maximum number of concurrent reads of a user; 0 means 1
	Refuse func(kind string) // called for each refusal; may be nil

	now func() time.Time // time.Now if nil

	mu    sync.Mutex
	users map[events.Principal]*account
}

// account is the state of one user.
type account struct {
	left     time.Duration // read time that the user has left; negative if reads took longer than expected
	full     time.Duration // read time per minute
	updated  time.Time     // when left was computed
	lookedUp time.Time     // when full was looked up
	running  chan struct{}
	waiting  int
	reads    int // reads that have not ended
}

const (
	// minute is the period in which the full read time is refilled.
	minute = time.Minute
	// If there are more than maxUsers accounts, the accounts of users who have their full read
	// time left are removed.
	maxUsers = 10_000
	// maxWaiting is the maximum number of reads of a user that wait for a slot. maxWait is the
	// maximum time that a read waits.
	maxWaiting = 32
	maxWait    = 10 * time.Second
	// expectedCost is the time that is reserved for a read until its duration is known, in
	// addition to perByte for each byte of the question. If the user has less time left, the
	// read is refused.
	expectedCost = 10 * time.Millisecond
)

// perByte is the time that each byte of a question costs. Long questions need more lookups,
// even if nothing is found.
const perByte = 2 * time.Microsecond

// Read is a read that was allowed. Its methods do nothing for a nil *Read, which stands for a
// free read.
type Read struct {
	limiter  *Limiter
	account  *account
	reserved time.Duration // time that is reserved until End
	base     time.Duration // cost of the question's length, which is charged in any case
	begun    time.Time
	idle     time.Duration // time that writing to the client took
	slot     bool
	keep     bool
	once     sync.Once
}

// Begin waits for one of the user's slots for concurrent reads. The caller must call End after
// the read. length is the length of the question in bytes. If the user has no read time left
// or too many reads are waiting, the error is of kind fault.Exhausted.
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

// limitTTL is how long the limit of a user is cached, because users who have used up their
// limit may keep sending requests.
const limitTTL = 5 * time.Second

// limit returns the read time per minute of a user, or 0 if the user has no limit.
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

// reserve deducts the expected cost of the read from the user's read time.
func (r *Read) reserve(user events.Principal, full time.Duration) error {
	l := r.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(user, full)
	r.reserved = min(expectedCost+r.base, full)
	if a.left < r.reserved {
		// Each second a sixtieth of the limit is refilled.
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

// account returns the account of a user with the refilled read time.
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

// forget removes the accounts that have no running reads and their full read time left.
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

// Keep delays the user's next read until End, even while the reply is written. Use it if the
// read continues while its reply is written. Without Keep, the next read may begin with the
// first byte of the reply.
func (r *Read) Keep() {
	if r != nil {
		r.keep = true
	}
}

// Idle releases the slot of a read that waits for something other than this service, such as
// a language model. The time until resume is called is not charged.
func (r *Read) Idle() (resume func()) {
	if r == nil {
		return func() {}
	}
	r.release()
	began := r.limiter.clock()
	return func() { r.idled(r.limiter.clock().Sub(began)) }
}

func (r *Read) idled(d time.Duration) {
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	r.idle += d
}

func (r *Read) release() {
	r.limiter.mu.Lock()
	defer r.limiter.mu.Unlock()
	if r.slot {
		r.slot = false
		<-r.account.running
	}
}

// End charges the user for the duration of the read and releases its slot.
func (r *Read) End() {
	if r == nil {
		return
	}
	r.once.Do(func() {
		r.release()
		r.limiter.mu.Lock()
		defer r.limiter.mu.Unlock()
		cost := r.base
		if r.begun.IsZero() {
			cost = 0 // the read never ran
		} else {
			cost += max(0, r.limiter.clock().Sub(r.begun)-r.idle) // writes while the read waits for something else count twice
		}
		r.account.left = min(r.account.full, r.account.left+r.reserved-cost)
		r.account.reads--
	})
}

// Writer returns a writer for the reply. The duration of its writes is not charged, because
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
	w.read.idled(w.read.limiter.clock().Sub(began))
	return n, err
}

// Unwrap lets an http.ResponseController find the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Used returns how much of the read time a user has used up and that was not refilled since.
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
