package quota

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"annals/events"
	"annals/events/fault"
)

// Concurrent changes succeed up to the limit, and more succeed as the bucket refills. Failed
// changes cost nothing.
func TestChangeQuotaRefillsHourly(t *testing.T) {
	limit, now := int64(36_000), time.Unix(0, 0)
	c := &Changes{now: func() time.Time { return now }, Limits: func(context.Context, events.User) (Limits, error) {
		return Limits{Changed: limit}, nil
	}}
	open := func() *Budget {
		b, err := c.Open(t.Context(), events.User{Principal: "user:a"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	failed := errors.New("another append came first")
	for range 100 {
		if err := b.Spend(1000, func() error { return failed }); err != failed {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	allowed := 0
	for range 100 {
		all.Go(func() {
			err := b.Spend(1000, func() error { return nil })
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				allowed++
			} else if !fault.Is(err, fault.Exhausted) || fault.RetryAfter(err) < 100*time.Second {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if allowed != 36 || c.Used("user:a") != limit {
		t.Errorf("%d of 100 changes were allowed and %d bytes used, want 36 and %d", allowed, c.Used("user:a"), limit)
	}
	now = now.Add(101 * time.Second)
	if err := b.Spend(1000, func() error { return nil }); err != nil {
		t.Error(err)
	}
	b.Charge(100_000) // more than the budget has
	if err := b.Check(0); !fault.Is(err, fault.Exhausted) {
		t.Errorf("Check(0) of an overdrawn budget: %v, want exhausted", err)
	}
	b.Close()
	now = now.Add(5 * time.Hour)
	limit = 500 // the next change is larger, but allowed because the bucket is full
	b = open()
	if err := b.Spend(1000, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := b.Spend(1, func() error { return nil }); err == nil {
		t.Error("Spend(1) of an empty budget succeeded")
	}
	b.Close()
	if b, err := c.Open(t.Context(), events.User{Principal: "user:a", Admin: true}); b != nil || err != nil {
		t.Errorf("Open for an administrator = %v, %v, want no budget", b, err)
	}
}
