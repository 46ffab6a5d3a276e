package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"annals/events"
	"annals/events/fault"
)

var errLimit = fault.Later("search", time.Second, "the limit is used up")

func TestBrakeDelaysRepeatedRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Brake
		began := time.Now()
		for range freeRefusals {
			b.Refused(t.Context(), bob.Principal, errLimit)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the first %d refusals take %s, want no delay", freeRefusals, took)
		}
		var answered atomic.Int32
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for ctx.Err() == nil {
					b.Refused(ctx, bob.Principal, errLimit)
					answered.Add(1)
				}
			})
		}
		all.Wait()
		if n := answered.Load(); n > 8*11+11 {
			t.Errorf("eight clients are refused %d times in 10 s, want at most one a second each", n)
		}
		began = time.Now()
		b.Refused(t.Context(), "user:carol", errLimit)
		b.Refused(t.Context(), bob.Principal, fault.Errorf(fault.NotFound, "there is none"))
		b.Refused(t.Context(), bob.Principal, errors.New("internal error"))
		if took := time.Since(began); took > 0 {
			t.Errorf("other errors and other users are delayed by %s", took)
		}
		time.Sleep(freeRefusals * time.Second)
		began = time.Now()
		for range freeRefusals {
			b.Refused(t.Context(), bob.Principal, errLimit)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("refusals after a pause take %s, want no delay", took)
		}
	})
}

func TestBrakeBoundsDelayedReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Brake
		var closed atomic.Int32
		var all sync.WaitGroup
		for range freeRefusals + maxDelayed + 100 {
			all.Go(func() {
				if !b.Refused(t.Context(), bob.Principal, errLimit) {
					closed.Add(1)
				}
			})
		}
		began := time.Now()
		all.Wait()
		if closed.Load() != 100 || time.Since(began) > delay {
			t.Errorf("%d connections are to be closed after %s, want 100", closed.Load(), time.Since(began))
		}
		for i := range 3 * maxUsers {
			if i%maxUsers == 0 {
				time.Sleep(time.Minute)
			}
			b.Refused(t.Context(), events.Principal(fmt.Sprint("user:", i)), errLimit)
		}
		if len(b.users) > maxUsers {
			t.Errorf("%d users are kept, want at most %d", len(b.users), maxUsers)
		}
	})
}
