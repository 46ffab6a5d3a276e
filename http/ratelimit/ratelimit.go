// Package ratelimit bounds how much time the reads of one user take: in a
// minute, by a bucket of time that is charged for what each read really took,
// and at once, by turns. So a long question costs its user more than a short
// one, and others do not wait behind it.
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

// Limiter gives users their turns. Set its fields before the first call. A nil
// one lets everything through. It is safe for use by several goroutines.
type Limiter struct {
	// Limits of a user; of these Search counts, and a user without one is not
	// bounded in any way.
	Limits func(context.Context, events.User) (quota.Limits, error)
	AtOnce int               // reads of one user that run at the same time; 0: 1
	Refuse func(kind string) // is called for each refusal. May be nil

	now func() time.Time // time.Now if nil

	mu    sync.Mutex
	users map[events.Principal]*account
}

// account is what one user has used.
type account struct {
	left    time.Duration // of a minute's time; below 0 where reads took longer than there was
	full    time.Duration // the limit
	as      time.Time     // when left was so much
	asked   time.Time     // when the limit was asked for
	running chan struct{}
	waiting int
	turns   int // that hold the account
}

const (
	// minute is the time for which a limit is given.
	minute = time.Minute
	// maxUsers is how many accounts are kept before those are forgotten that
	// have their full time again.
	maxUsers = 10_000
	// queue is how many reads of a user wait for their turn, and patience for
	// how long.
	queue    = 32
	patience = 10 * time.Second
	// expected is what a read is taken to cost until it is known, besides what
	// its length adds; short of that it is not begun.
	expected = 10 * time.Millisecond
)

// PerByte is what each byte of a question adds to its cost: what is looked up
// grows with it, whatever the engine finds.
const PerByte = 2 * time.Microsecond

// Turn is a read that was let through. A nil Turn costs nothing.
type Turn struct {
	limiter *Limiter
	account *account
	held    time.Duration // reserved from the account
	base    time.Duration
	begun   time.Time
	idle    time.Duration // of the time since, spent on the client
	slot    bool
	keep    bool
	once    sync.Once
}

// Begin waits for the user's turn to read, which End ends. length is that of
// the question. A user whose time is used up, or of whom too many reads wait, is
// refused by an error of kind fault.Exhausted.
func (l *Limiter) Begin(ctx context.Context, user events.User, length int) (*Turn, error) {
	if l == nil {
		return nil, nil
	}
	full, err := l.limit(ctx, user)
	if err != nil || full == 0 {
		return nil, err
	}
	t := &Turn{limiter: l, base: time.Duration(length) * PerByte}
	if err := t.reserve(user.Principal, full); err != nil {
		return nil, err
	}
	if err := t.wait(ctx); err != nil {
		t.End()
		return nil, err
	}
	t.begun = l.clock()
	return t, nil
}

// remembered is for how long a limit is not asked for again: whoever is refused
// may ask very often.
const remembered = 5 * time.Second

// limit returns a user's time in a minute, 0 where it has no limit.
func (l *Limiter) limit(ctx context.Context, user events.User) (time.Duration, error) {
	l.mu.Lock()
	a := l.users[user.Principal]
	if a != nil && !user.Admin && l.clock().Sub(a.asked) < remembered {
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

// reserve takes what the read is expected to cost from the user's time.
func (t *Turn) reserve(user events.Principal, full time.Duration) error {
	l := t.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(user, full)
	t.held = min(expected+t.base, full)
	if a.left < t.held {
		// What comes back in a second is the limit's sixtieth.
		wait := time.Duration(float64(t.held-a.left) / float64(full) * float64(minute))
		l.refuse("search")
		return fault.Later("search", wait, "you have used up the %s of time that your searches and listings may take a minute; "+
			"this one can begin in %s. Long questions and large listings take more; whoever operates the service can raise the limit (annals user quota)",
			quota.Search.Show(int64(full)), wait.Truncate(time.Second)+time.Second)
	}
	if a.waiting >= queue {
		l.refuse("searches")
		return fault.Later("searches", time.Second, "%d of your searches and listings are waiting already, and %d run at once; send the next when one is answered", a.waiting, cap(a.running))
	}
	a.left -= t.held
	a.waiting++
	a.turns++
	t.account = a
	return nil
}

// wait waits for one of the places in which a user's reads run.
func (t *Turn) wait(ctx context.Context) error {
	a, l := t.account, t.limiter
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var err error
	select {
	case a.running <- struct{}{}:
		t.slot = true
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		l.refuse("searches")
		err = fault.Later("searches", time.Second, "your other searches and listings take too long: of one user %d run at once, and this one waited %s for its turn", cap(a.running), patience)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.waiting--
	return err
}

// account returns a user's account, as it is now.
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
		a = &account{left: full, full: full, as: now, asked: now, running: make(chan struct{}, max(1, l.AtOnce))}
		l.users[user] = a
	}
	a.refill(now)
	if now.Sub(a.asked) >= remembered {
		a.asked = now
	}
	if a.full != full { // the limit was changed
		a.left += full - a.full
		a.full = full
	}
	return a
}

func (a *account) refill(now time.Time) {
	if since := now.Sub(a.as); since > 0 {
		a.left = min(a.full, a.left+time.Duration(float64(since)/float64(minute)*float64(a.full)))
		a.as = now
	}
}

// forget removes the accounts that say nothing: nothing runs, and the time is
// whole.
func (l *Limiter) forget(now time.Time) {
	for user, a := range l.users {
		if a.refill(now); a.turns == 0 && a.left == a.full {
			delete(l.users, user)
		}
	}
}

func (l *Limiter) refuse(kind string) {
	if l.Refuse != nil {
		l.Refuse(kind)
	}
}

// Keep has the user's next read wait for the end of this one, which still reads
// while its answer is written.
func (t *Turn) Keep() {
	if t != nil {
		t.keep = true
	}
}

func (t *Turn) release() {
	if t.slot {
		t.slot = false
		<-t.account.running
	}
}

// End charges the user for what the read took.
func (t *Turn) End() {
	if t == nil {
		return
	}
	t.once.Do(func() {
		t.release()
		cost := t.base
		if t.begun.IsZero() {
			cost = 0 // it never ran
		} else {
			cost += t.limiter.clock().Sub(t.begun) - t.idle
		}
		t.limiter.mu.Lock()
		defer t.limiter.mu.Unlock()
		t.account.left = min(t.account.full, t.account.left+t.held-cost)
		t.account.turns--
	})
}

// Writer returns a writer to the client whose time is not charged: how fast it
// takes its answer is not the service's work. With the first byte the user's next
// read may run, unless the turn is kept.
func (t *Turn) Writer(w http.ResponseWriter) http.ResponseWriter {
	if t == nil {
		return w
	}
	return &writer{w, t}
}

type writer struct {
	http.ResponseWriter
	turn *Turn
}

func (w *writer) Write(p []byte) (int, error) {
	if !w.turn.keep {
		w.turn.release()
	}
	began := w.turn.limiter.clock()
	n, err := w.ResponseWriter.Write(p)
	w.turn.idle += w.turn.limiter.clock().Sub(began)
	return n, err
}

// Unwrap lets an http.ResponseController find the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Used returns what a user has used of the last minute's time, as far as it is
// not given back yet.
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
