package turns

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func TestKeysAndClassesTakeTurns(t *testing.T) {
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

func TestWhoGivesUpLeavesNoTrace(t *testing.T) {
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

func TestAKeyWaitsWithFewAtOnce(t *testing.T) {
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
