// Package ratelimit bounds the reads of each user: their time per minute, by a token
// bucket that is charged for the real duration of each read, and the number of concurrent
// reads, by turns. A long question costs its user more than a short one, and other users
// do not wait for it.
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
	// Limits returns the limits of a user. Only Search is used; a user without this limit
	// is not bounded at all.
	Limits func(context.Context, events.User) (quota.Limits, error)
	AtOnce int               // maximum concurrent reads of one user; 0 means 1
	Refuse func(kind string) // called for each refusal; may be nil

	now func() time.Time // time.Now if nil

	mu    sync.Mutex
	users map[events.Principal]*account
}

// account is the usage of one user.
type account struct {
	left    time.Duration // time left of the limit; negative if reads took longer
	full    time.Duration // the limit
	as      time.Time     // time of the last update of left
	asked   time.Time     // time when the limit was looked up
	running chan struct{}
	waiting int
	turns   int // number of turns that use the account
}

const (
	// minute is the period of a limit.
	minute = time.Minute
	// maxUsers is the number of accounts above which accounts with their full time are
	// removed.
	maxUsers = 10_000
	// queue is the maximum number of reads of a user that wait for their turn, and
	// patience the maximum time of waiting.
	queue    = 32
	patience = 10 * time.Second
	// expected is the assumed cost of a read until its real cost is known, in addition to
	// perByte. A read does not begin if less time is left.
	expected = 10 * time.Millisecond
)

// perByte is the cost of each byte of a question, because longer questions need more
// lookups even if they find nothing.
const perByte = 2 * time.Microsecond

// Turn is an admitted read. A nil Turn costs nothing.
type Turn struct {
	limiter *Limiter
	account *account
	held    time.Duration // reserved from the account
	base    time.Duration
	begun   time.Time
	idle    time.Duration // time spent waiting for the client since then
	slot    bool
	keep    bool
	once    sync.Once
}

// Begin waits for the user's turn to read. The caller must call End. length is the length
// of the question. The error is of kind fault.Exhausted if the user has no time left or
// too many reads wait.
func (l *Limiter) Begin(ctx context.Context, user events.User, length int) (*Turn, error) {
	if l == nil {
		return nil, nil
	}
	full, err := l.limit(ctx, user)
	if err != nil || full == 0 {
		return nil, err
	}
	t := &Turn{limiter: l, base: time.Duration(length) * perByte}
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

// remembered is the time for which a limit is cached, because refused users may send many
// requests.
const remembered = 5 * time.Second

// limit returns a user's time per minute, or 0 if there is no limit.
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

// reserve takes the expected cost of the read from the user's time.
func (t *Turn) reserve(user events.Principal, full time.Duration) error {
	l := t.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(user, full)
	t.held = min(expected+t.base, full)
	if a.left < t.held {
		// A sixtieth of the limit is restored each second.
		wait := time.Duration(float64(t.held-a.left) / float64(full) * float64(minute))
		l.refuse("search")
		return fault.Later("search", wait, "you have used up the %s of time that your searches and listings may take a minute; "+
			"this one can begin in %s. Long questions and large listings take more; the operator can raise the limit (annals user quota)",
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

// wait waits for one of the user's slots for concurrent reads.
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

// forget removes accounts that have no running reads and their full time.
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

// Keep makes the user's next read wait for the end of this one, which continues to read
// while its reply is written.
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

// End charges the user for the duration of the read.
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

// Writer returns a writer to the client whose time is not charged, because the client may
// read slowly. From the first byte on the user's next read may run, unless Keep was
// called.
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

// Used returns the time that a user has used and that is not restored yet.
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
