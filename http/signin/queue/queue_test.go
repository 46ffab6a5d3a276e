package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 2)
		first, err := g.Enter(t.Context(), Turn{0, "first"})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		for _, turn := range []Turn{{1, "flood"}, {1, "flood"}, {1, "flood"}, {1, "honest"}, {0, "known"}, {1, "late"}} {
			all.Go(func() {
				leave, err := g.Enter(t.Context(), turn)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, turn.Key)
				mu.Unlock()
				leave()
			})
			synctest.Wait()
		}
		first()
		all.Wait()
		if got, want := fmt.Sprint(order), "[flood known honest late flood flood]"; got != want {
			t.Errorf("they enter as %s, want %s", got, want)
		}
		if g.Waiting() != 0 || g.free != 1 || len(g.classes[1].byKey) != 0 || len(g.classes[1].keys) != 0 {
			t.Errorf("something is left: %+v", g)
		}
	})
}

func TestEnterCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1)
		leave, _ := g.Enter(t.Context(), Turn{0, "a"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := g.Enter(ctx, Turn{0, "b"})
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || g.Waiting() != 0 {
			t.Errorf("Enter = %v, %d wait", err, g.Waiting())
		}
		leave()
		if again, err := g.Enter(t.Context(), Turn{0, "c"}); err != nil {
			t.Errorf("the place is lost: %v", err)
		} else {
			again()
		}
	})
}

func TestKeyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1)
		leave, _ := g.Enter(t.Context(), Turn{0, "a"})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range perKey {
			all.Go(func() { _, _ = g.Enter(ctx, Turn{0, "a"}) })
		}
		synctest.Wait()
		if _, err := g.Enter(t.Context(), Turn{0, "a"}); !errors.Is(err, ErrFull) {
			t.Errorf("one more of the same key = %v, want ErrFull", err)
		}
		cancel()
		all.Wait()
		leave()
	})
}

func TestFullClassMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(1, 1)
		leave, _ := g.Enter(t.Context(), Turn{0, "a"})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		wait := func(key string) {
			all.Go(func() {
				if _, err := g.Enter(ctx, Turn{0, key}); errors.Is(err, ErrFull) {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
			synctest.Wait()
		}
		for i := range perClass {
			wait(fmt.Sprint("flood ", i/perKey))
		}
		wait("honest")
		if refused != 1 || g.Waiting() != perClass || len(g.classes[0].byKey["honest"]) != 1 {
			t.Errorf("%d are refused and %d wait, %d of them honest", refused, g.Waiting(), len(g.classes[0].byKey["honest"]))
		}
		cancel()
		all.Wait()
		leave()
		if g.Waiting() != 0 || g.free != 1 {
			t.Errorf("something is left: %d wait, %d are free", g.Waiting(), g.free)
		}
	})
}
