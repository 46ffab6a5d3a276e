package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func TestKeysAreServedRoundRobin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 2)
		first, err := g.Enter(t.Context(), Caller{0, "first"})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		for _, caller := range []Caller{{1, "flood"}, {1, "flood"}, {1, "flood"}, {1, "honest"}, {0, "known"}, {1, "late"}} {
			all.Go(func() {
				leave, err := g.Enter(t.Context(), caller)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, caller.Key)
				mu.Unlock()
				leave()
			})
			synctest.Wait()
		}
		first()
		all.Wait()
		if got, want := fmt.Sprint(order), "[flood known honest late flood flood]"; got != want {
			t.Errorf("the callers are admitted in the order %s, want %s", got, want)
		}
		if g.Waiting() != 0 || g.free != 1 || len(g.classes[1].byKey) != 0 || len(g.classes[1].keys) != 0 {
			t.Errorf("after all have left the queue is %+v, want it empty with one free slot", g)
		}
	})
}

func TestEnterCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1)
		leave, _ := g.Enter(t.Context(), Caller{0, "a"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := g.Enter(ctx, Caller{0, "b"})
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || g.Waiting() != 0 {
			t.Errorf("Enter = %v with %d waiting, want context.Canceled and none", err, g.Waiting())
		}
		leave()
		if again, err := g.Enter(t.Context(), Caller{0, "c"}); err != nil {
			t.Errorf("Enter after the only caller has left: %v", err)
		} else {
			again()
		}
	})
}

func TestWaitingPerKeyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1)
		leave, _ := g.Enter(t.Context(), Caller{0, "a"})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range maxPerKey {
			all.Go(func() { _, _ = g.Enter(ctx, Caller{0, "a"}) })
		}
		synctest.Wait()
		if _, err := g.Enter(t.Context(), Caller{0, "a"}); !errors.Is(err, ErrFull) {
			t.Errorf("Enter with %d waiting of the same key = %v, want ErrFull", maxPerKey, err)
		}
		cancel()
		all.Wait()
		leave()
	})
}

func TestFullClassRejectsLargestKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1)
		leave, _ := g.Enter(t.Context(), Caller{0, "a"})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		rejected := 0
		wait := func(key string) {
			all.Go(func() {
				if _, err := g.Enter(ctx, Caller{0, key}); errors.Is(err, ErrFull) {
					mu.Lock()
					rejected++
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		for i := range maxPerClass {
			wait(fmt.Sprint("flood ", i/maxPerKey))
		}
		wait("honest")
		if rejected != 1 || g.Waiting() != maxPerClass || len(g.classes[0].byKey["honest"]) != 1 {
			t.Errorf("%d callers are rejected and %d wait, %d of them of the key honest; want 1, %d and 1",
				rejected, g.Waiting(), len(g.classes[0].byKey["honest"]), maxPerClass)
		}
		cancel()
		all.Wait()
		leave()
		if g.Waiting() != 0 || g.free != 1 {
			t.Errorf("after all have left %d wait and %d slots are free, want 0 and 1", g.Waiting(), g.free)
		}
	})
}
