package ratelimit

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
)

var bob = events.User{Principal: "user:bob"}

func limited(search time.Duration, atOnce int) *Limiter {
	return &Limiter{AtOnce: atOnce, Limits: func(_ context.Context, u events.User) (quota.Limits, error) {
		if u.Admin {
			return quota.Limits{}, nil
		}
		return quota.Limits{quota.Search: int64(search)}, nil
	}}
}

// read runs a read that takes the given duration of fake time.
func read(t *testing.T, l *Limiter, u events.User, length int, duration time.Duration) error {
	t.Helper()
	r, err := l.Begin(t.Context(), u, length)
	if err == nil {
		time.Sleep(duration)
		r.End()
	}
	return err
}

func TestTimeIsChargedAndRefilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(6*time.Second, 1)
		if err := read(t, l, bob, 0, 5*time.Second); err != nil { // half a second is refilled in this time
			t.Fatal(err)
		}
		if err := read(t, l, bob, 0, 4*time.Second); err != nil { // longer than the time that is left, which becomes negative
			t.Fatal(err)
		}
		err := read(t, l, bob, 0, 0)
		if !fault.Is(err, fault.Exhausted) {
			t.Fatalf("beyond the limit: %v", err)
		}
		// The user has read for 9 s with a limit of 6 s per minute, and 0.9 s were refilled.
		// The missing 2.1 s take 21 s to refill.
		if after := fault.RetryAfter(err); after < 21*time.Second || after > 23*time.Second {
			t.Errorf("retry after %s, want about 21 s", after)
		}
		for _, part := range []string{"6s", "annals user quota", fmt.Sprint(fault.RetryAfter(err))} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		if err := read(t, l, events.User{Principal: "user:carol"}, 0, time.Second); err != nil {
			t.Errorf("the read of another user is refused: %v", err)
		}
		if err := read(t, l, events.User{Principal: "user:bob", Admin: true}, 0, time.Hour); err != nil {
			t.Errorf("the read of an administrator is refused: %v", err)
		}
		time.Sleep(fault.RetryAfter(err))
		if err := read(t, l, bob, 0, 0); err != nil {
			t.Errorf("the read after Retry-After is refused: %v", err)
		}
	})
}

func TestLongQuestionsCostMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for length, want := range map[int]int{10: 59, 400_000: 1} {
			l, n := limited(time.Second, 1), 0
			for read(t, l, bob, length, 10*time.Millisecond) == nil {
				n++
			}
			if n < want || n > 2*want+60 && length > 10 {
				t.Errorf("%d questions of %d bytes pass, want about %d", n, length, want)
			}
			if length > 1000 && n != want {
				t.Errorf("%d long questions pass, want %d", n, want)
			}
		}
	})
}

func TestConcurrentReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(time.Minute, 2)
		var running, most atomic.Int32
		var refused atomic.Int32
		l.Refuse = func(string) { refused.Add(1) }
		var all sync.WaitGroup
		for range 2 + maxWaiting + 10 {
			all.Go(func() {
				r, err := l.Begin(t.Context(), bob, 0)
				if err != nil {
					if !fault.Is(err, fault.Exhausted) {
						t.Error(err)
					}
					return
				}
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(100 * time.Millisecond)
				running.Add(-1)
				r.End()
			})
		}
		began := time.Now()
		r, err := l.Begin(t.Context(), events.User{Principal: "user:carol"}, 0)
		if err != nil || time.Since(began) > 0 {
			t.Errorf("the read of another user waits %s: %v, want none", time.Since(began), err)
		}
		r.End()
		all.Wait()
		if most.Load() != 2 || refused.Load() < 8 {
			t.Errorf("%d ran concurrently, want 2; %d were refused, want at least 8", most.Load(), refused.Load())
		}
	})
}

// Concurrent reads reserve their expected cost when they begin, so that together they cannot
// exceed the limit.
func TestConcurrentReadsReserveCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(time.Second, 100)
		var passed atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if read(t, l, bob, 100_000, time.Minute) == nil {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		if passed.Load() != 4 { // each read costs 210 ms
			t.Errorf("%d concurrent reads passed, want 4", passed.Load())
		}
	})
}

func TestSlowClientsAreNotCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(time.Second, 1)
		r, err := l.Begin(t.Context(), bob, 0)
		if err != nil {
			t.Fatal(err)
		}
		w := r.Writer(slow{httptest.NewRecorder()})
		w.Write([]byte("answer"))
		r.End()
		if used := l.Used(bob.Principal); used > 0 {
			t.Errorf("%s were charged for a slow client, want none", used)
		}
	})
}

// While a reply is written, the user's next read may begin, unless Keep was called.
func TestKeepDelaysNextRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, keep := range []bool{false, true} {
			l := limited(time.Minute, 1)
			r, err := l.Begin(t.Context(), bob, 0)
			if err != nil {
				t.Fatal(err)
			}
			if keep {
				r.Keep()
			}
			go func() {
				r.Writer(slow{httptest.NewRecorder()}).Write([]byte("answer"))
				r.End()
			}()
			synctest.Wait()
			next, err := l.Begin(t.Context(), bob, 0)
			if refused := fault.Is(err, fault.Exhausted); refused != keep {
				t.Errorf("the next read during a reply, with Keep %t: %v", keep, err)
			}
			next.End()
			time.Sleep(2 * time.Hour)
		}
	})
}

type slow struct{ *httptest.ResponseRecorder }

func (s slow) Write(p []byte) (int, error) {
	time.Sleep(time.Hour)
	return s.ResponseRecorder.Write(p)
}

func TestAccountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(time.Second, 1)
		for i := range 3 * maxUsers {
			if i%maxUsers == 0 {
				time.Sleep(2 * time.Minute)
			}
			r, err := l.Begin(t.Context(), events.User{Principal: events.Principal(fmt.Sprint("user:", i))}, 0)
			if err != nil {
				t.Fatal(err)
			}
			r.End()
		}
		if len(l.users) > maxUsers {
			t.Errorf("%d accounts are kept, want at most %d", len(l.users), maxUsers)
		}
	})
}

func TestLimitIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lookups, full := 0, time.Second
		l := &Limiter{Limits: func(context.Context, events.User) (quota.Limits, error) {
			lookups++
			return quota.Limits{quota.Search: int64(full)}, nil
		}}
		for range 100 {
			_ = read(t, l, bob, 0, 0)
		}
		if lookups != 1 {
			t.Errorf("the limit was looked up %d times, want 1", lookups)
		}
		full = 0 // 0 removes the limit
		time.Sleep(limitTTL)
		for range 100 {
			if err := read(t, l, bob, 1_000_000, time.Second); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestCanceledWaitCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limited(time.Second, 1)
		first, err := l.Begin(t.Context(), bob, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := l.Begin(ctx, bob, 1000); !fault.Is(err, fault.Canceled) {
			t.Errorf("a canceled Begin = %v, want fault.Canceled", err)
		}
		first.End()
		if used := l.Used(bob.Principal); used > 2*time.Millisecond {
			t.Errorf("%s were charged for a read that never began", used)
		}
	})
}
